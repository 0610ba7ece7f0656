"""Hits of the shared store without the whole path: a raw form seen before leads straight to its key.

For functions whose answers are not kept in process (`max_bytes=0`); for others, raw forms lead to entries.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..errors import StoreFault
from ..exact.memory.slot import Slot, weight_of_raw
from ..exact.memory.table import Raws
from ..exact.redis.recall import NOTHING, OTHER, Seen
from ..exact.wire.codec import Chunks
from ..keep.call import Call, Function
from ..keep.scope import Scope
from ..keep.streams import replay_of
from ..observe.pace import timed
from ..types import Reason, Record
from .shared import SharedTier

MAX_BYTES = 32 << 20
"""Bytes of raw forms and canonical requests that are remembered, over all functions; the oldest give way."""
SEEN = 1100
"""Bytes that what was seen of an entry takes beside its canonical bytes: slot, header, epochs, name, numbers."""
ABSENT = Reason.ABSENT


class Shortcuts:
    """The keys to which raw forms lead, and the hits that begin there. Holds requests, no answers."""

    def __init__(self, shared: SharedTier) -> None:
        assert shared.recall is not None
        self._shared, self.recall, self.max_bytes = shared, shared.recall, MAX_BYTES
        self.bytes = 0
        """At most `max_bytes`."""
        self._held: deque[tuple[Raws, int | str, int]] = deque()
        self._now = shared.clock.monotonic
        self.breaker, self._faults = shared.breaker, shared.faults

    def learn(self, call: Call, record: Record) -> None:
        """Let the raw form of a call that was answered by `record` lead to it from now on."""
        seen = self.recall.seen(record, self._shared.codec.decode)
        if seen is None or call.function.codec is not None:  # faults of that codec would not be ours
            return
        if not call.still(self._faults):  # its arguments changed while it waited for the store
            return
        known = Slot(call.digest, call.canonical, None, 0, meta=seen)
        with self._shared.keeper.lock:
            call.function.raw_forms_of(call.tenant).link(self, known, call.args, call.kwargs)

    def link(self, slot: Slot, raws: Raws, digest: int | str, raw: bytes | str) -> bool:
        """Let `raws[digest]` lead to `slot`, at the expense of the oldest; see `Memory.link`."""
        held = raws.get(digest)
        if held is not None and held[0] == raw:
            raws[digest] = (held[0], slot)  # it weighs the same
            return True
        weight = SEEN + len(slot.canonical) + weight_of_raw(raw)
        self._held.append((raws, digest, weight))
        self.bytes += weight
        raws[digest] = (raw, slot)
        while self.bytes > self.max_bytes:
            self._drop()
        return bool(self._held)

    def clear(self) -> None:
        """Forget all requests."""
        with self._shared.keeper.lock:
            while self._held:
                self._drop()

    def _drop(self) -> None:
        raws, digest, weight = self._held.popleft()
        raws.pop(digest, None)
        self.bytes -= weight

    def find(self, function: Function, scope: Scope | None, args: Any, kwargs: Any) -> Slot | None:
        """Where the raw form of these arguments leads, for a `formed` function; None if hits are traced or billed."""
        if function.tracing is not None or function.stats.ledger is not None:
            return None
        if scope is not None and (scope.build is not None or not scope.direct):
            return None
        tenant = None if scope is None else scope.tenant
        own = function.raw_forms if tenant is None else function.raw_forms_by.get(tenant)
        found = None if own is None else own.find(args, kwargs)
        return None if found is None or found.digest in self._shared.invalidations.replaced else found

    def served(self, function: Function, seen: Seen, answer: Any, at: float) -> tuple[bool, Any]:
        """(True, the caller's own answer), counted; or (False, why not), and the path goes on.

        A reason of None leaves the judgement to the path. `at`: when the caller came.
        """
        if self.breaker.share:
            self.breaker.success()
        if answer is NOTHING or answer is OTHER:
            return False, ABSENT if answer is NOTHING else None
        stats = function.stats
        if type(answer) is Chunks:
            answer = replay_of(answer, plain=function.plain)
            if stats.paced:
                answer = timed(answer, stats, "hit", at, self._now)
        stats.stored_hits = n = stats.stored_hits + 1
        if n >= stats.stored_due:
            stats.found(self._now() - at, seen.seconds, seen.tokens)
        return True, answer

    def failed(self, fault: StoreFault) -> Reason:
        """The reason why no reply came."""
        return self._shared.failed(self._faults.report("store", fault))
