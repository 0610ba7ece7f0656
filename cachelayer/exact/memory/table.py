"""The in-process exact tier: a table of slots, bounded in bytes. Synchronous, pure, the clock handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from heapq import heappop, heappush
from math import frexp, ldexp
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from .eviction import Eviction
from .slot import BUCKET_OVERHEAD, GROUP_OVERHEAD, Slot, weight_of, weight_of_raw

__all__ = ["Gone", "Memory", "Raws", "Slot", "weight_of"]

Gone = Literal["evicted", "expired", "replaced", "removed", "cleared"]
"""Why a slot left the memory."""
Raws = dict[Any, tuple[Any, Slot]]
"""Raw forms (bytes by their digest, or a str by itself), compared by the reader, and the slot they lead to.

Only `Memory` writes to it."""

MAX_LINKS = 4
"""Raw forms kept per slot; the oldest gives way."""
_SWEEP = 4
_GONE = float("-inf")
_FOREVER = float("inf")
P = ParamSpec("P")
T = TypeVar("T")


def _buckets(lifetime: float) -> tuple[float, float, float]:
    """(least, most, width): buckets for lifetimes from least to below most, in seconds.

    They are 1/32 to 1/64 of the lifetime wide: few at a time, and no slot overstays by more than that.
    """
    exponent = max(frexp(lifetime)[1], 0) if lifetime > 0 else 0
    least = ldexp(0.5, exponent) if exponent else -_FOREVER
    return least, ldexp(1.0, exponent), ldexp(1.0, exponent - 6)


def _whole(change: Callable[Concatenate[Memory, P], T]) -> Callable[Concatenate[Memory, P], T]:
    """A change that is cut short, by want of memory or Ctrl-C, leaves tables that disagree: all is forgotten then."""

    @wraps(change)
    def changed(self: Memory, /, *args: P.args, **more: P.kwargs) -> T:
        if self._torn:
            self.clear()
        try:
            return change(self, *args, **more)
        except BaseException:
            self._torn = True
            raise

    return changed


class Memory:
    """Slots by digest of their canonical request, proved by comparing the canonical bytes.

    Every method that changes the memory (`put`, `link`, `remove`, `sweep`, `clear`) and the lookups by tag
    and scope need the caller's lock where several threads share it. `get`, and a hit that goes through a
    linked raw form without calling into this class, need none: nothing moves on a hit, and a slot that goes
    is stale, and no raw form leads to it, before its going is reported.

    An insertion evicts as many slots as it needs room for and sweeps a few that expired; there is no
    other work and no thread. `on_evict` is told of every slot that left; it must not call back.
    """

    def __init__(
        self, max_bytes: int, *, max_item_bytes: int, on_evict: Callable[[Slot, Gone], None] | None = None
    ) -> None:
        self.max_bytes, self.max_item_bytes = max_bytes, min(max_item_bytes, max_bytes)
        self._on_evict = on_evict
        self._width = _buckets(0.0)
        self._now = 0.0  # of the latest insertion
        self._policy = Eviction(max_bytes)
        self._begin()

    def _begin(self) -> None:
        self.bytes = 0
        """Weight of everything held, at most `max_bytes`."""
        self._table: dict[int, Slot] = {}
        self._scopes: dict[bytes, list[Slot]] = {}
        self._tags: dict[str, set[Slot]] = {}
        self._buckets: dict[float, list[Slot]] = {}
        self._dues: list[float] = []
        self._policy.clear()
        self._torn = False

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._table.values())

    def get(self, digest: int, canonical: bytes) -> Slot | None:
        """The slot of exactly this request, fresh or not, its hit counted."""
        slot = self._table.get(digest)
        if slot is None or slot.canonical != canonical or self._torn:
            return None
        slot.hits += 1
        slot.used = self._now
        return slot

    def at(self, digest: int) -> Slot | None:
        """The slot under a digest, fresh or not, without a comparison of the request; not counted as a hit."""
        return None if self._torn else self._table.get(digest)

    @_whole
    def put(self, slot: Slot, now: float) -> bool:
        """Keep `slot`, in place of one with the same digest, at the expense of the least valuable ones.

        False if it is too heavy, scope and tags included; the older answer to the same request is gone all the
        same. What was kept can be found at least until the next insertion.
        """
        table = self._table
        old = table.get(slot.digest)
        if old is slot:
            return True
        if self._dues and self._dues[0] <= now:
            self.sweep(now, _SWEEP)
            old = table.get(slot.digest)
        if old is not None:
            self._drop(old, "replaced")
        weight = slot.weight
        if weight + GROUP_OVERHEAD * (1 + len(slot.tags)) + len(slot.scope) > self.max_item_bytes:
            return False
        self._now = now
        slot.links = ()
        table[slot.digest] = slot
        self.bytes += weight
        self._enlist(slot, now)
        fits = self.bytes <= self.max_bytes or self._make_room()
        self._policy.add(slot, now, old is not None)
        if not fits:
            self._drop(slot, None)
        return fits

    @_whole
    def link(self, slot: Slot, raws: Raws, digest: int | str, raw: bytes | str) -> bool:
        """Let `raws[digest]` lead straight to `slot` for as long as it lives; False if it cannot.

        The raw form counts towards the slot's weight. A slot keeps a few raw forms; the oldest gives way.
        """
        weight = weight_of_raw(raw)
        if not slot.home or slot.weight + weight > self.max_item_bytes:
            return False
        held = raws.get(digest)
        if held is not None:
            if held[1] is slot and held[0] == raw:
                return True
            self._unlink(held[1], raws, digest)
        if len(slot.links) >= 2 * MAX_LINKS:
            self._unlink(slot, *slot.links[:2])
        slot.links += (raws, digest)
        raws[digest] = (raw, slot)
        self._policy.reweigh(slot, weight)
        self.bytes += weight
        return self.bytes <= self.max_bytes or (self._make_room() and slot.home != 0)

    @_whole
    def remove(self, slot: Slot) -> None:
        """Forget `slot`; nothing where it is gone already."""
        if slot.home:
            self._drop(slot, "removed")

    @_whole
    def by_tag(self, tag: str, limit: int | None = None) -> tuple[Slot, ...]:
        """A snapshot of the slots under `tag`, `limit` at most; O(their number)."""
        members = self._tags.get(tag, ())
        if limit is None or limit >= len(members):
            return tuple(members)
        return tuple(slot for slot, _ in zip(members, range(limit), strict=False))

    @_whole
    def scopes(self) -> tuple[bytes, ...]:
        """A snapshot of the scopes of all slots."""
        return tuple(self._scopes)

    @_whole
    def by_scope(self, scope: bytes, limit: int | None = None) -> tuple[Slot, ...]:
        """A snapshot of the slots of `scope`, `limit` at most; O(their number)."""
        return tuple(self._scopes.get(scope, ())[:limit])

    @_whole
    def sweep(self, now: float, limit: int) -> int:
        """Remove up to `limit` slots past their `stale_until`; returns how many. Amortized O(that many)."""
        dues, buckets, gone = self._dues, self._buckets, 0
        while dues and dues[0] <= now and gone < limit:
            bucket = buckets[dues[0]]
            if bucket:
                self._drop(bucket[-1], "expired")
                gone += 1
            else:
                del buckets[heappop(dues)]
                self.bytes -= BUCKET_OVERHEAD
        return gone

    def clear(self) -> None:
        """Forget everything, however the tables were left; O(n), because every raw form must vanish from its dict."""
        self._torn = True
        for slot in self._table.values():
            self._leave(slot, "cleared")
        self._begin()

    def _make_room(self) -> bool:
        """Evict until the budget holds; False if nothing is left to evict and it does not."""
        while self.bytes > self.max_bytes:
            victim = self._policy.evict(self._now)
            if victim is None:
                return False
            self._drop(victim, "evicted")
        return True

    def _enlist(self, slot: Slot, now: float) -> None:
        """Enter a new slot under its scope, tags and time of expiry."""
        members = self._scopes.get(slot.scope)
        if members is None:
            members = self._scopes[slot.scope] = []
            self.bytes += GROUP_OVERHEAD + len(slot.scope)
        else:
            slot.scope = members[0].scope  # one object for all
        slot.seat = len(members)
        members.append(slot)
        if slot.tags:
            self._tag(slot)
        ends = slot.stale_until
        least, most, width = self._width
        if not least <= ends - now < most:
            if ends == _FOREVER:
                slot.due = ends
                return
            _, _, width = self._width = _buckets(ends - now)
        slot.due = due = ((ends if ends > now else now) // width + 1.0) * width
        bucket = self._buckets.get(due)
        if bucket is None:
            bucket = self._buckets[due] = []
            heappush(self._dues, due)
            self.bytes += BUCKET_OVERHEAD
        slot.place = len(bucket)
        bucket.append(slot)

    def _tag(self, slot: Slot) -> None:
        for tag in slot.tags:
            tagged = self._tags.get(tag)
            if tagged is None:
                tagged = self._tags[tag] = set()
                self.bytes += GROUP_OVERHEAD + 4 * len(tag)
            tagged.add(slot)

    def _drop(self, slot: Slot, why: Gone | None) -> None:
        slot.fresh_until = _GONE
        if slot.home:
            self._policy.remove(slot)
        self.bytes -= slot.weight
        members = self._scopes[slot.scope]
        last = members.pop()
        if last is not slot:
            members[slot.seat] = last
            last.seat = slot.seat
        elif not members:
            del self._scopes[slot.scope]
            self.bytes -= GROUP_OVERHEAD + len(slot.scope)
        for tag in slot.tags:
            tagged = self._tags.get(tag)
            if tagged is not None:  # None if the slot bore the tag twice
                tagged.discard(slot)
                if not tagged:
                    del self._tags[tag]
                    self.bytes -= GROUP_OVERHEAD + 4 * len(tag)
        if slot.due < _FOREVER:
            bucket = self._buckets[slot.due]
            last = bucket.pop()
            if last is not slot:
                bucket[slot.place] = last
                last.place = slot.place
        self._leave(slot, why)
        del self._table[slot.digest]

    def _leave(self, slot: Slot, why: Gone | None) -> None:
        """Let nobody find `slot`, and tell of its going: where that fails, it is told again with all others."""
        slot.fresh_until = _GONE
        slot.home = 0
        if links := slot.links:
            for i in range(0, len(links), 2):
                links[i].pop(links[i + 1], None)
            slot.links = ()
        if why is not None and self._on_evict is not None:
            self._on_evict(slot, why)

    def _unlink(self, slot: Slot, raws: Raws, digest: int | str) -> None:
        links = slot.links
        for i in range(0, len(links), 2):
            if links[i] is raws and links[i + 1] == digest:
                weight = weight_of_raw(raws.pop(digest)[0])
                slot.links = links[:i] + links[i + 2 :]
                self._policy.reweigh(slot, -weight)
                self.bytes -= weight
                return
