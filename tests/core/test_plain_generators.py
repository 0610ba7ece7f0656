"""Plain generators that a loop asks for: kept and refreshed as those that a thread asks for."""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import Any

import pytest
from shelf import Shelf

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.flow.singleflight import SingleFlight
from cachelayer.keep.call import Call, Landing
from cachelayer.layer import engine_of
from cachelayer.testing import ManualClock

CHUNKS = 40


async def test_a_plain_generator_is_kept_and_refreshed_where_a_loop_asks_for_it() -> None:
    clock, calls = ManualClock(), 0
    policy = Policy(ttl=10, stale_while_revalidate=99, ttl_jitter=0)
    async with CacheLayer(semantic=False, clock=clock, policy=policy) as layer:

        @layer.cached
        def count(question: str) -> Iterator[str]:
            nonlocal calls
            calls += 1
            yield from (f"{calls}.{number}" for number in range(CHUNKS))

        assert [len(list(await count.aio("a"))) for _ in range(2)] == [CHUNKS, CHUNKS] and calls == 1
        clock.advance(30)
        assert next(await count.aio("a")) == "1.0"  # stale
        while layer.stats()["flights"]:
            await asyncio.sleep(0)
        fresh = await count.aio.outcome("a")
        assert (fresh.source, list(fresh.answer)[-1], calls) == (Source.MEMORY, f"2.{CHUNKS - 1}", 2)


async def test_readers_on_a_loop_share_one_plain_generator() -> None:
    calls = 0
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        def count(question: str) -> Iterator[int]:
            nonlocal calls
            calls += 1
            yield from range(CHUNKS)

        readers = await asyncio.gather(*(count.aio("a") for _ in range(4)))
        together = [list(chunks) for chunks in zip(*readers, strict=True)]
        assert together == [[number] * 4 for number in range(CHUNKS)] and calls == 1
        assert layer.stats()["flights"] == 0


@pytest.mark.parametrize("made", [list, ", ".join, iter])
def test_a_plain_wrapper_of_a_generator_returns_what_it_returns(made: Callable[[Any], Any]) -> None:
    calls, layer = 0, CacheLayer(semantic=False)

    def count(question: str) -> Iterator[str]:
        nonlocal calls
        calls += 1
        yield from "abc"

    @layer.cached
    @wraps(count)
    def wrapper(question: str) -> Any:
        return made(count(question))

    for _ in range(3):
        answer = wrapper("q")
        if made is iter:
            assert isinstance(answer, Iterator) and list(answer) == ["a", "b", "c"]
        else:
            assert answer == made("abc")
    assert calls == 1


def test_plain_generators_that_nobody_reads_leave_no_flight_behind() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def count(question: str) -> Iterator[int]:
        yield from range(CHUNKS)

    for number in range(9):
        count.outcome(f"question {number}")
    assert layer.stats()["flights"] == 0


@pytest.mark.parametrize("timed", [False, True])
def test_what_a_plain_generator_returns_reaches_who_delegates_to_it(timed: bool) -> None:
    layer = CacheLayer(semantic=False)
    if timed:
        layer.metrics()

    @layer.cached
    def count(question: str) -> Generator[int, None, str]:
        yield from range(3)
        return "three"

    def whole() -> Iterator[object]:
        yield (yield from count("a"))

    assert [list(whole()) for _ in range(2)] == [[0, 1, 2, "three"]] * 2
    assert (
        layer.stats()["functions"][count.function.name]["backend_calls"] == 2
    )  # chunks alone would not be all of it
    assert count.function.stats.kept_out[Reason.NOT_KEEPABLE] == 2
    assert count.function.stats.timings["backend"].count == 2
    assert layer.stats()["flights"] == 0


async def test_a_rider_who_makes_his_own_call_leaves_the_stream_to_its_leader() -> None:
    layer = CacheLayer(semantic=False)
    entered, answer = threading.Event(), threading.Event()
    calls: list[str] = []

    @layer.cached
    def stream(question: str) -> Iterator[str]:
        calls.append(question)
        if len(calls) == 1:
            entered.set()
            answer.wait(30)
        return iter(["a", "b"])

    leader = asyncio.create_task(asyncio.to_thread(lambda: list(stream("q"))))
    await asyncio.to_thread(entered.wait, 30)
    assert list(stream("q")) == ["a", "b"]  # on a loop's own thread nobody waits for a thread's flight
    answer.set()
    assert await leader == ["a", "b"] and len(calls) == 2


async def test_a_recording_that_a_thread_ends_as_its_flight_lands_leaves_no_flight_behind() -> None:
    flights, threads = SingleFlight(ManualClock()), list[threading.Thread]()

    class Recording:
        """Its end comes while whoever lands the flight looks whether it is there: before, or as soon as it may."""

        @property
        def ended(self) -> bool:
            thread = threading.Thread(target=flights.close, args=("key", landing))
            threads.append(thread)
            thread.start()
            if not flights._lock._is_owned():  # type: ignore[attr-defined]
                thread.join()
            return False

    landing = types.SimpleNamespace(recording=Recording())

    async def refreshed() -> object:
        return landing

    flights.launch("key", refreshed, max_age=10)
    while not threads:
        await asyncio.sleep(0)
    threads[0].join(10)
    assert len(flights) == 0


@pytest.mark.parametrize("on_a_loop", [False, True])
async def test_who_joins_a_plain_stream_when_its_last_reader_leaves_makes_a_call_of_its_own(
    on_a_loop: bool,
) -> None:
    calls, layer = 0, CacheLayer(semantic=False)

    @layer.cached(name="count")
    def count(question: str) -> Iterator[int]:
        nonlocal calls
        calls += 1
        yield from range(CHUNKS)

    engine = engine_of(layer)
    first = await count.aio("a") if on_a_loop else count("a")
    assert next(first) == 0

    def late(call: Call, landing: Landing, led: bool) -> Any:
        first.close()  # at the last moment
        return engine.delivery.answer(call, landing, led)

    call = (count.aio.now if on_a_loop else count.handle.now)(("a",), {})  # type: ignore[attr-defined]
    joined = await engine._path(late, call) if on_a_loop else engine._path_now(call, late)
    assert list(joined) == list(range(CHUNKS)) and calls == 2
    told = layer.stats()["functions"]["count"]
    assert told["misses"]["memory"] == {"absent": 2} and not any(told["hits"].values())


async def test_what_a_store_holds_of_a_plain_generator_comes_as_one_whoever_asks() -> None:
    async with CacheLayer(store=Shelf(), semantic=False, policy=Policy(max_bytes=0)) as layer:

        @layer.cached
        def count(question: str) -> Iterator[str]:
            yield from "abc"

        assert list(await count.aio("q")) == [*"abc"]
        await layer.flush()
        for again in (await count.aio.outcome("q"), await asyncio.to_thread(count.outcome, "q")):
            assert (again.source, list(again.answer)) == (Source.REDIS, [*"abc"])
