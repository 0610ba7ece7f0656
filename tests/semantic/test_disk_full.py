"""Where the disk takes no more, nothing piles up, what was erased is not left there, and stats and log tell of it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from full_disk import full_disk
from index_rows import ids
from index_scripts import ROWS, contents, opened
from verifiers import SameWords

from cachelayer import CacheLayer, Policy
from cachelayer.errors import StoreFault
from cachelayer.semantic.index import persistent
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.testing import WordEmbedder


def layer_in(directory: Any, dimension: int = 256) -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=0)
    return CacheLayer(index=directory, embedder=WordEmbedder(dimension), verifier=SameWords(), policy=policy)


async def answer(question: str) -> str:
    return f"about {question}"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("room", [0, 10, 2000])
def test_the_attempts_of_a_day_leave_no_descriptors_and_no_files(tmp_path, monkeypatch, room) -> None:
    """No journal begins in 0 or 10 bytes; in 2000 one does, but a snapshot ends too soon."""
    monkeypatch.setattr(persistent, "_RETRY", 0.0)
    index, _ = opened(tmp_path)
    index.add(b"p", ids(*range(64)), ROWS[:64])
    index.flush()
    with full_disk(room):
        index.add(b"p", ids(64), ROWS[64][None])
        index.maintain()
        assert index.failure
        open_then, names = descriptors(), set(os.listdir(tmp_path))
        for number in range(65, 70):
            index.add(b"p", ids(number), ROWS[number][None])
            index.maintain()
            assert index.failure
        assert descriptors() <= open_then
        assert len(os.listdir(tmp_path)) <= len(names) + 1
    index.maintain()
    assert index.failure == ""
    index.close()
    index, loaded = opened(tmp_path)
    assert loaded.lost == 0 and set(contents(index)) == set(range(70))
    index.close()


def test_what_follows_a_gap_takes_no_journal_away_that_was_written_without_one(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(persistent, "_RETRY", 0.0)
    index, _ = opened(tmp_path)
    index.add(b"p", ids(*range(64)), ROWS[:64])
    index.flush()
    with full_disk(2000):
        index.snapshot()  # journal 1 is whole, and journal 2 goes on from it
        for number in (64, 65, 66):
            index.add(b"p", ids(number), ROWS[number][None])
            index.maintain()
    index.reset()  # a kill, as far as the files are concerned
    index, _ = opened(tmp_path)
    assert set(contents(index)) >= set(range(64))
    index.close()


async def test_vectors_of_an_erased_tenant_are_not_left_where_no_snapshot_can_be_written(tmp_path) -> None:
    layer = layer_in(tmp_path)
    ask = layer.wrap(answer, name="ask")
    async with layer:
        for number in range(8):
            with layer.scope(tenant=("acme", "beta")[number % 2]):
                await ask(f"plan {number}")
        await layer.flush()
        vector = (await WordEmbedder(256).embed(["plan 2"])).vectors[0].tobytes()

        def holding() -> list[Path]:
            return [path for path in (tmp_path / "vectors").iterdir() if vector in path.read_bytes()]

        assert holding()
        with full_disk(2000):
            assert await layer.erase(tenant="acme") == 4
            assert not holding()
            stats = layer.stats()
            assert "vectors" in stats["elsewhere"]["failure"]
        await layer.erase(tenant="acme")
        assert layer.stats()["elsewhere"]["failure"] == ""
    assert not holding()


async def test_an_owner_is_told_what_could_not_be_erased_after_all_else_was(tmp_path) -> None:
    (tmp_path / "apart").touch()
    (tmp_path / "apart.new").mkdir()  # where the file is written anew
    layer = layer_in(tmp_path)
    ask = layer.wrap(answer, name="ask")
    async with layer:
        await ask("plan")
        await layer.flush()
        with pytest.raises(StoreFault, match="Is a directory: all of it left memory"):
            await layer.erase()
        assert layer.stats()["entries"] == 0
        assert b"plan" not in (tmp_path / "entries").read_bytes()


async def test_what_was_erased_goes_where_the_disk_has_no_room_to_write_the_others_anew(tmp_path) -> None:
    """Struck out it would still be there to be read; better nothing is left."""
    layer, log = layer_in(tmp_path), tmp_path / "entries"
    ask = layer.wrap(answer, name="ask", semantic=False)
    async with layer:
        for tenant in ("acme", "beta", "gamma"):
            with layer.scope(tenant=tenant):
                await ask(f"what {tenant} wants")
            await layer.flush()
        with full_disk(log.stat().st_size * 2 // 3 - 20):
            await layer.erase(tenant="acme")
        assert b"acme" not in log.read_bytes()
        assert layer.stats()["faults"] == {"persist:OSError": 1}


async def test_an_index_that_cannot_be_maintained_is_counted_and_no_error_of_the_loop() -> None:
    class Sick(PackedIndex):
        due = True

        def maintain(self) -> int:
            raise RuntimeError("no memory")

    errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    layer = layer_in(Sick(64), 64)
    ask = layer.wrap(answer, name="ask")
    async with layer:
        await ask("plan")
        await layer.flush()
        assert layer.stats()["faults"]["index:RuntimeError"] >= 1
    assert errors == []
