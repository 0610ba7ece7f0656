"""The edges of the in-process memory: collisions, raw forms, weights, expiry, threads."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_slots import canonical, digest, slot_for

from cachelayer.exact.memory.eviction import MAIN
from cachelayer.exact.memory.invariants import check
from cachelayer.exact.memory.raw_forms import RawForms
from cachelayer.exact.memory.slot import GROUP_OVERHEAD, weight_of_raw
from cachelayer.exact.memory.table import MAX_LINKS, Memory, Raws, Slot


def memory_with(*keys: int, max_bytes: int = 100_000, **more: object) -> tuple[Memory, list[Slot]]:
    memory = Memory(max_bytes, max_item_bytes=max_bytes)
    slots = [slot_for(key, f"answer {key}", **more) for key in keys]  # type: ignore[arg-type]
    assert all(memory.put(slot, 0.0) for slot in slots)
    return memory, slots


def test_two_requests_under_one_digest_never_share_an_answer() -> None:
    memory, (first,) = memory_with(0)
    assert digest(0) == digest(1)
    assert memory.get(digest(1), canonical(1)) is None
    second = slot_for(1, "the other")
    assert memory.put(second, 0.0)
    assert memory.get(digest(0), canonical(0)) is None and not first.resident
    assert memory.get(digest(1), canonical(1)) is second
    check(memory)


def test_two_raw_forms_under_one_digest_never_share_an_answer() -> None:
    memory, (one, other) = memory_with(2, 4)
    raws: Raws = {}
    assert memory.link(one, raws, 7, b"one") and memory.link(other, raws, 7, b"other")
    assert raws == {7: (b"other", other)} and not one.links
    assert memory.link(other, raws, 7, b"another") and raws == {7: (b"another", other)}
    assert memory.link(other, raws, 7, b"other") and len(other.links) == 2
    check(memory)
    memory.remove(one)
    assert raws == {7: (b"other", other)}
    memory.remove(other)
    assert not raws


def test_what_takes_one_raw_form_of_another_leaves_it_the_rest() -> None:
    memory, (one, other) = memory_with(2, 4)
    raws: Raws = {}
    elsewhere: Raws = {}
    for table, form in ((raws, 1), (elsewhere, 2), (raws, 2), (raws, 3)):
        assert memory.link(one, table, form, b"one's")
    assert memory.link(other, raws, 2, b"the other's")
    check(memory)
    memory.remove(one)
    assert raws == {2: (b"the other's", other)} and not elsewhere
    memory.remove(other)
    assert not raws and memory.bytes == 0
    check(memory)


def test_what_is_put_again_stays() -> None:
    memory, (one,) = memory_with(2)
    held = memory.bytes
    assert memory.put(one, 1.0) and memory.bytes == held
    assert memory.get(digest(2), canonical(2)) is one and one.fresh_until > 1.0
    check(memory)


def test_a_slot_keeps_its_latest_raw_forms_only() -> None:
    memory, (slot,) = memory_with(2)
    raws: Raws = {}
    weight = slot.weight
    for form in range(100):
        assert memory.link(slot, raws, form, b"%04d" % form)
        check(memory)
    assert list(raws) == list(range(100 - MAX_LINKS, 100))
    assert slot.weight == weight + MAX_LINKS * weight_of_raw(b"0000")


def test_a_raw_form_may_be_a_text_and_is_weighed_at_its_widest() -> None:
    memory, (slot,) = memory_with(2)
    texts: Raws = {}
    assert memory.link(slot, texts, "größer 日本", "größer 日本")
    assert texts["größer 日本"][1] is slot
    check(memory)
    "größer 日本".encode()  # may make the object grow
    memory.remove(slot)
    assert not texts and memory.bytes == 0


def test_what_left_the_memory_cannot_be_linked() -> None:
    memory, (slot,) = memory_with(2)
    memory.remove(slot)
    raws: Raws = {}
    assert not memory.link(slot, raws, 1, b"raw") and not raws


@given(st.integers(0, 500), st.lists(st.sampled_from("abc"), unique=True), st.binary(max_size=50))
def test_an_item_may_weigh_as_much_as_is_said_and_no_more(nbytes: int, tags: list[str], scope: bytes) -> None:
    """Its tags and scope included, and raw forms."""
    slot = slot_for(2, "answer", nbytes, tags=tuple(tags), scope=scope)
    weight = slot.weight + GROUP_OVERHEAD * (1 + len(tags)) + len(scope)
    assert not Memory(10**6, max_item_bytes=weight - 1).put(slot, 0.0)
    assert Memory(10**6, max_item_bytes=weight).put(slot, 0.0)
    held = [Memory(10**6, max_item_bytes=weight + more) for more in (10**4, 10**4 - 1)]
    raw = bytes(weight + 10**4 - slot.weight - weight_of_raw(b""))
    for memory, fits in zip(held, (True, False), strict=True):
        slot = slot_for(2, "answer", nbytes, tags=tuple(tags), scope=scope)
        assert memory.put(slot, 0.0) and memory.link(slot, {}, 1, raw) is fits


def test_what_takes_the_place_of_an_older_answer_is_no_newcomer() -> None:
    memory, (old,) = memory_with(2)
    again = slot_for(2, "again")
    assert memory.put(again, 1.0) and (old.resident, again.home) == (False, MAIN)


@pytest.mark.parametrize("nbytes", [2_000, 200_000])
def test_too_heavy_an_item_is_refused_and_its_predecessor_forgotten(nbytes: int) -> None:
    memory = Memory(100_000, max_item_bytes=1_600)
    assert memory.put(slot_for(2, "old"), 0.0)
    assert not memory.put(slot_for(2, "new", nbytes), 0.0)
    assert memory.get(digest(2), canonical(2)) is None and len(memory) == 0
    check(memory)


def test_a_raw_form_that_makes_an_item_too_heavy_is_refused() -> None:
    memory = Memory(100_000, max_item_bytes=2_000)
    slot = slot_for(2, "answer", 500)
    raws: Raws = {}
    assert memory.put(slot, 0.0) and not memory.link(slot, raws, 1, bytes(5_000)) and not raws
    assert memory.get(digest(2), canonical(2)) is slot


def test_raw_forms_take_the_room_of_others_and_a_slot_that_goes_for_its_own_is_not_linked() -> None:
    memory, slots = memory_with(*range(0, 100, 2), max_bytes=20_000)
    raws: Raws = {}
    linked = []
    for at, slot in enumerate(slots):
        if slot.resident:
            raw = bytes(1500 if at % 2 else 10)
            linked.append(memory.link(slot, raws, at, raw))
            assert linked[-1] is (raws.get(at) == (raw, slot))
            check(memory)
    assert {*linked} == {True, False}


def test_tags_count_against_the_budget() -> None:
    memory = Memory(20_000, max_item_bytes=20_000)
    slot = slot_for(2, "answer", tags=tuple(f"tag {i}" for i in range(100)))
    assert not memory.put(slot, 0.0) and memory.bytes == 0
    check(memory)


def test_a_large_item_takes_the_place_of_as_many_small_ones_as_it_needs() -> None:
    memory, _ = memory_with(*range(0, 100, 2))
    assert memory.put(slot_for(200, "large", 60_000), 1.0)
    check(memory)
    assert 1 < len(memory) < 51


def test_a_sweep_is_bounded_and_what_remains_is_swept_by_later_insertions() -> None:
    memory, _ = memory_with(*range(0, 100, 2), stale_until=10.0)
    assert memory.sweep(1000.0, 3) == 3 and len(memory) == 47
    for key in range(200, 260, 2):
        memory.put(slot_for(key, "new"), 1000.0)
    assert all(slot.answer == "new" for slot in memory)


@given(st.floats(0, 1e6), st.floats(0.001, 1e6), st.floats(0.9, 1.1))
def test_a_slot_is_swept_after_its_time_and_a_32nd_of_its_lifetime_late_at_most(
    now: float, lifetime: float, elapsed: float
) -> None:
    memory = Memory(10_000, max_item_bytes=10_000)
    memory.put(slot_for(2, "answer", stale_until=now + lifetime), now)
    later = now + elapsed * lifetime
    memory.sweep(later, 10)
    if later < now + lifetime:
        assert len(memory) == 1
    if later > now + lifetime * (1 + 1 / 32) + 1 / 32:
        assert len(memory) == 0


def test_buckets_of_expiry_are_few_however_many_lifetimes_there_are() -> None:
    memory = Memory(10_000_000, max_item_bytes=10_000)
    for i in range(10_000):
        now = 0.01 * i
        ttl = 86_400 * (1 + 0.1 * (i * 7919 % 1000) / 1000)
        memory.put(slot_for(2 * i, i, stale_until=now + ttl), now)
    check(memory)
    assert len(memory._buckets) < 20


def test_equal_scopes_are_held_once() -> None:
    memory = Memory(100_000, max_item_bytes=10_000)
    for key in (2, 4):
        memory.put(slot_for(key, key, scope=bytes(bytearray(b"a scope that is made anew"))), 0.0)
    one, other = memory
    assert one.scope is other.scope


def test_hits_from_threads_while_slots_come_and_go_read_whole_answers() -> None:
    """Readers take no lock: each gets nothing or the right answer, and no dict keeps a slot that went."""
    memory, raws, lock, stop = Memory(20_000, max_item_bytes=5_000), {}, threading.Lock(), threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            for key in range(0, 80, 2):
                pair = raws.get(key)
                if pair is not None and pair[0] == canonical(key) and pair[1].fresh_until > 0.0:
                    pair[1].hits += 1
                    pair[1].used = 1.0
                    if pair[1].answer != key:
                        wrong.append(key)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(4_000):
        key = i * 37 % 40 * 2
        with lock:
            slot = slot_for(key, key)
            memory.put(slot, float(i))
            memory.link(slot, raws, key, canonical(key))
    stop.set()
    for thread in threads:
        thread.join()
    check(memory)
    assert not wrong
    memory.clear()
    assert not raws


def test_a_raw_form_holds_no_more_than_it_is_counted_for() -> None:
    """Bytes that orjson wrote hold the buffer that they were written in."""
    forms, memory = RawForms(), Memory(1 << 30, max_item_bytes=1 << 20)
    bodies = [{"text": "x" * 900, "n": n} for n in range(200)]
    slots = [Slot(n, b"%d" % n, "answer", 100) for n in range(200)]
    for slot in slots:
        memory.put(slot, 0.0)
    before = memory.bytes
    tracemalloc.start()
    for slot, body in zip(slots, bodies, strict=True):
        forms.link(memory, slot, (body,), {})
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown <= memory.bytes - before


@pytest.mark.parametrize(
    "kwargs", [{}, {"a": 1}, {"a": None}], ids=["no keywords", "keywords", "a None among them"]
)
@pytest.mark.parametrize("args", [(), ("text",), (1, [2]), (None,)], ids=["none", "a text", "values", "None"])
def test_a_call_of_any_form_leads_to_the_entry_that_answered_it_before(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    memory, (slot, other) = memory_with(0, 2)
    forms = RawForms()
    forms.link(memory, slot, args, kwargs)
    forms.link(memory, other, (*args, "more"), kwargs)
    assert forms.find(args, kwargs) is slot
