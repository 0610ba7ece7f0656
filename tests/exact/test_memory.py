"""The in-process memory: never a wrong answer, never over its budget, nothing left behind."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cachelayer.exact.memory import MAX_LINKS, Gone, Memory, Raws, Slot, weight_of
from cachelayer.exact.slot import weight_of_raw

KEYS = st.integers(0, 19)
TAGS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple)
SCOPES = st.sampled_from([b"", b"one", b"two"])


def canonical(key: int) -> bytes:
    return b"request %d" % key


def digest(key: int) -> int:
    """Two canonical requests under every digest: the collision that a hash alone would not survive."""
    return key // 2 * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128


def slot_for(key: int, answer: object, nbytes: int = 100, **more: object) -> Slot:
    tags = more.get("tags", ())
    weight = weight_of(canonical(key), nbytes, tags)  # type: ignore[arg-type]
    return Slot(digest(key), canonical(key), answer, weight, **more)  # type: ignore[arg-type]


class MemoryMachine(RuleBasedStateMachine):
    """Memory beside a plain dict of what was put and has not been reported gone."""

    @initialize(budget=st.sampled_from([3_000, 12_000, 100_000]))
    def start(self, budget: int) -> None:
        self.now = 1000.0
        self.answers = count()
        self.model: dict[bytes, Slot] = {}
        self.raws: tuple[Raws, Raws] = ({}, {})
        self.memory = Memory(budget, max_item_bytes=budget // 2, on_evict=self.gone)

    def gone(self, slot: Slot, why: Gone) -> None:
        assert self.model.pop(slot.canonical) is slot, "reported once, and only what was there"
        assert not slot.resident and slot.fresh_until == float("-inf")
        assert why != "expired" or slot.stale_until <= self.now
        assert all(pair[1] is not slot for raws in self.raws for pair in raws.values())

    @rule(
        key=KEYS,
        nbytes=st.sampled_from([0, 100, 1000, 5000]),
        ttl=st.sampled_from([0.0, 0.5, 10.0, 3600.0, float("inf")]),
        cost=st.sampled_from([0.0, 0.001, 1.0, 100.0]),
        tags=TAGS,
        scope=SCOPES,
    )
    def put(
        self, key: int, nbytes: int, ttl: float, cost: float, tags: tuple[str, ...], scope: bytes
    ) -> None:
        until = self.now + ttl
        slot = slot_for(
            key, next(self.answers), nbytes, cost=cost, created=self.now, fresh_until=until, stale_until=until,
            tags=tags, scope=scope,
        )  # fmt: skip
        # The model cannot know beforehand what the put itself evicts, so the newcomer enters it last.
        kept = self.memory.put(slot, self.now)
        assert slot.canonical not in self.model, "the older answer to this request is gone either way"
        if kept:
            self.model[slot.canonical] = slot
            found = self.memory.get(slot.digest, slot.canonical)
            assert found is slot, "read your writes"
        else:
            assert not slot.resident

    @rule(key=KEYS)
    def get(self, key: int) -> None:
        found = self.memory.get(digest(key), canonical(key))
        assert found is self.model.get(canonical(key))
        if found is not None:
            assert found.canonical == canonical(key)

    @rule(key=KEYS, form=st.integers(0, 30), table=st.integers(0, 1))
    def link(self, key: int, form: int, table: int) -> None:
        slot = self.model.get(canonical(key))
        if slot is not None:
            raw = b"raw %d of %d" % (form, key)
            linked = self.memory.link(slot, self.raws[table], form, raw)
            assert not linked or self.raws[table][form] == (raw, slot)

    @rule(table=st.integers(0, 1), form=st.integers(0, 30))
    def hit_by_raw_form(self, table: int, form: int) -> None:
        pair = self.raws[table].get(form)
        if pair is not None:
            assert self.model[pair[1].canonical] is pair[1]
            pair[1].hits += 1
            pair[1].used = self.now

    @rule(key=KEYS)
    def remove(self, key: int) -> None:
        slot = self.model.get(canonical(key))
        if slot is not None:
            self.memory.remove(slot)
            self.memory.remove(slot)  # once more is nothing
            assert self.memory.get(digest(key), canonical(key)) is None

    @rule(tag=st.sampled_from(["a", "b", "c", "unknown"]), limit=st.sampled_from([None, 0, 2]))
    def by_tag(self, tag: str, limit: int | None) -> None:
        expected = {slot for slot in self.model.values() if tag in slot.tags}
        found = self.memory.by_tag(tag, limit)
        assert (
            len(found) == len(set(found)) == (len(expected) if limit is None else min(limit, len(expected)))
        )
        assert set(found) <= expected

    @rule(scope=SCOPES, limit=st.sampled_from([None, 0, 2]))
    def by_scope(self, scope: bytes, limit: int | None) -> None:
        expected = {slot for slot in self.model.values() if slot.scope == scope}
        found = self.memory.by_scope(scope, limit)
        assert (
            len(found) == len(set(found)) == (len(expected) if limit is None else min(limit, len(expected)))
        )
        assert set(found) <= expected

    @rule(seconds=st.sampled_from([0.001, 1.0, 11.0, 4000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(limit=st.integers(0, 3))
    def sweep(self, limit: int) -> None:
        before = len(self.model)
        assert self.memory.sweep(self.now, limit) == before - len(self.model) <= limit

    @rule()
    def sweep_all(self) -> None:
        """What is past its time by a 16th of its lifetime is found by a sweep."""
        self.memory.sweep(self.now, 1000)
        for slot in self.model.values():
            assert slot.stale_until + (slot.stale_until - slot.created) / 16 + 1 / 32 >= self.now

    @precondition(lambda self: len(self.model) > 5)
    @rule()
    def clear(self) -> None:
        self.memory.clear()
        assert not self.model and not self.memory.bytes and not any(self.raws)

    @invariant()
    def intact(self) -> None:
        if hasattr(self, "memory"):
            self.memory.check()
            assert len(self.memory) == len(self.model) and set(self.memory) == set(self.model.values())
            assert self.memory.bytes <= self.memory.max_bytes
            held = Counter(pair[1] for raws in self.raws for pair in raws.values())
            assert set(held) <= set(self.model.values()) and max(held.values(), default=0) <= MAX_LINKS


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(
    max_examples=200, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


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
    memory.check()


def test_two_raw_forms_under_one_digest_never_share_an_answer() -> None:
    memory, (one, other) = memory_with(2, 4)
    raws: Raws = {}
    assert memory.link(one, raws, 7, b"one") and memory.link(other, raws, 7, b"other")
    assert raws == {7: (b"other", other)} and not one.links
    memory.remove(one)
    assert raws == {7: (b"other", other)}
    memory.remove(other)
    assert not raws


def test_a_slot_keeps_its_latest_raw_forms_only() -> None:
    memory, (slot,) = memory_with(2)
    raws: Raws = {}
    weight = slot.weight
    for form in range(100):
        assert memory.link(slot, raws, form, b"%04d" % form)
        memory.check()
    assert list(raws) == list(range(100 - MAX_LINKS, 100))
    assert slot.weight == weight + MAX_LINKS * weight_of_raw(b"0000")


def test_a_raw_form_may_be_a_text_and_is_weighed_at_its_widest() -> None:
    memory, (slot,) = memory_with(2)
    texts: Raws = {}
    assert memory.link(slot, texts, "größer 日本", "größer 日本")
    assert texts["größer 日本"][1] is slot
    memory.check()
    "größer 日本".encode()  # may make the object grow
    memory.remove(slot)
    assert not texts and memory.bytes == 0


def test_what_left_the_memory_cannot_be_linked() -> None:
    memory, (slot,) = memory_with(2)
    memory.remove(slot)
    raws: Raws = {}
    assert not memory.link(slot, raws, 1, b"raw") and not raws


@pytest.mark.parametrize("nbytes", [2_000, 200_000])
def test_too_heavy_an_item_is_refused_and_its_predecessor_forgotten(nbytes: int) -> None:
    memory = Memory(100_000, max_item_bytes=1_600)
    assert memory.put(slot_for(2, "old"), 0.0)
    assert not memory.put(slot_for(2, "new", nbytes), 0.0)
    assert memory.get(digest(2), canonical(2)) is None and len(memory) == 0
    memory.check()


def test_a_raw_form_that_makes_an_item_too_heavy_is_refused() -> None:
    memory = Memory(100_000, max_item_bytes=2_000)
    slot = slot_for(2, "answer", 500)
    raws: Raws = {}
    assert memory.put(slot, 0.0) and not memory.link(slot, raws, 1, bytes(5_000)) and not raws
    assert memory.get(digest(2), canonical(2)) is slot


def test_tags_count_against_the_budget() -> None:
    memory = Memory(20_000, max_item_bytes=20_000)
    slot = slot_for(2, "answer", tags=tuple(f"tag {i}" for i in range(100)))
    assert not memory.put(slot, 0.0) and memory.bytes == 0
    memory.check()


def test_a_large_item_takes_the_place_of_as_many_small_ones_as_it_needs() -> None:
    memory, _ = memory_with(*range(0, 100, 2))
    assert memory.put(slot_for(200, "large", 60_000), 1.0)
    memory.check()
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
    memory.check()
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
    memory.check()
    assert not wrong
    memory.clear()
    assert not raws
