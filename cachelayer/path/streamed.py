"""What becomes of a stream that the backend answers with: kept if it ended well, accounted for in any case."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ..exact.answers.frozen import OWN, Frozen, NotKeepable
from ..exact.answers.tape import Alike
from ..flow.readers import StreamOverrun
from ..keep.accounts import account
from ..keep.call import Call, Landing
from ..keep.keeper import Keeper
from ..tiers.hierarchy import Tiers
from ..types import Reason, Source

Freeze = Callable[[Any], Frozen | Alike]

_RETURNS = "a generator that returns a value cannot be replayed whole; yield it, or return nothing"
_END = 8
"""Chunks at the end of a stream; one of them holds its token counts."""


class Streamed:
    """Hears from the recording of one stream what happens to it; see `hooks`."""

    __slots__ = (
        "_call",
        "_closed",
        "_keeper",
        "_landing",
        "_last",
        "_leave_flight",
        "_oversized",
        "_started",
        "_tiers",
        "_why",
    )

    def __init__(
        self,
        call: Call,
        landing: Landing,
        started: float,
        keeper: Keeper,
        tiers: Tiers,
        leave_flight: Callable[[], object],
    ) -> None:
        """`started`: when the backend was called, monotonic seconds. `leave_flight`: later callers call anew."""
        self._call, self._landing, self._started = call, landing, started
        self._keeper, self._tiers, self._leave_flight = keeper, tiers, leave_flight
        self._oversized = self._closed = False
        self._why: list[Reason] = []
        """Why the first chunk that cannot be kept cannot be; empty while all can."""
        self._last: deque[Frozen | Alike] = deque(maxlen=_END)

    def hooks(self) -> dict[str, Any]:
        """Keyword arguments of `Recording` and `Tee`."""
        call = self._call
        limit, unkeepable = call.policy.max_item_bytes, partial(self._keeper.unkeepable, call)
        freeze = _passing(self._keeper.freezing(call), limit, self._why, unkeepable)
        if call.function.stats.ledger is not None:
            freeze = _noting(freeze, self._last.append)
        return {
            "freeze": freeze,
            "limit": limit,
            "finish": self.finish,
            "oversize": self.oversize,
            "closed": self.closed,
        }

    def finish(self, chunks: list[Any], returned: Any = None) -> None:
        """It ended well, and all of it is recorded. `returned`: what a plain generator returned."""
        call, landing, function = self._call, self._landing, self._call.function
        seconds = self._seconds()
        left = call.left or landing.recording.went_on  # while the function may still have read its arguments
        if left and not call.still(self._keeper.faults):  # see `Keeping.keep`
            landing.seconds = seconds
            self._keeper.refuse(call, landing, Reason.CHANGED)
        elif returned is None:
            self._keeper.keep_stream(call, chunks, seconds, landing)
        else:
            landing.seconds = seconds
            function.stats.streamed(seconds)
            self._keeper.refuse(call, landing, self._keeper.unkeepable(call, NotKeepable(_RETURNS)))
        self._tiers.supersede(call, landing)
        self._tiers.keep(call, landing)
        if function.comparison is not None:
            function.comparison.see(call, landing, self._tiers)
        if function.records:
            self._tiers.recorder.add(call, landing, Source.BACKEND, None)
        self._settle(landing)
        if call.span is not None:
            call.span.streamed(chunks)

    def oversize(self) -> None:
        """It is too large to keep, or a chunk of it cannot be kept."""
        self._oversized = True
        self._keeper.refuse(self._call, self._landing, self._why[0] if self._why else Reason.OVERSIZE)
        self._tiers.supersede(self._call, self._landing)
        self._leave()

    def closed(self) -> None:
        """It is over, however it ended."""
        recording = self._landing.recording
        if not self._closed:
            if self._call.build is not None:
                self._call.build.makers -= 1
            self._count_fault(recording.error)
            if self._oversized and recording.ended and recording.error is None:
                self._settle_unkept()
        self._closed = True
        self._leave()

    def _leave(self) -> None:
        self._leave_flight()
        if self._landing.slot is None:
            self._tiers.let_go(self._call)

    def _seconds(self) -> float:
        return self._keeper.clock.monotonic() - self._started

    def _count_fault(self, fault: BaseException | None) -> None:
        """Count a stream that broke off as a failed call; one that all its readers left is none."""
        call, broke = self._call, isinstance(fault, Exception) and not isinstance(fault, StreamOverrun)
        if broke:
            call.function.stats.backend_errors += 1
        if call.span is not None:
            call.span.streamed(None, fault if broke else None)

    def _settle(self, landing: Landing) -> None:
        """Count what a stream cost, and what it saved those who joined it while it ran."""
        call, riders = self._call, max(landing.recording.readers - 1, 0)
        stats = call.function.stats
        if riders:  # else the stream need not be read for its tokens now
            tokens = riders * self._keeper.tokens(call.function, landing)
            stats.saved_seconds += riders * landing.seconds
            stats.saved_tokens += tokens
        if stats.ledger is not None:
            account(self._keeper, call, landing, hit=False)
            account(self._keeper, call, landing, hit=True, times=riders)

    def _settle_unkept(self) -> None:
        """The same for a stream that was too large to keep: its token counts are read from its last chunks."""
        ended = Landing(Source.BACKEND, self._call)
        ended.recording, ended.seconds = self._landing.recording, self._seconds()
        self._call.function.stats.streamed(ended.seconds)
        ended.answer = [chunk.answer() for chunk in self._last]
        self._settle(ended)


def _passing(
    freeze: Freeze, limit: int, why: list[Reason], unkeepable: Callable[[NotKeepable], Reason]
) -> Freeze:
    """Freezes a live stream's chunks; the first that cannot be kept ends the recording, as one too large does.

    Such a chunk goes to its readers as it is; its reason is added to `why`.
    """

    def frozen(chunk: Any) -> Frozen | Alike:
        try:
            return freeze(chunk)
        except NotKeepable as fault:
            if why:
                return Frozen(chunk, None, OWN)
            why.append(unkeepable(fault))
            return Frozen(chunk, None, limit + 1)

    return frozen


def _noting(freeze: Freeze, note: Callable[[Frozen | Alike], None]) -> Freeze:
    def noted(chunk: Any) -> Frozen | Alike:
        frozen = freeze(chunk)
        note(frozen)
        return frozen

    return noted
