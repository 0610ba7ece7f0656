"""The in-process memory: never a wrong answer, never over its budget, nothing left behind."""

from __future__ import annotations

from collections import Counter
from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from memory_slots import canonical, digest, slot_for

from cachelayer.exact.memory.invariants import check
from cachelayer.exact.memory.table import MAX_LINKS, Gone, Memory, Raws, Slot

KEYS = st.integers(0, 19)
TAGS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple)
SCOPES = st.sampled_from([b"", b"one", b"two"])


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
            assert linked is (self.raws[table].get(form) == (raw, slot))

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
            check(self.memory)
            assert len(self.memory) == len(self.model) and set(self.memory) == set(self.model.values())
            assert self.memory.bytes <= self.memory.max_bytes
            held = Counter(pair[1] for raws in self.raws for pair in raws.values())
            assert set(held) <= set(self.model.values()) and max(held.values(), default=0) <= MAX_LINKS


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(
    max_examples=200, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
