"""Keeping a backend's answer: at once or after its caller has it; a stream when it has ended well."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Any

from ..exact.answers.frozen import OWN
from ..exact.answers.kept import Frozen, NotKeepable
from ..exact.answers.tape import Alike
from ..flow.readers import StreamOverrun
from ..flow.recording import Recording
from ..flow.singleflight import SingleFlight
from ..flow.tee import Tee
from ..keep.accounts import account
from ..keep.call import Call, Landing
from ..keep.keeper import Keeper
from ..keep.parts import Noting
from ..policy import NOT_TIGHTENED
from ..tiers.tiers import Tiers
from ..types import Reason, Source
from .delivery import Delivery

BACKEND = Source.BACKEND
"""Each look at an enum's member costs 0.1 us in Python 3.11."""

_RETURNS = "a generator that returns a value cannot be replayed whole; yield it, or return nothing"
Freeze = Callable[[Any], Frozen | Alike]
_END = 8
"""Chunks at the end of a stream; one of them holds its token counts."""


class Keeping:
    """Hands answers to the keeper and to the tiers behind it."""

    def __init__(
        self, keeper: Keeper, tiers: Tiers, flights: SingleFlight, delivery: Delivery, noting: Noting
    ) -> None:
        self._keeper, self._tiers, self._flights = keeper, tiers, flights
        self._delivery, self._noting, self._now = delivery, noting, keeper.clock.monotonic

    def may_wait(self, call: Call) -> bool:
        """Whether a call's answer may be kept after its caller has it: nothing in this call waits for that."""
        function, noting = call.function, self._noting.on or call.parent is not None
        watched = (
            call.span is not None or function.stats.ledger is not None or function.comparison is not None
        )
        return (
            function.bare
            and not noting
            and not watched
            and call.tightening is NOT_TIGHTENED
            and not self._tiers.first(call)
        )

    def keep(self, call: Call, answer: Any, started: float) -> Landing:
        """Judge a backend's answer and copy it at once, before its caller can change it; then keep it, now or `later`.

        Where `call.told` is set a transport has sent the answer already, and nobody changes it: the copy is made later,
        too. `started`: when the backend was called, monotonic seconds.
        """
        now = self._now()
        landing = Landing(BACKEND, call)
        landing.answer = answer
        landing.seconds = call.timings["backend"] = now - started
        fit = None if call.told else self._keeper.weigh(call, landing)
        if call.later or call.told:
            landing.due = now
            self._keeper.behind.put_off(call.digest, self._kept_later, call, landing, fit)
            return landing
        if fit:
            self._keeper.place(call, landing, answer, now)
        if self._tiers.outlives(call) or call.function.comparison is not None:
            self._pass_on(call, landing)
        return landing

    def _pass_on(self, call: Call, landing: Landing) -> None:
        if self._tiers.outlives(call):
            self._tiers.keep(call, landing)
        if call.function.comparison is not None:
            call.function.comparison.see(call, landing, self._tiers)

    def _kept_later(self, call: Call, landing: Landing, fit: bool | None) -> None:
        """Keep an answer that `keep` put off. `fit`: whether it may be kept; None where that is yet to be judged."""
        made, landing.due = landing.due, None
        assert made is not None
        try:
            if self._keeper.weigh(call, landing) if fit is None else fit:
                self._keeper.place(call, landing, landing.answer, made)
            self._pass_on(call, landing)
        finally:
            if landing.told:
                self._delivery.count(call, landing, True, made)

    def record(self, call: Call, source: AsyncIterator[Any], started: float) -> Landing:
        """Record a stream that the backend answers with; it is kept when it has ended well."""
        landing = Landing(BACKEND, call)
        landing.entry = self._keeper.new_id()
        landing.recording = recording = Recording(source, **self._hooks(call, landing, started))
        recording.start(self._flights.starter)
        return landing

    def record_now(self, call: Call, source: Iterator[Any], started: float) -> Landing:
        """The same for the stream of a plain function, which its readers' threads draw."""
        landing = Landing(BACKEND, call)
        landing.entry = self._keeper.new_id()
        landing.recording = Tee(source, **self._hooks(call, landing, started))
        return landing

    def _hooks(self, call: Call, landing: Landing, started: float) -> dict[str, Any]:
        over = oversized = False

        def finish(chunks: list[Any], returned: Any = None) -> None:
            seconds = self._now() - started
            if returned is None:
                self._keeper.keep_stream(call, chunks, seconds, landing)
            else:
                landing.seconds = seconds
                call.function.stats.took("backend", seconds)
                self._keeper.refuse(call, landing, self._keeper.unkeepable(call, NotKeepable(_RETURNS)))
            self._tiers.keep(call, landing)
            if call.function.comparison is not None:
                call.function.comparison.see(call, landing, self._tiers)
            if call.function.records:
                self._tiers.recorder.add(call, landing, BACKEND, None)
            self._settle(call, landing)
            if call.span is not None:
                call.span.streamed(chunks)

        def leave() -> None:
            self._flights.close(flight_key(call), landing)
            if landing.slot is None:
                self._tiers.let_go(call)

        def oversize() -> None:
            nonlocal oversized
            oversized = True
            self._keeper.refuse(call, landing, why[0] if why else Reason.OVERSIZE)
            leave()

        def closed() -> None:
            nonlocal over
            if not over:
                self._end(call, landing.recording.error)
                if oversized and landing.recording.ended and landing.recording.error is None:
                    self._settle_unkept(call, landing, last, self._now() - started)
            over = True
            leave()

        why: list[Reason] = []
        limit = call.policy.max_item_bytes
        freeze = _passing(self._keeper.freezing(call), limit, why, partial(self._keeper.unkeepable, call))
        last: deque[Frozen | Alike] = deque(maxlen=_END)
        if call.function.stats.ledger is not None:
            freeze = _noting(freeze, last.append)
        return {"freeze": freeze, "limit": limit, "finish": finish, "oversize": oversize, "closed": closed}

    @staticmethod
    def _end(call: Call, fault: BaseException | None) -> None:
        """Count a stream that broke off as a failed call; one that all its readers left is none."""
        broke = isinstance(fault, Exception) and not isinstance(fault, StreamOverrun)
        if broke:
            call.function.stats.backend_errors += 1
        if call.span is not None:
            call.span.streamed(None, fault if broke else None)

    def _settle(self, call: Call, landing: Landing) -> None:
        """Count what a stream cost, and what it saved those who joined it while it ran."""
        stats, riders = call.function.stats, max(landing.recording.readers - 1, 0)
        if riders:  # else the stream need not be read for its tokens now
            stats.saved_seconds += riders * landing.seconds
            stats.saved_tokens += riders * self._keeper.tokens(call.function, landing)
        if stats.ledger is not None:
            account(self._keeper, call, landing, hit=False)
            account(self._keeper, call, landing, hit=True, times=riders)

    def _settle_unkept(
        self, call: Call, landing: Landing, last: Iterable[Frozen | Alike], seconds: float
    ) -> None:
        """The same for a stream that was too large to keep: its token counts are read from its `last` chunks."""
        call.function.stats.took("backend", seconds)
        told = Landing(BACKEND, call)
        told.recording, told.seconds = landing.recording, seconds
        told.answer = [chunk.answer() for chunk in last]
        self._settle(call, told)


def _passing(
    freeze: Freeze, limit: int, why: list[Reason], unkeepable: Callable[[NotKeepable], Reason]
) -> Freeze:
    """Freezes a live stream's chunks; the first that cannot be kept ends the recording, as one too large does.

    Such a chunk goes to its readers as it is; `why` is told the reason.
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


def flight_key(call: Call) -> Hashable:
    """Calls with equal keys share one flight: the same request under the same tightening.

    A call that came after an invalidation has another key than those before it, and does not get their answer.
    """
    key = call.digest + (call.since << 128) if call.since else call.digest
    return key if call.tightening is NOT_TIGHTENED else (key, call.tightening)
