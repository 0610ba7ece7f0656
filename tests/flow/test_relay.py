"""Items handed over in the step that brings them: in the waiting task's name, in order, its faults its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turns import cancelled, turns

from cachelayer.flow.eager import Starter
from cachelayer.flow.recording import READ_AHEAD, Recording
from cachelayer.flow.relay import Relay, pass_on

whose: ContextVar[str] = ContextVar("whose", default="nobody")


async def test_an_item_is_handed_over_at_once_in_the_name_and_context_of_the_task_that_waits() -> None:
    told: list[Any] = []

    async def hand(item: int) -> None:
        told.append((item, asyncio.current_task(), whose.get()))

    relays = []

    async def wait() -> None:
        whose.set("the waiting one's")
        relays.append(Relay(hand))
        await relays[0].wait()

    task, me = asyncio.create_task(wait()), asyncio.current_task()
    await turns(10)
    relays[0].give(1)
    relays[0].give(2)
    assert told == [(1, task, "the waiting one's"), (2, task, "the waiting one's")]
    assert asyncio.current_task() is me and whose.get() == "nobody"
    relays[0].wake()
    await task


async def test_what_takes_longer_is_brought_to_its_end_by_the_task_and_may_time_out_there() -> None:
    ended, relays, gate = [], [], asyncio.Event()

    async def hand(item: str) -> None:
        try:
            async with asyncio.timeout(None if item == "slow" else 0.001):
                await (gate if item == "slow" else asyncio.Event()).wait()
            ended.append((item, asyncio.current_task()))
        except TimeoutError:
            ended.append(("timed out", asyncio.current_task()))

    async def wait() -> None:
        relays.append(Relay(hand))
        for _ in range(2):
            await relays[0].wait()

    task = asyncio.create_task(wait())
    await turns(10)
    relays[0].give("slow")
    assert not relays[0].idle
    await turns(10)
    gate.set()
    await turns(10)
    assert relays[0].idle
    relays[0].give("endless")
    await task
    assert ended == [("slow", task), ("timed out", task)]


@pytest.mark.parametrize("fault", [OSError("gone"), asyncio.CancelledError()])
@pytest.mark.parametrize("waits", [False, True])
async def test_what_handing_over_raises_is_raised_where_the_task_waits(
    fault: BaseException, waits: bool
) -> None:
    async def hand(item: int) -> None:
        if waits:
            await asyncio.sleep(0)
        raise fault

    relays = []

    async def wait() -> None:
        relays.append(Relay(hand))
        await relays[0].wait()

    task = asyncio.create_task(wait())
    await turns(10)
    relays[0].give(1)
    with pytest.raises(type(fault)):
        await task


@pytest.mark.parametrize("moment", ["before", "begun", "later"])
async def test_a_cancelled_task_ends_what_was_begun_in_its_name(moment: str) -> None:
    ended, relays = [], []

    async def hand(item: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # a wait of its own on the way out is granted
            ended.append(item)

    async def wait() -> None:
        relays.append(Relay(hand))
        await relays[0].wait()

    task = asyncio.create_task(wait())
    await turns(10)
    if moment != "before":
        relays[0].give(1)
    if moment == "later":
        await turns(10)
    await cancelled(task)
    assert task.cancelled() and ended == ([] if moment == "before" else [1])


class Fed:
    """A source that is given its items from outside, as an app sends them."""

    def __init__(self) -> None:
        self.items: list[int | None] = []
        self.fed: Callable[[Any], bool] = lambda item: False
        self.waiting: asyncio.Future[None] | None = None
        self.direct = 0

    def feed(self, fed: Callable[[Any], bool]) -> None:
        self.fed = fed

    def send(self, item: int | None) -> None:
        waiting = self.waiting
        if waiting is not None and not waiting.done():
            if not self.items and item is not None and self.fed(item):
                self.direct += 1
                return
            waiting.set_result(None)
        self.items.append(item)

    def __aiter__(self) -> Fed:
        return self

    async def __anext__(self) -> int:
        while not self.items:
            self.waiting = asyncio.get_running_loop().create_future()
            await self.waiting
        item = self.items.pop(0)
        if item is None:
            raise StopAsyncIteration
        return item


class Whole:
    """A chunk."""

    nbytes = 1

    def __init__(self, item: int) -> None:
        self.item = item

    def answer(self) -> int:
        return self.item


def recorded(source: Any) -> tuple[Recording, list[int]]:
    kept: list[int] = []

    def finish(chunks: list[Any]) -> None:
        kept.extend(chunk.item for chunk in chunks)

    def nothing() -> None:
        return None

    recording = Recording(source, freeze=Whole, limit=10**6, finish=finish, oversize=nothing, closed=nothing)
    return recording, kept


@given(st.data())
def test_every_reader_has_every_item_in_order_however_it_reads_and_waits(data: st.DataObject) -> None:
    async def walk() -> None:
        source = Fed()
        recording, kept = recorded(source)
        recording.start(Starter())
        waits = st.lists(st.integers(0, 3), min_size=1, max_size=5)

        async def passed(pauses: list[int], got: list[int]) -> None:
            async def hand(item: int) -> None:
                await turns(pauses[item % len(pauses)])
                got.append(item)

            await pass_on(recording.reader(), hand)

        async def pulled(stream: AsyncIterator[int], pauses: list[int], got: list[int]) -> None:
            async for item in stream:
                await turns(pauses[item % len(pauses)])
                got.append(item)

        results: list[list[int]] = []
        readers = []
        for kind in data.draw(st.lists(st.sampled_from(["passed", "pulled"]), min_size=1, max_size=4)):
            results.append([])
            pauses = data.draw(waits)
            work = (
                passed(pauses, results[-1])
                if kind == "passed"
                else pulled(recording.reader(), pauses, results[-1])
            )
            readers.append(asyncio.create_task(work))
        total = data.draw(st.integers(0, 60))
        for item, pause in enumerate(data.draw(st.lists(st.integers(0, 2), min_size=total, max_size=total))):
            source.send(item)
            await turns(pause)
        source.send(None)
        await asyncio.gather(*readers)
        assert results == [list(range(total))] * len(readers) and kept == list(range(total))

    asyncio.run(walk())


async def test_a_stream_that_is_passed_on_needs_no_turn_of_the_loop_for_an_item() -> None:
    source, got = Fed(), []
    recording, _ = recorded(source)
    recording.start(Starter())

    async def hand(item: int) -> None:
        got.append(item)

    reader = asyncio.create_task(pass_on(recording.reader(), hand))
    await turns(10)
    for item in range(100):
        source.send(item)
        assert got[-1] == item
    assert source.direct == 100
    source.send(None)
    await reader


async def test_a_reader_that_does_not_get_on_bounds_what_is_taken_for_it() -> None:
    source, gate = Fed(), asyncio.Event()
    recording, _ = recorded(source)
    recording.start(Starter())
    got = []

    async def hand(item: int) -> None:
        await gate.wait()
        got.append(item)

    reader = asyncio.create_task(pass_on(recording.reader(), hand))
    await turns(10)
    for item in range(100):
        source.send(item)
        await turns(3)
    assert len(source.items) >= 100 - READ_AHEAD - 2
    gate.set()
    source.send(None)
    await reader
    assert got == list(range(100))


async def test_a_reader_that_leaves_while_it_is_handed_an_item_hurts_nobody() -> None:
    source, got = Fed(), []
    recording, kept = recorded(source)
    recording.start(Starter())

    async def stuck(item: int) -> None:
        await asyncio.Event().wait()

    async def hand(item: int) -> None:
        got.append(item)

    leaver = asyncio.create_task(pass_on(recording.reader(), stuck))
    stayer = asyncio.create_task(pass_on(recording.reader(), hand))
    await turns(10)
    source.send(0)
    leaver.cancel()
    source.send(1)
    await turns(10)
    source.send(2)
    source.send(None)
    await stayer
    assert leaver.cancelled() and got == kept == [0, 1, 2]
