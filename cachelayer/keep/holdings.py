"""All in-process entries of a layer, by tag, scope and id, and what was invalidated; behind one lock."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from ..exact.keys.canonical import compact, decode, encode
from ..exact.memory.table import Gone, Memory, Slot
from ..flow import forks
from ..flow.deferred import Deferred
from .call import MAX_TENANTS, Call, Function
from .ids import number_of
from .invalidation import Invalidation, Wanted, within

STEP = 256
"""Entries forgotten in one turn of the loop, which takes two milliseconds."""
_LOG = 1024
"""Invalidations of scopes remembered for calls that were in flight when they were declared."""
_NAMED = 16_384
"""Tags and keys remembered for the same, of which there may be many: of each answer replaced elsewhere, too."""


class Holdings:
    """The memories and their common bookkeeping. Hits through raw forms take no lock."""

    def __init__(self, gone: Callable[[Slot], None], deferred: Deferred) -> None:
        self._gone, self.deferred = gone, deferred
        self.lock = forks.whole_lock()
        self._names: set[str] = set()
        self._log: deque[Invalidation] = deque()
        self._named: dict[str | int, int] = {}
        """Tags, and digests of keys, whose answers were declared invalid, and the epoch of it; in the order of it."""
        self._past = self.unheard = 0
        """Epochs of the latest invalidation no longer in the log, and of the latest `unheard` one."""
        self._memories: list[Memory] = []
        self.gone: Counter[Gone] = Counter()
        """How many entries left a memory, by reason."""
        self.epoch = 0
        self.reset()

    def reset(self) -> None:
        """After a fork, what was put off is the parent's.

        Ids begin where no other process's do, because an id from one process may be given to any other.
        """
        self.deferred.reset()
        self._ids = self.first_id = int.from_bytes(os.urandom(4)) >> 1 << 32

    def ids_from(self, first: int, *, afresh: bool = False) -> None:
        """Give ids above `first` and, unless `afresh`, above all given so far: those below are an earlier run's."""
        self._ids = self.first_id = first if afresh else max(first, self._ids)

    def new_id(self) -> int:
        """A new id, for an entry or for an outcome without one."""
        self._ids += 1
        return self._ids

    @property
    def memories(self) -> list[Memory]:
        """All memories, with all answers so far in them."""
        self.deferred.settle()
        return self._memories

    def memory(self, max_bytes: int, max_item_bytes: int) -> Memory:
        """A new in-process memory under this keeper's care."""
        memory = Memory(max_bytes, max_item_bytes=max_item_bytes, on_evict=self._left)
        self._memories.append(memory)
        return memory

    def _left(self, slot: Slot, why: Gone) -> None:
        self.gone[why] += 1
        self._gone(slot)

    def scope_of(self, function: Function, tenant: str | None) -> bytes:
        scope = compact(encode([function.name, tenant]))
        if len(function.scopes) < MAX_TENANTS:
            function.scopes[tenant] = scope
        self._names.add(function.name)
        return scope

    @staticmethod
    def function_of(scope: bytes) -> str:
        """The name of the function whose answers lie under a scope."""
        return str(decode(scope)[0]) if scope else ""

    @staticmethod
    def tenant_of(scope: bytes) -> str | None:
        """The tenant whose answers lie under a scope."""
        tenant: str | None = decode(scope)[1] if scope else None
        return tenant

    def declared(
        self, wanted: Iterable[Wanted] = (), scopes: Iterable[bytes] = (), **what: Any
    ) -> Invalidation:
        """An invalidation that is described, not declared: for dry runs, and for what follows a declared one."""
        held = (scope for one in wanted for scope in self.scopes(one))
        return Invalidation(0, scopes=frozenset((*scopes, *held)), wanted=tuple(wanted), **what)

    def declare(self, **what: Any) -> Invalidation:
        """Declare an invalidation: from now on, no covered answer whose making began before may be kept."""
        self.deferred.settle()
        with self.lock:
            self.epoch += 1
            declared = replace(self.declared(**what), epoch=self.epoch)
            if declared.unheard:
                self.unheard = self.epoch
                return declared
            self._name(declared.tags)
            if declared.everything or declared.scopes or declared.wanted:
                if len(self._log) == _LOG:
                    self._past = max(self._past, self._log.popleft().epoch)
                self._log.append(declared)
            return declared

    def declare_key(self, digest: int) -> None:
        """`declare` for the answer under one key."""
        self.deferred.settle()
        with self.lock:
            self.epoch += 1
            self._name((digest,))

    def _name(self, declared: Iterable[str | int]) -> None:
        for one in declared:
            self._named.pop(one, None)
            if len(self._named) == _NAMED:
                self._past = max(self._past, self._named.pop(next(iter(self._named))))
            self._named[one] = self.epoch

    def invalidated_since(self, epoch: int, tags: tuple[str, ...], scope: bytes, digest: int) -> bool:
        """Whether an answer begun in `epoch` was declared invalid since, or may have been while nobody listened."""
        return epoch < self.unheard or self._declared_since(epoch, tags, scope, digest)

    def _declared_since(self, epoch: int, tags: tuple[str, ...], scope: bytes, digest: int) -> bool:
        if epoch < self._past:  # they do not reach back that far
            return True
        named = self._named
        if named.get(digest, 0) > epoch or any(named.get(tag, 0) > epoch for tag in tags):
            return True
        return any(i.covers(tags, scope, digest) for i in self._log if i.epoch > epoch)

    def gone_since(self, read: Mapping[str, int]) -> dict[str, int]:
        """Which of these tags were, or may have been, invalidated after the epoch in which each was read."""
        first = min(read.values(), default=self.epoch)
        if first >= self.epoch:
            return {}
        with self.lock:
            everything = max([one.epoch for one in self._log if one.everything], default=0)
            unknown = max(self._past, self.unheard, everything)
            return {tag: at for tag, at in read.items() if at < max(unknown, self._named.get(tag, 0))}

    def outdated(self, made: Slot, held: Slot | None, epoch: int) -> bool:
        """Whether `made`, begun in `epoch`, is invalid by now, or `held` was begun later, by a refresh."""
        if held is not None and held.created - held.cost > made.created - made.cost:
            return True
        return epoch != self.epoch and self._declared_since(epoch, made.tags, made.scope, made.digest)

    def travels(self, call: Call, slot: Slot) -> bool:
        """Whether a kept answer may leave the process: it is in memory, or would be if there were one, or if somebody
        here had listened."""
        unkept = not call.function.in_memory or call.epoch < self.unheard
        return slot.resident or (unkept and not self.outdated(slot, None, call.epoch))

    def scopes(self, wanted: Wanted) -> list[bytes]:
        """The scopes selected by `wanted` of which something may be held."""
        with self.lock:
            names = [wanted["function"]] if "function" in wanted else list(self._names)
            if "tenant" in wanted:
                return [compact(encode([name, wanted["tenant"]])) for name in names]
            held = [scope for memory in self._memories for scope in memory.scopes()]
        if "function" not in wanted:
            return held
        begins = encode([wanted["function"]])[:-1]
        return [
            scope for scope in held if scope.startswith(begins) or (scope[0] == 0 and within(scope, wanted))
        ]

    def matching(self, invalidation: Invalidation) -> Iterator[Slot]:
        """The slots that an invalidation covers, found through the indexes; some of them repeatedly."""
        for memory in self.memories:
            with self.lock:
                if invalidation.everything:
                    groups = [tuple(memory)]
                else:
                    groups = [memory.by_tag(t) for t in invalidation.tags]
                    groups += [memory.by_scope(s) for s in invalidation.scopes]
            yield from chain.from_iterable(groups)

    async def forget(self, **what: Any) -> int:
        """Declare invalid and carry it out, in steps between which the loop runs; returns how many entries went.

        Both once more at the end: calls begun meanwhile, in other threads even in one step, may have read what was not
        gone yet, and have kept what they made of it. A step that is not full left nothing: to wait for an empty one
        could take forever, since answers are made meanwhile.
        """
        declared, gone = self.declare(**what), 0
        while (step := self._carry_out(declared, STEP)) == STEP:
            gone += step
            await asyncio.sleep(0)
        return gone + step + self._carry_out(self.declare(**what), sys.maxsize)

    def forget_now(self, **what: Any) -> int:
        """`forget` in two steps, for callers that cannot await."""
        return sum(self._carry_out(self.declare(**what), sys.maxsize) for _ in range(2))

    def forget_all(self, *, unheard: bool) -> None:
        """Declare everything invalid and forget it, as `forget` does, for when no loop runs."""
        for _ in range(2):
            self.declare(everything=True, unheard=unheard)
            for memory in self.memories:
                with self.lock:
                    memory.clear()

    def _carry_out(self, invalidation: Invalidation, limit: int) -> int:
        """Forget up to `limit` slots that an invalidation covers; returns how many. 0: all are gone."""
        gone = 0
        for memory in self.memories:
            with self.lock:
                for slot in self._some(memory, invalidation, limit - gone):
                    memory.remove(slot)
                    gone += 1
        return gone

    @staticmethod
    def _some(memory: Memory, invalidation: Invalidation, limit: int) -> list[Slot]:
        if invalidation.everything:
            return list(islice(memory, limit))
        found = dict[Slot, None]()
        for tag in invalidation.tags:
            found.update(dict.fromkeys(memory.by_tag(tag, limit)))
        for scope in invalidation.scopes:
            found.update(dict.fromkeys(memory.by_scope(scope, limit)))
        return list(islice(found, limit))

    def forget_call(self, call: Call) -> int:
        """Forget one call's answer, and do not keep one that is being made now; returns 0 or 1. What was built on it
        stays: see `Tiers.forget`."""
        self.declare_key(call.digest)
        slot = self.peek(call)
        if slot is not None:
            self.drop(call.function.memory, slot)
        return int(slot is not None)

    def at(self, call: Call) -> Slot | None:
        """The slot under a call's digest, without a comparison of the request; not counted as a hit."""
        if call.digest in self.deferred.due:
            self.deferred.settle()
        return call.function.memory.at(call.digest)

    def peek(self, call: Call) -> Slot | None:
        """The call's slot, fresh or stale; not counted as a hit."""
        slot = self.at(call)
        return slot if slot is not None and slot.canonical == call.canonical else None

    def drop_digest(self, digest: int) -> None:
        """Forget what lies under a digest, in every memory, and keep none that is being made now."""
        self.declare_key(digest)
        self.let_go(digest)

    def let_go(self, digest: int) -> None:
        """Forget what lies under a digest, in every memory; what is being made now may be kept."""
        for memory in self.memories:
            if (slot := memory.at(digest)) is not None:
                self.drop(memory, slot)

    def by_id(self, entry: str) -> tuple[Memory, Slot] | None:
        """The entry named by an outcome's id; O(entries), for operations done by hand."""
        wanted = number_of(entry)
        for memory in self.memories:
            with self.lock:
                for slot in memory:
                    if slot.origin == wanted:
                        return memory, slot
        return None

    def holds(self, digest: int) -> bool:
        """Whether a memory has an answer under a digest."""
        return any(memory.at(digest) is not None for memory in self.memories)

    def drop(self, memory: Memory, slot: Slot) -> None:
        """Forget one slot."""
        with self.lock:
            memory.remove(slot)
