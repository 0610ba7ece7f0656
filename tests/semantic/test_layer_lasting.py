"""A directory keeps what is found word for word alone, too: exact functions, long texts, tool calls, steps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Policy, Source
from cachelayer.testing import Gate, ManualClock, WordEmbedder

LONG = "word " * 2000


class Life:
    """A layer on a directory, with functions of many kinds, from a start to a close."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.layer = layer = CacheLayer(index=directory, embedder=WordEmbedder(), **options)
        self.calls: list[Any] = []

        @layer.cached(name="classify", semantic=False, tags=["row:{row}"])
        async def classify(row: int, text: str) -> dict[str, int]:
            self.calls.append(row)
            return {text: row}

        @layer.cached(name="plain", semantic=False)
        def plain(row: int) -> int:
            self.calls.append(row)
            return row

        @layer.cached(name="stream", semantic=False)
        async def stream(row: int) -> AsyncIterator[str]:
            self.calls.append(row)
            for word in ("one", "two"):
                yield word

        @layer.cached(name="chat")
        async def chat(question: str) -> Any:
            self.calls.append(question)
            call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}

        self.classify, self.plain, self.stream, self.chat = classify, plain, stream, chat
        self.look = layer.tools(lambda item: self.calls.append(item) or len(item), keep="1h", name="look")

    async def all(self) -> list[Any]:
        words = [word async for word in self.stream(1)]
        told = [await self.classify(1, "a"), self.plain(2), words, await self.chat("look"), self.look("it")]
        await self.layer.flush()
        return told


async def test_every_kind_of_answer_survives_a_restart(tmp_path: Path) -> None:
    life = Life(tmp_path)
    async with life.layer:
        first = await life.all()
    assert len(life.calls) == 5
    for _ in range(2):
        life = Life(tmp_path)
        async with life.layer:
            assert await life.all() == first
            assert life.layer.stats()["elsewhere"]["restored"] == 5
        assert life.calls == []


@pytest.mark.parametrize("semantic", [True, False])
async def test_time_goes_on_between_two_lives_and_what_expired_meanwhile_leaves_the_disk(
    tmp_path: Path, semantic: bool
) -> None:
    clock, gate = ManualClock(), Gate(opened=True)
    sources, told = [], []
    for _ in range(3):
        layer = CacheLayer(index=tmp_path, embedder=WordEmbedder(), clock=clock)
        ask = layer.wrap(gate, name="ask", ttl=60, ttl_jitter=0, semantic=semantic)
        async with layer:
            sources.append((await ask.outcome("what is it")).source)
            await layer.flush()
            told.append([layer.stats()["elsewhere"][what] for what in ("restored", "discarded")])
        clock.advance(40)
    assert sources == [Source.BACKEND, Source.MEMORY, Source.BACKEND]
    assert told == [[0, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize("semantic", [True, False])
async def test_a_clock_that_was_set_back_between_two_lives_lengthens_no_lifetime(
    tmp_path: Path, semantic: bool
) -> None:
    """By ids alone, which tell when a life began, an answer made hours later was believed."""
    clock, sources = ManualClock(), []
    for later in (36_000, 3600):
        async with CacheLayer(index=tmp_path, embedder=WordEmbedder(), clock=clock) as layer:
            ask = layer.wrap(Gate(opened=True), name="ask", ttl=60, ttl_jitter=0, semantic=semantic)
            clock.advance(later)
            sources.append((await ask.outcome("what is it")).source)
            await layer.flush()
        clock.advance(-35_000)
    assert sources == [Source.BACKEND, Source.BACKEND]


class SetClock(ManualClock):
    """Its Unix time may be set."""

    ahead = 0.0

    def time(self) -> float:
        return self.now + self.ahead


@pytest.mark.parametrize("set_by", [-3600, 3600])
async def test_a_clock_that_is_set_while_entries_wait_for_their_function_changes_no_lifetime(
    tmp_path: Path, set_by: float
) -> None:
    """Set back, it gave them a new one."""
    clock, sources = SetClock(), []
    for waits in (0, 40, 40):
        clock.advance(1)
        async with CacheLayer(index=tmp_path, embedder=WordEmbedder(), clock=clock) as layer:
            clock.ahead += set_by if waits else 0
            clock.advance(waits)
            ask = layer.wrap(Gate(opened=True), name="ask", ttl=60, ttl_jitter=0, semantic=False)
            sources.append((await ask.outcome("what is it")).source)
            clock.ahead = 0
            clock.advance(10 if waits else 0)
            sources.append((await ask.outcome("what is it")).source)
            await layer.flush()
    backend, memory = Source.BACKEND, Source.MEMORY
    assert sources == [backend, memory, memory, memory, backend, memory]


async def test_what_was_invalidated_or_erased_does_not_come_back(tmp_path: Path) -> None:
    life = Life(tmp_path)
    async with life.layer:
        for row in range(4):
            await life.classify(row, "a")
        await life.layer.flush()
        assert await life.layer.invalidate(tags=["row:1"]) == 1
    other = CacheLayer(index=tmp_path, embedder=WordEmbedder())
    async with other:  # where its function is not known yet
        assert await other.invalidate(tags=["row:2"]) == 1
    life = Life(tmp_path)
    async with life.layer:
        for row in range(4):
            await life.classify(row, "a")
        assert life.calls == [1, 2]
        await life.layer.erase()
    assert b"classify" not in (tmp_path / "entries").read_bytes()


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_functions_that_are_wrapped_after_the_start_find_theirs_at_the_first_call(
    tmp_path: Path, kind: str
) -> None:
    life = Life(tmp_path)
    async with life.layer:
        await life.all()
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())

    async def rows(row: int, text: str) -> Any:
        raise AssertionError

    def plain(row: int) -> Any:
        raise AssertionError

    async with layer:
        if kind == "async":
            outcome = await layer.wrap(rows, name="classify", semantic=False).outcome(1, "a")
        else:
            wrapped = layer.wrap(plain, name="plain", semantic=False)
            outcome = await asyncio.to_thread(wrapped.outcome, 2)
        assert (outcome.source, layer.stats()["elsewhere"]["restored"]) == (Source.MEMORY, 1)


async def test_a_function_that_is_compared_by_meaning_no_more_keeps_its_answers(tmp_path: Path) -> None:
    async def asked(**options: Any) -> tuple[Any, Any]:
        layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())

        @layer.cached(name="ask", **options)
        async def ask(question: str) -> str:
            return question.upper()

        async with layer:
            told = await ask.outcome("where is my parcel"), await ask.outcome(LONG)
            await layer.flush()
        return told[0].source, told[1].source

    assert await asked() == ("backend", "backend")
    assert await asked() == await asked(semantic=False) == await asked() == ("memory", "memory")


async def test_another_seed_finds_nothing(tmp_path: Path) -> None:
    for seed, calls in ((1, [1]), (2, [1]), (2, [])):
        life = Life(tmp_path, seed=seed)
        async with life.layer:
            await life.classify(1, "a")
            await life.layer.flush()
        assert life.calls == calls


async def test_a_layer_that_nobody_started_keeps_what_is_answered_once_it_is_ready(tmp_path: Path) -> None:
    life = Life(tmp_path)
    await life.classify(1, "a")
    await life.layer.flush()
    assert life.layer.stats()["similar"]["state"] == "ready"
    await life.classify(2, "a")
    await life.layer.aclose()
    life = Life(tmp_path)
    async with life.layer:
        await life.classify(2, "a")
        assert life.calls == []


def test_an_exact_layer_is_told_how_a_directory_keeps_exact_answers(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="give it to single functions"):
        CacheLayer(index=tmp_path, semantic=False, policy=Policy())


async def test_what_is_gone_takes_no_room_on_the_disk_for_long(tmp_path: Path) -> None:
    policy = Policy(max_item_bytes=4 << 20, max_bytes=64 << 20)
    async with CacheLayer(index=tmp_path, embedder=WordEmbedder(), policy=policy) as layer:

        @layer.cached(semantic=False, tags=["large"])
        async def draw(row: int) -> bytes:
            return bytes(2 << 20)

        for row in range(9):
            await draw(row)
        await layer.flush()
        assert (tmp_path / "entries").stat().st_size > 16 << 20
        await layer.invalidate(tags=["large"])
        await draw(0)
        await layer.flush()
        assert (tmp_path / "entries").stat().st_size < 3 << 20


class HoldsOne(ThreadPoolExecutor):
    """Tells the loop of the first job that made a file grow only when it is let go."""

    def __init__(self, file: Path) -> None:
        super().__init__(4)
        self.file, self.done, self.go = file, threading.Event(), threading.Event()

    def submit(self, job: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        def held() -> Any:
            before = self.size()
            out = job(*args, **kwargs)
            if self.size() > before and not self.done.is_set():
                self.done.set()
                self.go.wait(30)
            return out

        return super().submit(held)

    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0


async def test_a_flush_writes_what_was_kept_while_the_disk_was_written(tmp_path: Path) -> None:
    """It stayed in memory until something else was kept: a kill before that lost it."""
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder(), policy=Policy(max_error_rate=0))
    ask = layer.wrap(Gate(lambda question: question.upper(), opened=True), name="ask")
    async with layer:
        disk = HoldsOne(tmp_path / "entries")
        asyncio.get_running_loop().set_default_executor(disk)
        await ask("reset the hub")
        while not disk.done.is_set():
            await asyncio.sleep(0)
        await ask("mount a camera")
        await layer._tiers.writeback.drain()
        before = disk.size()
        disk.go.set()
        await layer.flush()
        assert disk.size() > before
