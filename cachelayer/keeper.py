"""What is kept in process: recall, admission, freezing, tags, and invalidation that no late writer can undo."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import xxhash

from .call import MAX_LANES, Call, Function, Kept, Landing
from .durations import seconds as in_seconds
from .exact.admission import admit, tokens_of
from .exact.answers import Freezer, Frozen, NotKeepable
from .exact.canonical import encode
from .exact.memory import Memory, Slot, weight_of
from .flow.attempt import Faults
from .flow.recording import Replay
from .flow.tee import replay
from .protocols import Clock
from .types import Reason, Source

_LOG = 1024
"""Invalidations remembered for calls that were in flight when they were declared."""


@dataclass(frozen=True, slots=True)
class Invalidation:
    """What was declared invalid, and when in the order of declarations."""

    epoch: int
    tags: frozenset[str] = frozenset()
    scopes: frozenset[bytes] = frozenset()
    digest: int | None = None
    everything: bool = False

    def covers(self, tags: Iterable[str], scope: bytes, digest: int) -> bool:
        """Whether an answer under these tags, scope and key was declared invalid."""
        return (
            self.everything or digest == self.digest or scope in self.scopes or not self.tags.isdisjoint(tags)
        )


class Keeper:
    """The in-process tier behind one lock; hits through raw forms take none."""

    def __init__(
        self, *, clock: Clock, random: Callable[[], float], seed: int, faults: Faults,
        gone: Callable[[Slot], None],
    ) -> None:  # fmt: skip
        self.clock, self.random, self.seed, self.faults = clock, random, seed, faults
        self._gone = gone
        self._freezer = Freezer()
        self._scopes: dict[bytes, tuple[str, str | None]] = {}
        self._log: deque[Invalidation] = deque(maxlen=_LOG)
        self.memories: list[Memory] = []
        self.epoch = 0
        self._ids = 0
        self.reset()

    def reset(self) -> None:
        """A fresh lock: after a fork another thread's hold on the old one would last forever."""
        self.lock = threading.RLock()

    def memory(self, max_bytes: int, max_item_bytes: int) -> Memory:
        """A new in-process memory under this keeper's care."""
        memory = Memory(max_bytes, max_item_bytes=max_item_bytes, on_evict=lambda slot, why: self._gone(slot))
        self.memories.append(memory)
        return memory

    def new_id(self) -> str:
        """An id for an outcome that no entry stands behind."""
        self._ids += 1
        return f"o{self._ids:x}"

    def digest(self, canonical: bytes) -> int:
        """Where to look for an entry; the canonical bytes prove it."""
        return xxhash.xxh3_128_intdigest(canonical, self.seed)

    # reading -----------------------------------------------------------------------------------------------------

    def peek(self, call: Call) -> Slot | None:
        """The call's slot, fresh or stale, nothing counted."""
        slot = call.function.memory.get(call.digest, call.canonical)
        if slot is not None:
            slot.hits -= 1
        return slot

    def recall(self, call: Call, now: float) -> tuple[Landing | None, Reason]:
        """What the memory answers: a fresh entry, a stale one that may be served, or the reason for neither."""
        tightening, policy = call.tightening, call.policy
        if tightening.no_cache:
            return None, Reason.NO_CACHE
        slot = call.function.memory.get(call.digest, call.canonical)
        if slot is None:
            return None, Reason.ABSENT
        age = now - slot.created
        if tightening.max_age is not None and age > tightening.max_age:
            return None, Reason.EXPIRED
        kept: Kept = slot.meta
        if now < kept.fresh_until:
            if policy.refresh_ahead and self._refresh_early(slot, now):
                return self.landing(slot, Source.STALE, now), Reason.EXPIRED
            self._link(call, slot)
            return self.landing(slot, Source.MEMORY, now), Reason.EXPIRED
        call.stale = slot
        if now < kept.fresh_until + call.function.revalidate:
            return self.landing(slot, Source.STALE, now), Reason.EXPIRED
        return None, Reason.EXPIRED

    def _refresh_early(self, slot: Slot, now: float) -> bool:
        """XFetch with beta 1 (Vattani et al., "Optimal Probabilistic Cache Stampede Prevention", VLDB 2015)."""
        ahead = -slot.cost * math.log(1.0 - self.random())
        return bool(now + ahead >= slot.meta.fresh_until)

    def landing(self, slot: Slot, source: Source, now: float) -> Landing:
        """A slot as a landing."""
        kept: Kept = slot.meta
        landing = Landing(source)
        landing.frozen, landing.id, landing.age = slot.answer, f"e{slot.id:x}", now - slot.created
        landing.seconds, landing.tokens, landing.slot = slot.cost, kept.tokens, slot
        return landing

    # writing -----------------------------------------------------------------------------------------------------

    def keep(self, call: Call, answer: Any, seconds: float) -> Landing:
        """Freeze the backend's answer for riders and keep it where it may be kept."""
        landing = Landing(Source.BACKEND)
        landing.answer, landing.seconds = answer, seconds
        function = call.function
        try:
            landing.frozen = self._freezer.freeze(answer, share=function.share)
        except NotKeepable as fault:
            return self._refuse(call, landing, fault.reason)
        reason = self._admit(call, answer)
        if reason is not None:
            return self._refuse(call, landing, reason)
        landing.tokens = tokens_of(answer)
        return self._put(call, landing, answer, landing.frozen.nbytes)

    @staticmethod
    def answer_of(slot: Slot) -> Any:
        """A slot's answer; of a stored stream the list of its chunks."""
        frozen: Frozen = slot.answer
        return (
            [chunk.answer() for chunk in frozen.value] if frozen.thaw in (Replay, replay) else frozen.answer()
        )

    def freeze_chunk(self, call: Call, chunk: Any) -> Frozen:
        """A stream's chunk, frozen; raises NotKeepable, which the stream's readers see."""
        return self._freezer.freeze(chunk, share=call.function.share)

    def keep_stream(self, call: Call, chunks: list[Frozen], seconds: float, landing: Landing) -> None:
        """Keep a stream that ended well."""
        answer = [chunk.answer() for chunk in chunks]
        landing.seconds = seconds
        reason = self._admit(call, answer)
        if reason is not None:
            self._refuse(call, landing, reason)
            return
        landing.tokens = tokens_of(answer)
        nbytes = 56 + sum(8 + chunk.nbytes for chunk in chunks)
        landing.frozen = Frozen(tuple(chunks), replay if call.function.plain else Replay, nbytes)
        self._put(call, landing, answer, nbytes)

    def _admit(self, call: Call, answer: Any) -> Reason | None:
        policy = call.policy
        if call.tightening.no_store:
            return Reason.NO_STORE
        reason = admit(answer, truncated_ok=policy.keep_truncated)
        if reason is None and policy.cache_if is not None:
            allowed = self.faults.attempt_now("cache_if", lambda: policy.cache_if(answer))  # type: ignore[misc]
            reason = allowed if isinstance(allowed, Reason) else None if allowed else Reason.VETOED
        return reason

    def _put(self, call: Call, landing: Landing, answer: Any, answer_bytes: int) -> Landing:
        function, policy = call.function, call.policy
        ttl = function.ttl if function.ttl is not None else self._ttl(policy.ttl, answer)
        if ttl <= 0:
            return self._refuse(call, landing, Reason.TTL_ZERO)
        ttl *= 1.0 - policy.ttl_jitter * self.random()
        tags = function.tags_of(call.args, call.kwargs) if function.tags else ()
        scope = function.scopes.get(call.tenant) or self._scope(function, call.tenant)
        now = self.clock.monotonic()
        fresh = now + ttl
        ahead = min(10 * landing.seconds, 0.1 * ttl) if policy.refresh_ahead else 0.0
        spare = max(function.revalidate, function.if_error)
        self._ids += 1
        slot = Slot(
            call.digest, call.canonical, landing.frozen, weight_of(call.canonical, answer_bytes, tags),
            cost=landing.seconds, created=now, fresh_until=fresh - ahead, stale_until=fresh + spare,
            tags=tags, scope=scope, id=self._ids, meta=Kept(function, fresh, landing.tokens),
        )  # fmt: skip
        landing.id = f"e{slot.id:x}"
        with self.lock:
            if call.epoch != self.epoch and self._invalidated_since(call.epoch, tags, scope, call.digest):
                return self._refuse(call, landing, Reason.INVALIDATED)
            if not function.memory.put(slot, now):
                return self._refuse(call, landing, Reason.OVERSIZE)
        landing.slot = slot
        return landing

    def _ttl(self, ttl: Any, answer: Any) -> float:
        given = self.faults.attempt_now("ttl", lambda: in_seconds("ttl(answer)", ttl(answer)))
        return 0.0 if isinstance(given, Reason) else given

    def _refuse(self, call: Call, landing: Landing, reason: Reason) -> Landing:
        landing.stored = reason
        landing.id = landing.id or self.new_id()
        call.function.stats.kept_out[reason] += 1
        return landing

    def _link(self, call: Call, slot: Slot) -> None:
        """Let the call's raw form lead straight to its entry next time."""
        function = call.function
        if function.linkable:
            with self.lock:
                function.lane_of(call.tenant).link(function.memory, slot, call.args, call.kwargs)

    def _scope(self, function: Function, tenant: str | None) -> bytes:
        scope = encode([function.name, tenant])
        if len(function.scopes) < MAX_LANES:
            function.scopes[tenant] = scope
        with self.lock:
            self._scopes.setdefault(scope, (function.name, tenant))
        return scope

    # invalidation ------------------------------------------------------------------------------------------------

    @staticmethod
    def declared(**what: Any) -> Invalidation:
        """An invalidation that is only looked at (a dry run)."""
        return Invalidation(0, **what)

    def declare(self, **what: Any) -> Invalidation:
        """From now on nothing that was being answered before may be kept under what is given."""
        with self.lock:
            self.epoch += 1
            declared = Invalidation(self.epoch, **what)
            self._log.append(declared)
            return declared

    def _invalidated_since(self, epoch: int, tags: tuple[str, ...], scope: bytes, digest: int) -> bool:
        if self._log and self._log[0].epoch > epoch + 1:
            return True  # the log does not reach back that far
        return any(i.covers(tags, scope, digest) for i in self._log if i.epoch > epoch)

    def scopes(self, wanted: Mapping[str, str | None]) -> list[bytes]:
        """The scopes with this "function", this "tenant", or both; a tenant of None is nobody's."""
        with self.lock:
            return [
                scope
                for scope, (function, tenant) in self._scopes.items()
                if wanted.get("function", function) == function and wanted.get("tenant", tenant) == tenant
            ]

    def matching(self, invalidation: Invalidation) -> Iterator[tuple[Memory, Slot]]:
        """The slots that an invalidation covers, found through the indexes."""
        for memory in self.memories:
            with self.lock:
                if invalidation.everything:
                    slots = tuple(memory)
                else:
                    groups = [memory.by_tag(t) for t in invalidation.tags]
                    groups += [memory.by_scope(s) for s in invalidation.scopes]
                    slots = tuple(dict.fromkeys(slot for group in groups for slot in group))
            for slot in slots:
                yield memory, slot

    def forget_call(self, call: Call) -> int:
        """Forget one call's answer, and keep none that is being made now; 0 or 1."""
        if call.identity is None:
            return 0
        self.declare(digest=call.digest)
        slot = self.peek(call)
        if slot is not None:
            self.drop(call.function.memory, slot)
        return int(slot is not None)

    def by_id(self, entry: str) -> tuple[Memory, Slot] | None:
        """The entry of an outcome's id; O(entries), for what an owner does by hand."""
        for memory in self.memories:
            with self.lock:
                for slot in memory:
                    if f"e{slot.id:x}" == entry:
                        return memory, slot
        return None

    def drop(self, memory: Memory, slot: Slot) -> None:
        """Forget one slot."""
        with self.lock:
            memory.remove(slot)
