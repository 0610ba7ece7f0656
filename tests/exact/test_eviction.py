"""The policy: what it keeps on traffic of known shape, and what its parts promise."""

from __future__ import annotations

import random

import pytest
from hit_ratios import TRACES, Cache, hit_ratio, lru_ratio, memory_ratio, slot_of
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.exact.memory.calendar import Calendar
from cachelayer.exact.memory.eviction import MAIN, WINDOW, Eviction
from cachelayer.exact.memory.ghosts import Ghosts


@pytest.mark.parametrize("slots", [50, 200, 800])
@pytest.mark.parametrize("name", TRACES)
def test_it_keeps_at_least_what_lru_keeps(name: str, slots: int) -> None:
    assert hit_ratio(TRACES[name], slots) >= lru_ratio(TRACES[name], slots) - 0.002


@pytest.mark.parametrize("slots", [50, 200, 800])
@pytest.mark.parametrize("name", TRACES)
def test_hits_that_leave_no_time_make_it_little_worse(name: str, slots: int) -> None:
    assert hit_ratio(TRACES[name], slots, timed=False) >= hit_ratio(TRACES[name], slots) - 0.02


@pytest.mark.parametrize("slots", [50, 200, 800])
@pytest.mark.parametrize("name", TRACES)
def test_the_memory_hits_as_its_policy_does(name: str, slots: int) -> None:
    """Its hits count, each at the time of the latest insertion."""
    held = memory_ratio(TRACES[name], slots)
    assert held == pytest.approx(hit_ratio(TRACES[name], slots), abs=0.003)
    assert held >= lru_ratio(TRACES[name], slots) - 0.002


def test_popularity_beats_recency_where_it_is_stable() -> None:
    assert hit_ratio(TRACES["popular"], 200) > lru_ratio(TRACES["popular"], 200) + 0.08


def test_a_scan_does_not_wash_the_popular_out() -> None:
    assert hit_ratio(TRACES["scanned"], 200) > lru_ratio(TRACES["scanned"], 200) + 0.04


def test_a_loop_over_twice_what_fits_still_hits() -> None:
    trace = list(range(400)) * 20
    assert lru_ratio(trace, 200) == 0.0
    assert hit_ratio(trace, 200) > 0.35


def test_after_a_loop_it_follows_recency_again() -> None:
    cache = Cache(200_000)
    for key in list(range(400)) * 20:
        cache.ask(key)
    assert cache.policy.stubbornness > 0.0
    before = cache.hits
    trace = [10_000 + i // 3 + (i * 7919) % 50 for i in range(6_000)]
    for key in trace:
        cache.ask(key)
    assert cache.policy.stubbornness <= 0.0
    assert (cache.hits - before) / len(trace) > lru_ratio(trace, 200) - 0.1
    cache.check()


def test_costly_answers_outlive_cheap_ones() -> None:
    """Of equal popularity and size, the answers of 20 s stay and those of 0.1 s go."""
    rng, cache = random.Random(1), Cache(200_000)
    hits = {False: 0, True: 0}
    for _ in range(20_000):
        key = rng.randrange(600)
        costly = key % 2 == 0
        hits[costly] += cache.ask(key, cost=20.0 if costly else 0.1)
    assert hits[True] > 2 * hits[False]
    cache.check()


def test_small_answers_outlive_large_ones_of_equal_cost() -> None:
    rng, cache = random.Random(1), Cache(200_000)
    hits = {False: 0, True: 0}
    for _ in range(20_000):
        key = rng.randrange(400)
        small = key % 2 == 0
        hits[small] += cache.ask(key, weight=200 if small else 2_000, cost=1.0)
    assert hits[True] > 2 * hits[False]


def test_no_item_is_worth_so_much_that_it_stays_for_ever() -> None:
    cache = Cache(100_000)
    for key in range(1_000):
        cache.ask(key, cost=0.001)
    cache.ask(-1, cost=1e9)
    for key in range(1_000, 1_500):
        cache.ask(key, cost=0.001)
    assert -1 in cache.table
    for key in range(1_500, 4_000):
        cache.ask(key, cost=0.001)
    assert -1 not in cache.table


def test_what_comes_back_after_its_eviction_is_not_a_newcomer() -> None:
    cache = Cache(10_000)
    for key in range(15):
        cache.ask(key)
    assert not cache.ask(0)
    assert cache.table[0].home == MAIN and cache.table[14].home == WINDOW


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 4_000), st.floats(0, 1e6)), max_size=200),
    st.randoms(),
)
def test_whatever_comes_and_goes_the_queues_hold_exactly_what_is_there(
    asked: list[tuple[int, int, float]], rng: random.Random
) -> None:
    cache = Cache(8_000)
    for key, weight, cost in asked:
        cache.ask(key, weight, cost)
        if rng.random() < 0.1 and cache.table:
            slot = cache.table.pop(rng.choice(sorted(cache.table)))
            cache.policy.remove(slot)
            cache.bytes -= slot.weight
        cache.check()


def test_a_clock_that_stands_still_is_no_obstacle() -> None:
    policy = Eviction(10_000)
    for key in range(1_000):
        policy.add(slot_of(key), 5.0)
        if key >= 10:
            assert policy.evict(5.0) is not None


def test_one_eviction_looks_at_a_bounded_number_of_slots() -> None:
    """All 5,000 slots were hit: still one call settles a few hundred at most, and evicts."""
    policy, slots = Eviction(5_000_000), [slot_of(key) for key in range(5_000)]
    for now, slot in enumerate(slots):
        policy.add(slot, float(now))
        slot.hits += 1
    assert policy.evict(6_000.0) is not None
    assert sum(slot.seen != slot.hits for slot in slots) > 4_700


@given(st.lists(st.tuples(st.floats(0, 1e9), st.booleans()), max_size=300))
def test_a_calendar_gives_slots_in_the_order_of_their_turns_up_to_a_bucket(
    moves: list[tuple[float, bool]],
) -> None:
    calendar, held = Calendar(1), set()
    for turn, leaves in moves:
        slot = slot_of(0)
        calendar.add(slot, turn)
        slot.cost = turn
        held.add(slot)
        if leaves:
            front = calendar.front()
            assert front in held
            span = max(s.cost for s in held) - min(s.cost for s in held)
            assert front.cost - min(s.cost for s in held) <= span / 8 + 1e-3
            calendar.discard(front)
            held.remove(front)
    assert calendar.count == len(held) == sum(1 for _ in calendar)


def test_a_calendar_tells_seconds_apart_again_once_the_days_are_gone() -> None:
    calendar = Calendar(1)
    for turn in (0.0, 1e6):
        calendar.add(slot_of(0), turn)
    while (front := calendar.front()) is not None:
        calendar.discard(front)
    for i in range(1_000):
        calendar.add(slot_of(i), 1e6 + i)
    for i in range(1_000):
        front = calendar.front()
        assert front is not None and abs(front.id - i) <= 16
        calendar.discard(front)


def test_a_calendar_has_few_buckets_however_long_its_front_stays() -> None:
    calendar = Calendar(1)
    calendar.add(slot_of(0), 0.0)
    for i in range(1, 20_000):
        slot = slot_of(i)
        calendar.add(slot, 0.01 * i)
        calendar.discard(slot)
    assert len(calendar._buckets) < 4_000


def test_ghosts_are_found_once_with_where_and_when_and_strangers_are_not() -> None:
    ghosts = Ghosts()
    for _ in range(6):
        ghosts.grow()
    slots = [slot_of(key) for key in range(1_000)]
    for i, slot in enumerate(slots):
        ghosts.add(slot.digest, i % 2, 100.0 + i)
    found = {i: ghosts.pop(slot.digest, 2_000.0) for i, slot in enumerate(slots)}
    for i, ghost in found.items():
        if ghost is not None:
            assert ghost.where == i % 2 and abs(ghost.evictions - (1_000 - i)) <= 16
            assert ghost.idle == pytest.approx(1_900.0 - i, abs=0.001)
    assert sum(ghost is not None for ghost in found.values()) > 950
    assert all(ghosts.pop(slot.digest, 2_000.0) is None for slot in slots)
    assert sum(ghosts.pop(slot_of(key).digest, 0.0) is not None for key in range(10**6, 10**6 + 3_000)) <= 3


def test_ghosts_survive_the_doubling_of_their_table() -> None:
    ghosts, slots = Ghosts(), [slot_of(key) for key in range(20)]
    for slot in slots:
        ghosts.add(slot.digest, 1, 5.0)
    before = sum(cell != 0 for cell in ghosts._cells)
    ghosts.grow()
    ghosts.grow()
    assert sum(ghosts.pop(slot.digest, 6.0) is not None for slot in slots) == before
