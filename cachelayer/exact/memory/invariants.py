"""What holds of a memory after each change, whole or cut short; for tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from .slot import BUCKET_OVERHEAD, GROUP_OVERHEAD
from .table import MAX_LINKS, Memory

_FOREVER = float("inf")


def check(memory: Memory) -> None:
    """Raise AssertionError naming the first invariant that does not hold; O(n)."""
    for name, holds in chain(_invariants(memory), memory._policy.invariants(list(memory))):
        if not holds:
            raise AssertionError(name)


def _invariants(memory: Memory) -> Iterator[tuple[str, bool]]:
    for digest, slot in memory._table.items():
        yield "table", slot.digest == digest and slot.home != 0
        yield "scope", memory._scopes[slot.scope][slot.seat] is slot
        yield "bucket", slot.due == _FOREVER or memory._buckets[slot.due][slot.place] is slot
        yield "tags", all(slot in memory._tags[tag] for tag in slot.tags)
        yield "links", len(slot.links) <= 2 * MAX_LINKS
        raws = zip(slot.links[::2], slot.links[1::2], strict=True)
        yield "raws", all(raw[digest][1] is slot for raw, digest in raws)
    slots = list(memory)
    yield "scopes", sum(map(len, memory._scopes.values())) == len(slots) and all(memory._scopes.values())
    timed = sum(slot.due < _FOREVER for slot in slots)
    yield "buckets", sum(map(len, memory._buckets.values())) == timed
    yield "dues", sorted(memory._dues) == sorted(memory._buckets)
    tagged = sum(len(set(slot.tags)) for slot in slots)
    yield "tagged", sum(map(len, memory._tags.values())) == tagged and all(memory._tags.values())
    weight = sum(slot.weight for slot in slots) + BUCKET_OVERHEAD * len(memory._buckets)
    weight += sum(GROUP_OVERHEAD + len(scope) for scope in memory._scopes)
    weight += sum(GROUP_OVERHEAD + 4 * len(tag) for tag in memory._tags)
    yield (
        f"{memory.bytes} bytes, {weight} weighed, {memory.max_bytes} allowed",
        (memory.bytes == weight <= memory.max_bytes),
    )
