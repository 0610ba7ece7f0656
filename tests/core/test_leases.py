"""Other processes wait for a call only as long as it is made: however it ends, its lease is given back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from shelf import Lease, Shelf

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.testing import ManualClock, WordEmbedder
from cachelayer.types import Embedded


class Calls:
    """A function's ends, by name of the question."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, words: list[str]) -> Any:
        self.begun.set()
        how = words[0]
        if how == "waits":
            await self.go.wait()
        if how == "fails":
            raise ConnectionError("down")
        if how == "cannot be copied":
            return asyncio.Lock()
        return self._stream(how) if "stream" in how else how

    async def _stream(self, how: str) -> AsyncIterator[str]:
        yield "one"
        if how == "stream that breaks":
            raise ConnectionError("down")
        yield "two"


class Slow(Shelf):
    """Gives a lease when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted, self.go = asyncio.Event(), asyncio.Event()

    async def acquire(self, key: bytes, ttl: float) -> Lease:
        self.wanted.set()
        await self.go.wait()
        return await super().acquire(key, ttl)


async def _read(answer: Any, most: int = 9) -> None:
    async for _ in answer:
        most -= 1
        if not most:
            await answer.aclose()
            return


async def _given_back(layer: CacheLayer, shelf: Shelf) -> list[bool]:
    for _ in range(9):  # a call ends some turns after its caller
        await asyncio.sleep(0)
    await layer.flush()
    return [lease.released for lease in shelf.given]


async def _asked(ask: Any, how: str) -> None:
    if "stream" not in how:
        await ask([how])
    else:
        await _read(await ask([how]), 1 if how == "stream left early" else 9)


class Taken(Shelf):
    """Another process holds each lease."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.go = asyncio.Event()

    async def acquire(self, key: bytes, ttl: float) -> Any:
        return None

    async def wait(self, key: bytes, timeout: float) -> None:
        self.waits.append(timeout)
        await self.go.wait()


async def test_who_waited_for_a_call_in_this_process_does_not_wait_as_long_again_for_another_ones() -> None:
    shelf, calls = Taken(), Calls()
    async with CacheLayer(store=shelf, semantic=False, policy=Policy(rider_wait="200ms")) as layer:
        ask = layer.wrap(calls, name="ask")
        leader, rider = (asyncio.create_task(ask(["q"])) for _ in range(2))
        assert await rider == "q" and len(shelf.waits) == 1
        shelf.go.set()
        assert await leader == "q"


@pytest.mark.parametrize(
    "how",
    [
        "is answered", "fails", "is refused", "cannot be copied", "stream", "stream left early", "stream that breaks",
    ],
)  # fmt: skip
async def test_whatever_a_call_ends_in_its_lease_is_given_back(how: str) -> None:
    shelf = Shelf()
    policy = Policy(cache_if=lambda answer: answer != "is refused")
    async with CacheLayer(policy=policy, store=shelf, semantic=False) as layer:
        with suppress(ConnectionError):
            await _asked(layer.wrap(Calls(), name="ask"), how)
        assert await _given_back(layer, shelf) == [True]


async def test_the_lease_of_a_cancelled_call_is_given_back() -> None:
    shelf, calls = Shelf(), Calls()
    async with CacheLayer(store=shelf, semantic=False) as layer:
        call = asyncio.create_task(layer.wrap(calls, name="ask")(["waits"]))
        await calls.begun.wait()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        assert await _given_back(layer, shelf) == [True]


async def test_so_is_that_of_a_call_whose_arguments_were_changed_while_the_lease_was_on_its_way() -> None:
    shelf = Slow()
    async with CacheLayer(store=shelf, semantic=False) as layer:
        words = ["asked"]
        call = asyncio.create_task(layer.wrap(Calls(), name="ask").outcome(words))
        await shelf.wanted.wait()
        words[0] = "changed"
        shelf.go.set()
        outcome = await call
        assert outcome.answer == "changed" and outcome.stored is Reason.CHANGED
        assert await _given_back(layer, shelf) == [True]


@pytest.mark.parametrize("fault", [None, ConnectionError, asyncio.CancelledError])
async def test_so_is_that_of_a_refresh_in_the_background(fault: type[BaseException] | None) -> None:
    shelf, clock = Shelf(), ManualClock()
    policy = Policy(ttl=10, ttl_jitter=0, stale_while_revalidate=60)
    calls = 0

    async def ask(words: list[str]) -> str:
        nonlocal calls
        calls += 1
        clock.advance(1)  # a call this slow is worth waiting for
        if calls > 1 and fault is not None:
            raise fault
        return f"answer {calls}"

    async with CacheLayer(policy=policy, store=shelf, semantic=False, clock=clock) as layer:
        cached = layer.wrap(ask, name="ask")
        await cached(["q"])
        await layer.flush()
        clock.advance(30)
        assert (await cached.outcome(["q"])).source is Source.STALE
        while calls < 2:
            await asyncio.sleep(0)
        assert await _given_back(layer, shelf) == [True, True]


async def test_so_is_that_of_a_call_that_a_similar_answer_overtook() -> None:
    shelf, clock, begun = Shelf(), ManualClock(), asyncio.Event()

    class Gated(WordEmbedder):
        go: asyncio.Event | None = None

        async def embed(self, texts: Sequence[str]) -> Embedded:
            if self.go is not None:
                await self.go.wait()
            return await super().embed(texts)

    async def ask(question: str) -> str:
        clock.advance(1)
        if embedder.go is not None:
            begun.set()
            await asyncio.Event().wait()
        return "answer"

    embedder, policy = Gated(), Policy(max_error_rate=1.0, shadow=0)
    async with CacheLayer(policy=policy, store=shelf, embedder=embedder, clock=clock) as layer:
        cached = layer.wrap(ask, name="ask")
        await cached("How do I return a product?")
        await layer.flush()
        embedder.go = asyncio.Event()
        late = asyncio.create_task(cached.outcome("How do I return the product?"))
        await begun.wait()
        embedder.go.set()
        outcome = await late
        assert outcome.source is Source.INDEX and "similar" not in outcome.misses
        assert await _given_back(layer, shelf) == [True, True]
