"""Readers of a shared stream: how far they may be apart is bounded, and none has other chunks than its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import Context
from typing import Any

import pytest
from turns import cancelled, turns

from cachelayer import CacheLayer, Policy
from cachelayer.flow.readers import StreamOverrun
from cachelayer.flow.recording import PATIENCE, READ_AHEAD

LIMIT, SIZE, CHUNKS = 50_000, 1000, 400
APART = 2 * LIMIT // SIZE + READ_AHEAD + 1
"""Chunks that the source may be ahead of the slowest reader."""


class Long:
    """A stream of numbers, each as long as the others."""

    def __init__(self) -> None:
        self.given = 0

    async def __call__(self, prompt: str) -> AsyncIterator[str]:
        for number in range(CHUNKS):
            self.given += 1
            yield f"{number:0{SIZE}}"


async def two_readers() -> tuple[Long, Any, Any]:
    """A source past the limit, a reader who takes what there is, and one who took the first chunk alone."""
    source = Long()
    stream = CacheLayer(policy=Policy(max_item_bytes=LIMIT), semantic=False).wrap(source, name="stream")
    fast, slow = stream("p"), stream("p")
    assert await asyncio.gather(anext(fast), anext(slow)) == [f"{0:0{SIZE}}"] * 2
    return source, asyncio.create_task(numbers(fast)), slow


async def numbers(chunks: AsyncIterator[str]) -> list[int]:
    return [int(chunk) async for chunk in chunks]


async def stands_still(source: Long) -> None:
    """Turns of the loop until the source is read no further."""
    before = -1
    while before != source.given:
        before = source.given
        await turns(20)


@pytest.fixture
async def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of the running loop forward."""
    loop = asyncio.get_running_loop()
    time, ahead = loop.time, 0.0

    def forward(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    monkeypatch.setattr(loop, "time", lambda: time() + ahead)
    return forward


async def test_the_source_waits_for_the_slowest_reader_and_each_has_every_chunk_of_it() -> None:
    source, fast, slow = await two_readers()
    await stands_still(source)
    assert LIMIT // SIZE < source.given <= APART
    rest = list(range(1, CHUNKS))
    assert await asyncio.wait_for(asyncio.gather(fast, numbers(slow)), PATIENCE / 2) == [rest, rest]


async def test_a_slow_reader_who_leaves_holds_up_the_others_no_longer() -> None:
    source, fast, slow = await two_readers()
    await stands_still(source)
    await slow.aclose()
    assert await asyncio.wait_for(fast, PATIENCE / 2) == list(range(1, CHUNKS))


async def test_one_who_reads_nothing_for_too_long_is_dropped_and_told_so(later: Any) -> None:
    source, fast, slow = await two_readers()
    await stands_still(source)
    later(PATIENCE - 1)
    await stands_still(source)
    assert source.given <= APART
    later(2)
    assert await asyncio.wait_for(fast, PATIENCE / 2) == list(range(1, CHUNKS))
    with pytest.raises(StreamOverrun):
        await anext(slow)


async def test_one_who_reads_on_in_time_is_not_dropped_afterwards(later: Any) -> None:
    source, fast, slow = await two_readers()
    await stands_still(source)
    later(PATIENCE - 1)
    for number in range(1, CHUNKS):  # each time the source is waited for
        assert int(await anext(slow)) == number
        later(2)
    assert await asyncio.wait_for(fast, PATIENCE / 2) == list(range(1, CHUNKS))


@pytest.mark.parametrize("soon", [False, True])
async def test_a_rider_who_leaves_as_the_stream_begins_takes_nothing_from_its_leader(soon: bool) -> None:
    source, gate = Long(), asyncio.Event()

    async def ask(prompt: str) -> AsyncIterator[str]:
        await gate.wait()
        if soon:
            asyncio.get_running_loop().call_soon(rider.cancel)
        else:
            rider.cancel()
        return source(prompt)

    async def read() -> list[int]:
        return await numbers(await stream("p"))

    stream = CacheLayer(semantic=False).wrap(ask, name="stream")
    leader, rider = asyncio.create_task(read()), asyncio.create_task(read())
    await turns(20)
    gate.set()
    assert await asyncio.wait_for(leader, PATIENCE / 2) == list(range(CHUNKS))
    assert rider.cancelled()


async def test_who_stops_waiting_just_as_a_stream_ends_may_read_its_end_afterwards() -> None:
    """As one does who sends a sign of life wherever no chunk comes for a while."""
    going = asyncio.Event()
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def speak(question: str) -> AsyncIterator[str]:
        yield "a"
        await going.wait()
        yield "b"

    chunks = speak("q")
    assert await anext(chunks) == "a"
    waiting = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0)
    going.set()
    await asyncio.sleep(0)  # "b" is there, and the end
    await cancelled(waiting)
    assert [chunk async for chunk in chunks] == ["b"]


async def test_who_joins_as_a_stream_begins_reads_no_earlier_than_its_leader() -> None:
    """The rider went on beyond what is recorded, and the leader's beginning was gone."""
    gate, riders = asyncio.Event(), list[asyncio.Task[list[str]]]()

    async def source() -> AsyncIterator[str]:
        for letter in "abcdefghij":
            yield letter * 600
            await asyncio.sleep(0)

    async def ask(prompt: str) -> AsyncIterator[str]:
        await gate.wait()
        riders.append(asyncio.create_task(read(), context=Context()))  # before its leader's turn
        return source()

    async def read() -> list[str]:
        return [piece[0] async for piece in await stream("p")]

    stream = CacheLayer(policy=Policy(max_item_bytes=1000), semantic=False).wrap(ask, name="stream")
    leader = asyncio.create_task(read())
    await asyncio.sleep(0)
    gate.set()
    assert "".join(await asyncio.wait_for(leader, PATIENCE / 2)) == "abcdefghij"
    assert "".join(await asyncio.wait_for(riders[0], PATIENCE / 2)) == "abcdefghij"


async def test_a_stream_whose_leader_left_and_whose_riders_cannot_share_it_ends() -> None:
    gate, ended = asyncio.Event(), list[str]()

    async def source(prompt: str, call: int) -> AsyncIterator[str]:
        try:
            for _ in range(100):
                yield f"{call:0{SIZE}}"
        finally:
            ended.append("to its end" if call else "left")

    async def ask(prompt: str) -> AsyncIterator[str]:
        calls.append(prompt)
        call = len(calls) - 1
        await gate.wait()
        return source(prompt, call)

    async def read() -> set[int]:
        return {int(piece) async for piece in await stream("p")}

    calls: list[str] = []
    stream = CacheLayer(policy=Policy(max_item_bytes=SIZE), semantic=False).wrap(ask, name="stream")
    leader, rider = asyncio.create_task(read()), asyncio.create_task(read())
    await asyncio.sleep(0)
    leader.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.wait_for(rider, PATIENCE / 2) == {1}
    assert ended == ["left", "to its end"]


async def test_who_reads_alone_may_take_any_time(later: Any) -> None:
    """Of chunks larger than what is kept he was ahead of nobody, and was dropped."""
    policy = Policy(max_item_bytes=SIZE)
    chunks = CacheLayer(policy=policy, semantic=False).wrap(Long(), name="stream")("p")
    for number in range(CHUNKS // 20):
        assert int(await anext(chunks)) == number
        await turns(20)
        later(PATIENCE + 1)
        await asyncio.sleep(0.001)
