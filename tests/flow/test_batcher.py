"""The micro-batcher: batches grow with load, nobody waits for a timer, nobody pays for another's fault."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turns import turns

from cachelayer.flow.batcher import Batcher, Overloaded
from cachelayer.types import Reason


class Machine:
    """A call that waits until it is let go, and remembers what it was given."""

    def __init__(self) -> None:
        self.batches: list[list[object]] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, items: Sequence[object]) -> list[object]:
        self.batches.append(list(items))
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return [item * 10 for item in items]  # type: ignore[operator]


async def test_an_idle_batcher_calls_at_once_and_one_turn_shares_one_call():
    machine = Machine()
    batcher = Batcher(machine)
    assert await batcher.submit(1) == 10
    assert await asyncio.gather(*(batcher.submit(i) for i in range(5))) == [0, 10, 20, 30, 40]
    assert machine.batches == [[1], [0, 1, 2, 3, 4]]


async def test_what_comes_during_a_call_leaves_together_when_it_returns():
    machine = Machine()
    batcher = Batcher(machine, limit=6)
    machine.gate.clear()
    first = asyncio.create_task(batcher.submit(0))
    await turns()
    rest = [asyncio.create_task(batcher.submit(i)) for i in range(1, 9)]
    await turns()
    assert machine.batches == [[0]]
    machine.gate.set()
    assert await asyncio.gather(first, *rest) == [i * 10 for i in range(9)]
    assert machine.batches == [[0], [1, 2, 3, 4, 5, 6], [7, 8]]
    assert batcher.stats() == {"calls": 3, "items": 9, "mean": 3.0, "shed": 0, "waiting": 0}


async def test_concurrency_bounds_the_calls_at_once():
    machine = Machine()
    batcher = Batcher(machine, limit=1, concurrency=2)
    machine.gate.clear()
    tasks = [asyncio.create_task(batcher.submit(i)) for i in range(5)]
    await turns()
    assert machine.batches == [[0], [1]]
    machine.gate.set()
    await asyncio.gather(*tasks)
    assert len(machine.batches) == 5


async def test_scopes_take_turns_however_long_one_queue_is():
    machine = Machine()
    batcher = Batcher(machine, limit=4)
    machine.gate.clear()
    tasks = [asyncio.create_task(batcher.submit(0))]
    await turns()
    tasks += [asyncio.create_task(batcher.submit(i, scope="loud")) for i in range(100, 110)]
    tasks += [asyncio.create_task(batcher.submit(i, scope="quiet")) for i in (1, 2)]
    await turns()
    machine.gate.set()
    await asyncio.gather(*tasks)
    assert machine.batches[1] == [100, 1, 101, 2]


async def test_weight_bounds_a_batch_and_one_item_always_fits():
    machine = Machine()
    batcher = Batcher(machine, max_weight=10, weigh=float)
    await asyncio.gather(*(batcher.submit(i) for i in (4, 5, 6, 50, 1)))
    assert machine.batches == [[4, 5], [6], [50], [1]]


async def test_a_batch_stays_small_enough_for_its_earliest_deadline():
    """The pace is learnt from earlier calls: 1 s an item on this loop's clock."""
    loop, now, sizes = asyncio.get_running_loop(), 100.0, []

    async def slow(items: Sequence[int]) -> Sequence[int]:
        nonlocal now
        sizes.append(len(items))
        now += len(items)
        return items

    loop.time = lambda: now  # type: ignore[method-assign]
    batcher: Batcher[int, int] = Batcher(slow)
    await asyncio.gather(batcher.submit(0), batcher.submit(1))
    tight = [batcher.submit(i, deadline=now + 3.5) for i in range(3)]
    await asyncio.gather(*tight, *(batcher.submit(i) for i in range(6)))
    assert sizes == [2, 3, 6]


async def test_an_item_whose_deadline_passed_in_the_queue_is_shed_with_a_reason():
    machine = Machine()
    batcher = Batcher(machine)
    machine.gate.clear()
    first = asyncio.create_task(batcher.submit(0))
    await turns()
    late = asyncio.create_task(batcher.submit(1, deadline=0.0))
    await turns()
    machine.gate.set()
    assert await first == 0
    with pytest.raises(Overloaded) as caught:
        await late
    assert caught.value.reason is Reason.BUDGET
    assert machine.batches == [[0]]


async def test_a_full_queue_sheds_at_once_with_a_reason():
    machine = Machine()
    batcher = Batcher(machine, queue=2)
    machine.gate.clear()
    tasks = [asyncio.create_task(batcher.submit(0))]
    await turns()
    tasks += [asyncio.create_task(batcher.submit(i)) for i in (1, 2)]
    await turns()
    with pytest.raises(Overloaded) as caught:
        await batcher.submit(3)
    assert caught.value.reason is Reason.OVERLOAD
    machine.gate.set()
    assert await asyncio.gather(*tasks) == [0, 10, 20]
    assert batcher.shed == 1


async def test_a_cancelled_caller_leaves_the_queue_and_frees_its_place():
    machine = Machine()
    batcher = Batcher(machine, queue=1)
    machine.gate.clear()
    first = asyncio.create_task(batcher.submit(0))
    await turns()
    for i in range(100):  # each would find the queue full if the one before had stayed
        waiting = asyncio.create_task(batcher.submit(i, scope=i))
        await turns()
        waiting.cancel()
        await turns()
        assert waiting.cancelled()
    machine.gate.set()
    assert await first == 0
    assert machine.batches == [[0]]


async def test_one_cancelled_rider_leaves_the_others_alone_and_the_last_cancels_the_call():
    machine = Machine()
    batcher = Batcher(machine)
    machine.gate.clear()
    one, two = (asyncio.create_task(batcher.submit(i)) for i in (1, 2))
    await turns()
    one.cancel()
    await turns()
    assert machine.cancelled == 0
    two.cancel()
    await turns()
    assert machine.cancelled == 1
    machine.gate.set()
    assert await batcher.submit(7) == 70


async def test_faults_are_per_item_and_a_failed_call_is_everyones():
    async def picky(items: Sequence[int]) -> list[int | BaseException]:
        if 13 in items:
            raise OSError("device lost")
        return [KeyError(i) if i % 2 else i for i in items]

    batcher: Batcher[int, int] = Batcher(picky)
    got = await asyncio.gather(*(batcher.submit(i) for i in range(4)), return_exceptions=True)
    assert [type(g) for g in got] == [int, KeyError, int, KeyError]
    got = await asyncio.gather(*(batcher.submit(i) for i in (2, 13)), return_exceptions=True)
    assert [type(g) for g in got] == [OSError, OSError]
    assert await batcher.submit(4) == 4


async def test_a_call_that_returns_too_little_is_an_error_not_a_shift():
    async def short(items: Sequence[int]) -> Sequence[int]:
        return items[1:]

    batcher: Batcher[int, int] = Batcher(short)
    got = await asyncio.gather(*(batcher.submit(i) for i in range(3)), return_exceptions=True)
    assert all(isinstance(g, RuntimeError) for g in got)


async def test_a_call_cancelled_from_inside_does_not_look_like_the_callers_own_cancellation():
    async def dies(items: Sequence[int]) -> Sequence[int]:
        raise asyncio.CancelledError

    with pytest.raises(Overloaded) as caught:
        await Batcher(dies).submit(1)
    assert caught.value.reason is Reason.FAULT


async def test_close_ends_what_waits_and_what_runs():
    machine = Machine()
    batcher = Batcher(machine, limit=1)
    machine.gate.clear()
    tasks = [asyncio.create_task(batcher.submit(i)) for i in range(3)]
    await turns()
    await batcher.aclose()
    got = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(g) for g in got] == [Overloaded] * 3
    assert machine.cancelled == 1


def test_each_loop_has_a_queue_of_its_own():
    machine_batches: list[int] = []

    async def call(items: Sequence[int]) -> Sequence[int]:
        machine_batches.append(len(items))
        return items

    batcher: Batcher[int, int] = Batcher(call)
    for value in (1, 2):
        assert asyncio.run(batcher.submit(value)) == value
    assert machine_batches == [1, 1]


def test_a_loop_that_has_ended_is_held_no_longer_than_until_the_next_one_comes():
    """A loop a call (`asyncio.run`), and as many loops were held as there had been calls."""
    batcher, ended = Batcher(Machine()), list[weakref.ref[asyncio.AbstractEventLoop]]()

    async def ask() -> None:
        await batcher.submit(1)
        ended.append(weakref.ref(asyncio.get_running_loop()))

    for _ in range(4):
        asyncio.run(ask())
    gc.collect()
    assert [loop() is None for loop in ended] == [True, True, True, False]


@pytest.mark.parametrize("setting", ["limit", "concurrency", "queue"])
def test_settings_that_cannot_work_are_named(setting):
    with pytest.raises(ValueError, match=setting):
        Batcher(Machine.__call__, **{setting: 0})


@given(
    plan=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=40),
    limit=st.integers(1, 8),
    concurrency=st.integers(1, 3),
)
def test_everyone_gets_his_own_answer_once(plan, limit, concurrency):
    """Whatever the scopes, pauses and cancellations."""

    async def scenario() -> None:
        seen: list[int] = []

        async def call(items: Sequence[int]) -> Sequence[int]:
            assert len(items) <= limit
            seen.extend(items)
            await asyncio.sleep(0)
            return [-i for i in items]

        batcher: Batcher[int, int] = Batcher(call, limit=limit, concurrency=concurrency)
        tasks = []
        for number, (scope, pause, cancel) in enumerate(plan):
            task = asyncio.create_task(batcher.submit(number, scope=scope))
            tasks.append((number, task, cancel))
            await turns(pause)
            if cancel:
                task.cancel()
        got = await asyncio.gather(*(task for _, task, _ in tasks), return_exceptions=True)
        for (number, _, cancel), result in zip(tasks, got, strict=True):
            assert result == -number or (cancel and isinstance(result, asyncio.CancelledError))
        assert len(seen) == len(set(seen))
        assert all(lane.waiting == 0 and not lane._scopes for lane in batcher._lanes.values())

    asyncio.run(scenario())
