"""Bounded waits, tickers and mailboxes; a deadline for many futures at once."""

from __future__ import annotations

import asyncio
import time

import pytest
from turns import given_up

from cachelayer.flow.deadlines import Deadlines
from cachelayer.flow.waiting import Mailbox, Ticker, Turns, settled, within


class Late(Exception):
    """Over the budget."""


async def test_work_within_its_time_gives_its_result_and_its_error():
    assert await within(10, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(TimeoutError):
        await within(0.001, asyncio.sleep(60))


async def test_waiting_for_a_future_neither_cancels_it_nor_looks_at_it():
    future = asyncio.get_running_loop().create_future()
    assert not await settled(future, 0.001)
    assert not future.cancelled()
    assert not await settled(future, 0)
    future.set_exception(Late())
    assert await settled(future, 0)
    assert await settled(future, 10)
    assert isinstance(future.exception(), Late)


async def test_turns_are_taken_by_one_caller_at_a_time():
    turns, inside, most = Turns(), 0, 0

    async def caller() -> None:
        nonlocal inside, most
        async with turns.turn():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(caller() for _ in range(5)))
    assert (inside, most) == (0, 1)


def test_who_holds_a_turn_on_a_loop_that_has_stopped_is_not_waited_for():
    turns = Turns()
    held, stopped = turns.turn(), asyncio.new_event_loop()
    stopped.run_until_complete(held.__aenter__())

    async def caller() -> str:
        async with asyncio.timeout(20), turns.turn():
            return "our turn"

    assert asyncio.run(caller()) == "our turn"
    stopped.run_until_complete(held.__aexit__(None, None, None))
    stopped.close()


async def test_a_ticker_ticks_until_stopped():
    ticks = asyncio.Queue()
    ticker = Ticker(0.001, lambda: ticks.put_nowait(None))
    for _ in range(3):
        await asyncio.wait_for(ticks.get(), 10)
    ticker.stop()
    while not ticks.empty():
        ticks.get_nowait()
    await asyncio.sleep(0.01)
    assert ticks.empty()


async def test_a_mailbox_keeps_the_order_and_wakes_its_reader():
    box: Mailbox[int] = Mailbox(10, -1)
    reading = asyncio.create_task(box.get())
    await asyncio.sleep(0)
    box.put(1)
    box.put(2)
    assert await reading == 1
    assert await box.get() == 2


async def test_a_mailbox_that_overflows_holds_one_thing():
    box: Mailbox[int] = Mailbox(3, -1)
    for n in range(4):
        box.put(n)
    assert await box.get() == -1
    box.put(7)
    assert await box.get() == 7


async def test_who_reads_all_takes_each_item_once():
    box: Mailbox[int] = Mailbox(10, -1)
    for n in range(3):
        box.put(n)
    assert await box.get_all() == [0, 1, 2]
    box.put(3)
    assert await box.get_all() == [3]


async def test_a_reader_that_is_cancelled_loses_nothing():
    box: Mailbox[int] = Mailbox(3, -1)
    reading = asyncio.create_task(box.get())
    await asyncio.sleep(0)
    await given_up(reading)
    box.put(1)
    assert await box.get() == 1


async def test_a_deadline_fails_what_is_late_and_only_that():
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(0.02, Late)
    quick, late, gone = (loop.create_future() for _ in range(3))
    for future in (quick, late, gone):
        deadlines.watch(future)
    quick.set_result("in time")
    gone.cancel()
    started = time.monotonic()
    with pytest.raises(Late):
        await late
    assert time.monotonic() - started >= 0.014  # three quarters of the budget
    assert await quick == "in time"
    again = loop.create_future()
    deadlines.watch(again)  # the timer that had come to rest starts anew
    with pytest.raises(Late):
        await asyncio.wait_for(again, 10)


async def test_many_futures_share_one_timer(monkeypatch):
    loop = asyncio.get_running_loop()
    timers = []
    call_later = loop.call_later
    monkeypatch.setattr(loop, "call_later", lambda *a: timers.append(a) or call_later(*a))
    deadlines = Deadlines(60.0, Late)
    for _ in range(1000):
        deadlines.watch(loop.create_future())
    assert len(timers) == 1
