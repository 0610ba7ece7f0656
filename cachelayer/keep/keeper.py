"""Reads and writes the in-process tier: admission, freezing, freshness."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import xxhash

from ..exact.answers.admission import admit, tokens_of
from ..exact.answers.freezer import Freezer
from ..exact.answers.frozen import Frozen, NotKeepable
from ..exact.answers.tape import Alike, Run, Tape
from ..exact.memory.refresh import refresh_due
from ..exact.memory.table import Slot, weight_of
from ..exact.wire.codec import Chunks
from ..flow.attempt import Faults
from ..flow.deferred import Deferred
from ..protocols import Clock
from ..types import Reason, Record, Source
from .call import Call, Function, Landing
from .holdings import Holdings
from .ids import entry_id
from .parts import end_of, made_of, tags_with
from .streams import replay_of, seen_of, short, stream_of, whole
from .terms import lifetime, own_tags, staleness, vetoed

_log = logging.getLogger("cachelayer")
BACKEND, MEMORY, REDIS, STALE = Source.BACKEND, Source.MEMORY, Source.REDIS, Source.STALE
ABSENT, EXPIRED, NO_CACHE = Reason.ABSENT, Reason.EXPIRED, Reason.NO_CACHE
OFF, OVERSIZE = Reason.OFF, Reason.OVERSIZE
"""Each look at an enum's member costs 0.1 us in Python 3.11."""
_LARGE = "an answer, with its arguments, is larger than {1}={0:,}: raise it, or return less"


class Keeper(Holdings):
    """The in-process tier: what it recalls, what it admits, how it is kept."""

    def __init__(
        self,
        *,
        clock: Clock,
        random: Callable[[], float],
        seed: int,
        faults: Faults,
        gone: Callable[[Slot], None],
    ) -> None:
        super().__init__(gone, Deferred(faults))
        self.clock, self.random, self.seed, self.faults = clock, random, seed, faults
        self._now, self._guard = clock.monotonic, faults.guard("keep")
        self.digest = partial(xxhash.xxh3_128_intdigest, seed=seed)
        """Finds an entry by its canonical bytes; comparing these proves it."""
        self._freezer = Freezer()
        self._warned: set[str] = set()

    def id_of(self, call: Call, landing: Landing) -> str:
        """The id of an outcome: of the entry behind it; of its key, if only the store holds it; else one of its own."""
        slot, away = landing.slot, landing.source in (REDIS, STALE)
        if slot is not None:
            away = not slot.resident and slot.digest == call.digest
        if landing.stored is None and (away or not call.function.in_memory):
            return f"k{call.digest:032x}"
        if slot is not None:
            return entry_id(slot.origin, slot.digest, call.tenant)
        landing.entry = landing.entry or self.new_id()
        if landing.recording is None and landing.due is None:
            return f"o{landing.entry:x}"
        return entry_id(landing.entry, landing.digest or call.digest, call.tenant)

    # reading -----------------------------------------------------------------------------------------------------

    def recall(self, call: Call, now: float, *, link: bool = True) -> Landing | None:
        """What the memory answers: a fresh entry, or a stale one that may be served; else None.

        The call notes the reason of a miss, and how long keying and lookup took. `link`: let its raw form lead to the
        entry from now on; not after a wait, during which its arguments may have been changed.
        """
        function, landing = call.function, None
        if call.digest in self.deferred.due:
            self.deferred.settle()
        if call.tightening.no_cache:
            call.misses["memory"] = NO_CACHE
        elif (slot := function.memory.get(call.digest, call.canonical)) is None:
            call.misses["memory"] = ABSENT if function.in_memory else OFF
        elif (landing := self._usable(call, slot, now, link)) is None:
            call.misses["memory"] = EXPIRED
        call.timings["memory"] = self._now() - now
        return landing

    def _usable(self, call: Call, slot: Slot, now: float, link: bool) -> Landing | None:
        function, oldest = call.function, call.tightening.max_age
        if oldest is not None and now - slot.created > oldest:
            return None
        if now < slot.ends:
            # popular entries are refreshed shortly before they expire, by a reader drawn at random
            ahead = function.policy.refresh_ahead
            if ahead and refresh_due(now, slot.ends, slot.cost, 1.0 - self.random()):
                return self.landing(slot, STALE, now)
            if link:
                self._link(call, slot)
            return self.landing(slot, MEMORY, now)
        call.stale = slot
        served = now < slot.ends + staleness(call, function.revalidate)
        return self.landing(slot, STALE, now) if served else None

    def landing(self, slot: Slot, source: Source, now: float) -> Landing:
        """A slot as a landing."""
        landing = Landing(source)
        landing.frozen, landing.age = slot.answer, now - slot.created
        landing.seconds, landing.slot = slot.cost, slot
        return landing

    def tokens(self, function: Function, landing: Landing) -> int:
        """Tokens that an answer reports; for a kept answer they are read when first asked for."""
        return landing.tokens if landing.slot is None else self.tokens_of(function, landing.slot)

    def tokens_of(self, function: Function, slot: Slot) -> int:
        """Tokens that a kept answer reports."""
        if slot.tokens is not None:
            return slot.tokens
        found = self.faults.attempt_now("view", lambda: tokens_of(seen_of(function, slot.answer)))
        slot.tokens = tokens = 0 if isinstance(found, Reason) else found
        return tokens

    # writing -----------------------------------------------------------------------------------------------------

    def weigh(self, call: Call, landing: Landing) -> bool:
        """Freeze the backend's answer, for riders and for `place`, unless it is too large; whether it may be kept."""
        answer, function = landing.answer, call.function
        try:
            limit = function.memory.max_item_bytes or function.policy.max_item_bytes
            landing.frozen = self._freezer.freeze(answer, share=function.share, limit=limit)
            reason = self._admit(call, answer) if call.judged is None else self.judge(call, answer)
        except NotKeepable as fault:
            reason = self.unkeepable(call, fault)
            if reason is OVERSIZE:
                reason = self.judge(call, answer) or reason
        if reason is not None:
            self.refuse(call, landing, reason)
        return reason is None

    def judge(self, call: Call, answer: Any) -> Reason | None:
        """Why an answer must not be kept, judging by the answer and its caller; `weigh` later reuses the verdict."""
        if call.judged is None or call.judged[0] is not answer:
            call.judged = answer, self._admit(call, answer)
        return call.judged[1]

    def freezing(self, call: Call) -> Callable[[Any], Frozen | Alike]:
        """Freezes the chunks of one stream; raises NotKeepable."""
        return Tape(partial(self._freezer.freeze, share=call.function.share)).freeze

    def keep_stream(self, call: Call, chunks: list[Frozen | Alike], seconds: float, landing: Landing) -> None:
        """Keep a stream that ended well."""
        function, landing.seconds = call.function, seconds
        function.stats.streamed(seconds)
        landing.frozen = stream = stream_of(chunks, plain=function.plain)
        seen = whole(stream) if function.policy.cache_if is not None else short(stream, function.joins)
        if (reason := self._admit(call, seen)) is not None:
            self.refuse(call, landing, reason)
            return
        if function.ttl_reads and function.policy.cache_if is None:
            seen = whole(stream)
        self.place(call, landing, seen, self.clock.monotonic())

    def brought(self, call: Call, record: Record, answer: Any, wall: float, *, riders: bool) -> Landing:
        """What another process made, its `answer` just decoded, as a landing; also kept in memory if possible.

        `wall`: now, in Unix seconds. `riders`: others may need answers made from it.
        """
        landing = Landing(REDIS if wall < record.fresh_until else STALE)
        landing.answer, landing.age = answer, max(wall - record.created, 0.0)  # clocks jump
        landing.seconds, landing.tokens = record.seconds, record.tokens
        slot = landing.slot = self.adopt(call, record, answer, wall)
        if slot is not None:
            landing.frozen = slot.answer
        else:
            landing.build = made_of(record.tags, self.clock.monotonic() + record.fresh_until - wall)
            landing.frozen = self.copied(call, answer) if riders else None
        if type(answer) is Chunks:
            landing.answer = replay_of(answer, plain=call.function.plain) if landing.frozen is None else None
        return landing

    def copied(self, call: Call, answer: Any) -> Frozen | None:
        """An answer frozen, whatever its size; None if it cannot be copied."""
        try:
            if type(answer) is Chunks:
                freeze, own = self.freezing(call), answer.parts
                parts = [part if type(part) is Run else freeze(part.answer()) for part in own]  # type: ignore[union-attr]
                return stream_of(parts, plain=call.function.plain)
            return self._freezer.freeze(answer, share=call.function.share)
        except NotKeepable:
            return None

    def came(self, call: Call, record: Record, answer: Any, wall: float, entry: int = 0) -> Slot | None:
        """What another process made as an entry that is not in memory; None if it cannot be copied."""
        if (frozen := self.copied(call, answer)) is None:
            return None
        offset = self.clock.monotonic() - max(wall, record.created)  # a clock set back lengthens no lifetime
        tags = tuple(tag for tag in record.tags if not tag.startswith("\0"))
        created, fresh = record.created + offset, record.fresh_until + offset
        slot = self._slot(call, frozen, tags, record.seconds, created, fresh, entry)
        slot.tokens, slot.origin = record.tokens, record.id or slot.origin
        return slot

    def adopt(self, call: Call, record: Record, answer: Any, wall: float, entry: int = 0) -> Slot | None:
        """Keep in memory what another process made, or this one before a restart under the id `entry`.

        None if it cannot be kept or was declared invalid since the call. `wall`: now, in Unix seconds.
        """
        if not call.function.in_memory or (slot := self.came(call, record, answer, wall, entry)) is None:
            return None
        tags, now = slot.tags, self.clock.monotonic()
        memory, since = call.function.memory, call.since
        with self.lock:
            if since != self.epoch and self.invalidated_since(since, tags, slot.scope, call.digest):
                return None
            held = memory.at(call.digest)
            if held is None or held.created <= slot.created:
                memory.put(slot, now)
        return slot

    def _admit(self, call: Call, answer: Any) -> Reason | None:
        policy = call.function.policy
        if call.tightening.no_store:
            return Reason.NO_STORE
        seen = answer
        if call.function.view is not None:
            seen = self.faults.attempt_now("view", call.function.view, answer, of=call.function.name)
            if isinstance(seen, Reason):
                return seen
        reason = admit(seen, policy.keep_truncated)
        return reason or vetoed(call.function, policy.cache_if, seen, self.faults)

    def place(self, call: Call, landing: Landing, answer: Any, now: float) -> None:
        """Keep an answer that was made just `now`, frozen and found fit."""
        assert landing.frozen is not None
        function, build = call.function, call.build
        ttl, tags = lifetime(call, answer, self.faults), own_tags(call, self.faults)
        fresh = now + ttl * (1.0 - function.policy.ttl_jitter * self.random())
        if build is not None and (build.parts or build.streams) and not isinstance(tags, Reason):
            tags, fresh = tags_with(tags, build), min(fresh, end_of(build))
        if fresh <= now or isinstance(tags, Reason):
            self.refuse(call, landing, Reason.TTL_ZERO if fresh <= now else Reason.FAULT)
            return
        if build is not None:
            build.ends = fresh
        slot = self._slot(call, landing.frozen, tags, landing.seconds, now, fresh, landing.entry)
        with self.lock:
            if self.outdated(slot, function.memory.at(call.digest), call.epoch):
                self.refuse(call, landing, Reason.INVALIDATED)
            elif function.in_memory and call.epoch >= self.unheard and not function.memory.put(slot, now):
                self.refuse(call, landing, OVERSIZE)
            else:
                landing.slot = slot

    def _slot(
        self, call: Call, frozen: Frozen, tags: tuple[str, ...], cost: float, created: float, fresh: float,
        entry: int = 0) -> Slot:  # fmt: skip
        function, canonical = call.function, call.canonical
        slot = Slot(
            call.digest, canonical, frozen, weight_of(canonical, frozen.nbytes, tags), cost, created, fresh,
            fresh + function.outlasts, tags, function.scopes.get(call.tenant) or self.scope_of(function, call.tenant),
            entry or self.new_id(),
        )  # fmt: skip
        if function.policy.refresh_ahead:
            slot.fresh_until -= min(10 * cost, 0.1 * (fresh - created))
        return slot

    def unkeepable(self, call: Call, fault: NotKeepable) -> Reason:
        """Why an answer is not kept; if it cannot be copied, the log says so."""
        if fault.reason is Reason.NOT_KEEPABLE and not call.function.quiet:
            self.tell(call.function, fault)
        return fault.reason

    def tell(self, function: Function, fault: Exception | str) -> None:
        """Say in the log, once per function, why calls go uncached: their callers see no difference."""
        if function.name not in self._warned:
            self._warned.add(function.name)
            _log.warning("calls of %s are not cached: %.300s", function.name, fault)

    def refuse(self, call: Call, landing: Landing, reason: Reason) -> None:
        """Note why an answer is not kept; if it is too large, as its function's others may be, the log says so."""
        function, landing.stored = call.function, reason
        function.stats.kept_out[reason] += 1
        if reason is OVERSIZE and not function.quiet:
            one, every = function.policy.max_item_bytes, function.memory.max_bytes or 2**63
            self.tell(function, _LARGE.format(*min((one, "max_item_bytes"), (every, "max_bytes"))))

    def _link(self, call: Call, slot: Slot) -> None:
        """Let the call's raw form lead straight to its entry next time."""
        function = call.function
        if function.linkable:
            with self._guard, self.lock:
                function.raw_forms_of(call.tenant).link(function.memory, slot, call.args, call.kwargs)
