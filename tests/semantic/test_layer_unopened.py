"""What is declared invalid while a directory is not open goes from it all the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from full_disk import full_disk

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.semantic.pair_log import PairLog
from cachelayer.semantic.reported_pairs import PAIR
from cachelayer.testing import WordEmbedder

QUESTIONS = ("reset the hub", "mount a camera", "cancel my order", "pair two lamps")


class Unreachable(WordEmbedder):
    async def start(self) -> None:
        raise OSError("the hub of models does not answer")


class Life:
    """A layer in a directory, with what it had to ask for."""

    def __init__(self, place: Path, embedder: Any) -> None:
        self.calls: list[str] = []
        self.layer = CacheLayer(index=place, embedder=embedder, policy=Policy(max_error_rate=0))
        self.ask = self.layer.wrap(self._answer, name="ask", tags=["about:{question}"])

    async def _answer(self, question: str) -> str:
        self.calls.append(question)
        return question.upper()

    async def all(self, questions: Sequence[str] = QUESTIONS) -> list[str]:
        async with self.layer:
            for question in questions:
                assert await self.ask(question) == question.upper()
            await self.layer.flush()
        return self.calls


async def test_without_a_model_what_is_declared_invalid_does_not_come_back_with_it(tmp_path: Path) -> None:
    """It left a memory that had none of it, and was served after the next start that found a model."""
    assert len(await Life(tmp_path, WordEmbedder()).all()) == 4
    life = Life(tmp_path, Unreachable())
    with pytest.raises(OSError, match="does not answer"):
        await life.layer.start()
    assert await life.ask(QUESTIONS[0]) == QUESTIONS[0].upper()
    assert await life.layer.invalidate(tags=[f"about:{QUESTIONS[1]}"]) == 1
    assert await life.ask.invalidate(QUESTIONS[2]) == 1
    await life.layer.aclose()
    assert await Life(tmp_path, WordEmbedder()).all() == list(QUESTIONS[1:3])


async def test_nobody_who_declares_something_invalid_is_told_that_there_is_no_model(tmp_path: Path) -> None:
    """It raised what the model had raised, and nothing was invalid."""
    await Life(tmp_path, WordEmbedder()).all()
    life = Life(tmp_path, Unreachable())
    assert await life.layer.invalidate(tags=[f"about:{QUESTIONS[1]}"]) == 1
    await life.layer.aclose()
    assert await Life(tmp_path, WordEmbedder()).all() == [QUESTIONS[1]]


async def test_what_cannot_be_taken_from_a_directory_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await Life(tmp_path, WordEmbedder()).all()
    life = Life(tmp_path, Unreachable())
    with pytest.raises(OSError, match="does not answer"):
        await life.layer.start()
    (tmp_path / "entries").rename(tmp_path / "away")
    (tmp_path / "entries").mkdir()
    await life.layer.invalidate(tags=[f"about:{QUESTIONS[1]}"])
    assert life.layer.stats()["faults"]["persist:IsADirectoryError"] == 1
    assert "stage persist failed with IsADirectoryError (Is a directory)" in caplog.text
    await life.layer.aclose()


@pytest.mark.parametrize("by", ["the next declaration", "the close", "the start"])
async def test_what_a_disk_refused_while_it_was_not_open_is_carried_out_once_it_is_well(
    tmp_path: Path, by: str
) -> None:
    """It was told to the log alone, and served after the next start."""
    await Life(tmp_path, WordEmbedder()).all()
    life, entries, aside = Life(tmp_path, WordEmbedder()), tmp_path / "entries", tmp_path / "aside"
    entries.rename(aside)
    entries.mkdir()
    with pytest.raises(ConfigurationError, match="Is a directory"):
        await life.layer.start()
    await life.layer.invalidate(tags=[f"about:{QUESTIONS[1]}"])
    assert life.layer.stats()["elsewhere"]["failure"] == "the disk refused what was declared invalid"
    entries.rmdir()
    aside.rename(entries)
    if by == "the next declaration":
        await life.layer.invalidate(tags=[f"about:{QUESTIONS[2]}"])
    elif by == "the start":
        await life.layer.start()
    if by != "the close":
        assert life.layer.stats()["elsewhere"]["failure"] == ""
    await life.layer.aclose()
    assert QUESTIONS[1] in await Life(tmp_path, WordEmbedder()).all()


async def test_what_another_process_has_open_is_its_own(tmp_path: Path) -> None:
    owner = Life(tmp_path, WordEmbedder())
    async with owner.layer:
        await owner.ask(QUESTIONS[0])
        await owner.layer.flush()
        other = Life(tmp_path, WordEmbedder())
        with pytest.raises(ConfigurationError, match="another process"):
            await other.layer.start()
        await other.layer.invalidate(tags=[f"about:{QUESTIONS[0]}"])
        assert other.layer.stats()["faults"] == {}
        await other.layer.aclose()
    assert await Life(tmp_path, WordEmbedder()).all(QUESTIONS[:1]) == []


async def test_what_a_disk_refused_until_the_close_is_carried_out_at_the_next_start(tmp_path: Path) -> None:
    """A layer that was started again read it back from the disk, which was well by then, and served it."""
    await Life(tmp_path, WordEmbedder()).all()
    life, entries, aside = Life(tmp_path, WordEmbedder()), tmp_path / "entries", tmp_path / "aside"
    await life.layer.start()
    log = life.layer._engine.tiers.elsewhere.log  # type: ignore[attr-defined,union-attr]
    sound, unwritable = os.dup(log._file), os.open(entries, os.O_RDONLY)
    entries.rename(aside)
    entries.mkdir()  # by its name it can be neither removed nor made
    os.dup2(unwritable, log._file)
    await life.layer.invalidate(tags=[f"about:{QUESTIONS[1]}"])
    await life.layer.aclose()
    entries.rmdir()
    aside.rename(entries)
    for file in (sound, unwritable):
        os.close(file)
    async with life.layer:
        assert life.layer.stats()["elsewhere"]["restored"] == 4  # all of them at the first start
    assert QUESTIONS[1] in await Life(tmp_path, WordEmbedder()).all()  # nor did it stay on the disk


def test_a_report_that_the_disk_refused_is_written_when_it_can_be(tmp_path: Path) -> None:
    """It held until the next restart, however long the disk was well by then."""
    log, pairs = PairLog(tmp_path / "pairs", PAIR, 9), [bytes([number]) * PAIR for number in range(3)]
    log.append(pairs[0])
    with full_disk((tmp_path / "pairs").stat().st_size):
        for pair in pairs[1:]:
            with pytest.raises(OSError, match="File too large"):
                log.append(pair)
    assert log.due
    log.settle()
    assert not log.due and PairLog(tmp_path / "pairs", PAIR, 9).load() == pairs
