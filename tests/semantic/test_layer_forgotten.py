"""What is declared invalid one by one is gone from the directory when the call returns, like tags and tenants."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy
from cachelayer.testing import WordEmbedder

QUESTIONS = ("reset the hub", "mount a camera", "cancel my order", "pair two lamps")


class Kept:
    """A layer in a directory, with what it had to ask for."""

    def __init__(self, place: Path) -> None:
        self.place, self.calls = place, list[str]()
        self.layer = CacheLayer(index=place, embedder=WordEmbedder(), policy=Policy(max_error_rate=0))
        self.ask = self.layer.wrap(self._answer, name="ask", tags=["about:{question}"])
        self.plain = self.layer.wrap(self._plain, name="plain")

    async def _answer(self, question: str) -> str:
        self.calls.append(question)
        return question.upper()

    def _plain(self, question: str) -> str:
        self.calls.append(question)
        return question.upper()

    async def all(self) -> None:
        for question in QUESTIONS:
            await self.ask(question)
            await self.plain.aio(question)
        await self.layer.flush()

    async def after_a_kill(self) -> list[str]:
        """What another process has to ask for that finds the files as they are now."""
        copy = self.place.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.place, copy)
        again = Kept(copy)
        async with again.layer:
            await again.all()
        return again.calls


async def by_call(kept: Kept) -> None:
    assert await kept.ask.invalidate(QUESTIONS[0]) == 1


async def by_report(kept: Kept) -> None:
    assert await kept.layer.report_wrong(await kept.ask.outcome(QUESTIONS[0]))


async def in_a_thread(kept: Kept) -> None:
    assert await asyncio.to_thread(kept.plain.invalidate, QUESTIONS[0]) == 1


@pytest.mark.parametrize("declare", [by_call, by_report, in_a_thread])
async def test_what_one_call_takes_away_does_not_come_back_after_a_kill(
    tmp_path: Path, declare: Callable[[Kept], Awaitable[None]]
) -> None:
    """It was gone from memory alone until something else was written: a kill meanwhile brought it back."""
    kept = Kept(tmp_path / "kept")
    async with kept.layer:
        await kept.all()
        await declare(kept)
        assert await kept.after_a_kill() == [QUESTIONS[0]]


async def test_what_no_call_asked_for_since_the_start_is_taken_away_as_well(tmp_path: Path) -> None:
    """It was counted as nothing, and came back with the next restart."""
    first = Kept(tmp_path / "kept")
    async with first.layer:
        await first.all()
    kept = Kept(tmp_path / "kept")
    assert await kept.ask.invalidate(QUESTIONS[0]) == 1  # before the start
    late = CacheLayer(index=tmp_path / "other", embedder=WordEmbedder(), policy=Policy(max_error_rate=0))
    shutil.copytree(tmp_path / "kept", tmp_path / "other")
    async with late:
        ask = late.wrap(kept._answer, name="ask", tags=["about:{question}"])
        assert await ask.invalidate(QUESTIONS[1]) == 1  # it is on the disk alone
    await kept.layer.aclose()
    kept.place = tmp_path / "other"
    assert sorted(await kept.after_a_kill()) == sorted(QUESTIONS[:2])


async def test_results_that_a_new_document_changed_do_not_come_back_after_a_kill(tmp_path: Path) -> None:
    kept, texts = Kept(tmp_path / "kept"), ["a lamp by the hub"]

    async def search(query: str) -> list[str]:
        return list(texts)

    def searching(layer: CacheLayer) -> Any:
        return layer.retrieval(search, name="search", id=str, semantic=False)

    async with kept.layer:
        found = searching(kept.layer)
        await found("the hub")
        await kept.layer.flush()
        texts.append("the hub")
        assert await found.added(["the hub"]) == 1
        shutil.copytree(kept.place, tmp_path / "copy")
        again = Kept(tmp_path / "copy")
        async with again.layer:
            assert await searching(again.layer)("the hub") == texts


@contextmanager
def broken(file: Path) -> Iterator[None]:
    """The descriptors by which this process has a file open can neither write nor cut it."""
    held = [n for n in map(int, os.listdir("/proc/self/fd")) if _same(n, file)]
    saved, closed = [os.dup(n) for n in held], os.open(os.devnull, os.O_RDONLY)
    try:
        for n in held:
            os.dup2(closed, n)
        yield
    finally:
        for n, was in zip(held, saved, strict=True):
            if _same(n, Path(os.devnull)):  # else it was closed
                os.dup2(was, n)
        for n in (*saved, closed):
            os.close(n)


def _same(number: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), file.stat())
    except OSError:
        return False


async def test_a_file_that_can_be_neither_written_nor_cut_is_left_and_another_begun(tmp_path: Path) -> None:
    """The invalidation was forgotten, and the answer came back with a restart, long after the disk was well again."""
    kept = Kept(tmp_path / "kept")
    async with kept.layer:
        await kept.all()
        with broken(kept.place / "entries"):
            await kept.layer.invalidate(tags=[f"about:{QUESTIONS[0]}"])
            assert QUESTIONS[0] in await kept.after_a_kill()
        await kept.ask("and now")
        await kept.layer.flush()
        again = Kept(kept.place.with_name("copy"))
        shutil.rmtree(again.place)
        shutil.copytree(kept.place, again.place)
        async with again.layer:
            await again.ask("and now")
        assert again.calls == [] and kept.layer.stats()["elsewhere"]["failure"] == ""


async def test_what_cannot_be_taken_from_the_disk_in_any_way_is_taken_once_that_is_well(
    tmp_path: Path,
) -> None:
    """Until then the log and the stats say that it is not."""
    kept = Kept(tmp_path / "kept")
    async with kept.layer:
        await kept.all()
        entries, aside = kept.place / "entries", kept.place / "aside"
        with broken(entries):
            entries.rename(aside)
            entries.mkdir()  # by its name it can be neither removed nor made
            await kept.layer.invalidate(tags=[f"about:{QUESTIONS[0]}"])
            assert kept.layer.stats()["elsewhere"]["failure"] == "the disk refused entries"
            entries.rmdir()
            aside.rename(entries)
        assert QUESTIONS[0] not in await kept.after_a_kill()
        await kept.ask("and now")
        await kept.layer.flush()
        assert kept.layer.stats()["elsewhere"]["failure"] == ""
        left = await kept.after_a_kill()
        assert set(left) == {QUESTIONS[0]}
    async with kept.layer:  # nothing is owed any more
        assert await kept.after_a_kill() == left
