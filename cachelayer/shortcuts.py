"""Hits of the shared store without a walk down the path: a raw form seen before leads straight to its key.

For functions whose answers are not kept in process (`max_bytes=0`); where they are, raw forms lead to entries.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from .call import Call, Function
from .exact.codec import Chunks
from .exact.memory import Raws
from .exact.slot import SLOT_OVERHEAD, Slot, weight_of_raw
from .flow.breaker import CLOSED
from .observe.pace import timed
from .shared import SharedTier
from .types import Reason

MAX_BYTES = 16 << 20
"""Of raw forms and canonical requests remembered, over all functions; the oldest give way."""
ABSENT = Reason.ABSENT


class Shortcuts:
    """What raw forms lead to, and the hit that begins there. Holds requests, no answers."""

    def __init__(self, shared: SharedTier, *, max_bytes: int = MAX_BYTES) -> None:
        self._shared, self.max_bytes = shared, max_bytes
        self.bytes = 0
        """At most `max_bytes`."""
        self._held: deque[tuple[Raws, int | str, int]] = deque()
        self._now = shared.clock.monotonic

    def learn(self, call: Call) -> None:
        """Let the call's raw form lead to its key from now on."""
        known = Slot(call.digest, call.canonical, None, 0, meta=call.digest.to_bytes(16, "big"))
        with self._shared.keeper.lock:
            call.function.lane_of(call.tenant).link(self, known, call.args, call.kwargs)

    def link(self, slot: Slot, raws: Raws, digest: int | str, raw: bytes | str) -> bool:
        """Let `raws[digest]` lead to `slot`, at the expense of the oldest; see `Memory.link`."""
        held = raws.get(digest)
        if held is not None and held[0] == raw:
            return True
        weight = SLOT_OVERHEAD + len(slot.canonical) + weight_of_raw(raw)
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

    def find(self, function: Function, lane: str | None, args: tuple[Any, ...], kwargs: Any) -> Slot | None:
        """Key and canonical request that a raw form leads to, where nothing has to be noted on the way."""
        if not function.formed or function.tracing is not None or function.stats.ledger is not None:
            return None
        own = function.lane if lane is None else function.lanes.get(lane)
        return None if own is None else own.find(args, kwargs)

    async def hit(self, function: Function, known: Slot, at: float) -> tuple[bool, Any]:
        """(True, the fresh answer that the store has), counted; else (False, why not), where the path goes on.

        None for a reason: what the path finds there is its own to judge. `at`: when the caller came.
        """
        shared = self._shared
        if shared.breaker.state is not CLOSED:
            return False, None
        record = None
        try:
            with shared.reading:
                record = await shared.get(known.meta, known.canonical, function.store_budget)
                shared.breaker.success()
                if record is None:
                    return False, ABSENT
                if record.fresh_until <= shared.clock.time():
                    return False, None
                answer = (function.codec or shared.codec).decode(record.payload)
                stats = function.stats
                if type(answer) is Chunks:
                    answer = shared.keeper.replay_of(function, answer)
                    if stats.paced:
                        answer = timed(answer, stats, "hit", at, self._now)
                stats.found(self._now() - at, record.seconds, record.tokens)
                return True, answer
        except asyncio.CancelledError:
            shared.breaker.abandoned()
            raise
        return False, shared.failed(shared.reading.reason) if record is None else None
