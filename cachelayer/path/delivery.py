"""Hands a finished flight's answer to one caller: counts and times it, and gives the caller a copy."""

from __future__ import annotations

from typing import Any

from ..exact.memory.table import Slot
from ..keep.accounts import account
from ..keep.call import Call, Landing
from ..keep.keeper import Keeper
from ..keep.parts import take
from ..keep.recorder import Recorder
from ..observe.pace import timed
from ..protocols import Clock
from ..tiers.meaning import asked_by
from ..tiers.shadows import hit_of
from ..types import Match, Outcome, Saved, Source

BACKEND, BYPASS, COALESCED, INDEX = Source.BACKEND, Source.BYPASS, Source.COALESCED, Source.INDEX
"""Each look at an enum's member costs 0.1 us in Python 3.11."""
_MADE = frozenset({BACKEND, Source.REDIS, Source.INDEX})


class Delivery:
    """Hands landings to callers, who are not counted where that raises Alone: they make a call of their own.

    `led`: whether this caller led the flight that brought the landing.
    """

    def __init__(self, clock: Clock, keeper: Keeper, recorder: Recorder) -> None:
        self._now, self._keeper, self._recorder = clock.monotonic, keeper, recorder

    def answer(self, call: Call, landing: Landing, led: bool) -> Any:
        """This caller's own answer."""
        if landing.due is not None and led:
            landing.delivered = True
            return landing.answer
        own = self._own(call, landing, led)
        self.count(call, landing, led)
        return own

    def outcome(self, call: Call, landing: Landing, led: bool) -> Outcome:
        """The answer and how it came to be."""
        own = self._own(call, landing, led)
        source, match = self.count(call, landing, led)
        call.timings["total"] = self._now() - call.arrived
        hit = source is not BACKEND and source is not BYPASS
        tokens = self._keeper.tokens(call.function, landing) if hit else 0
        saved = Saved(landing.seconds, tokens, landing.money) if hit else Saved()
        name = self._keeper.id_of(call, landing)
        if match == "similar":
            name = f"{name}.{asked_by(call)}"
        return Outcome(
            own, name, source, match, landing.similarity,
            landing.confidence, landing.age, call.misses, call.timings, saved, landing.stored,
        )  # fmt: skip

    def with_slot(self, call: Call, landing: Landing, led: bool) -> tuple[Outcome, Slot | None]:
        """The outcome, and the entry that stands behind it."""
        return self.outcome(call, landing, led), landing.slot

    def handed(self, call: Call, landing: Landing, led: bool) -> tuple[Outcome | None, Slot | None]:
        """The same; no outcome where the caller was sent the answer already: it is counted when the answer is kept. Nor
        where the landing does not suit the caller, who is not counted: it asks again."""
        if call.suits is not None and not call.suits(landing, led):
            return None, landing.slot
        if led and call.sent_ahead:
            landing.delivered = landing.due is not None and call.span is None
            if not landing.delivered:
                self.count(call, landing, led)
            return None, None
        return self.with_slot(call, landing, led)

    def count(
        self, call: Call, landing: Landing, led: bool, at: float | None = None
    ) -> tuple[Source, Match | None]:
        """Count one caller, who got the answer `at` that time or now; returns the source and match to report."""
        source, function = landing.source, call.function
        stats = function.stats
        if call.parent is not None:
            take(call.parent, call, landing, self._keeper.faults)
        if not led and source in _MADE:
            source = COALESCED
        if source is BACKEND or source is BYPASS:
            match, result = landing.match, "miss"
            stats.passed[source] = passed = stats.passed[source] + 1
            if call.unkeyable:  # logged, since the function accepted the call
                self._keeper.tell(function, call.unkeyable)
            if passed >= stats.differ_at and call.identity is not None:
                stats.scope_differs(call.identity.scope)
        else:
            match = result = landing.match or "exact"
            stats.hits[source, match] += 1
            stats.saved_seconds += landing.seconds
            tokens = self._keeper.tokens(function, landing)  # first: while it is read, other threads count
            stats.saved_tokens += tokens
        streams = landing.recording is not None  # their readers are timed at their ends
        stats.add(call.misses, call.timings, "" if streams else result, (at or self._now()) - call.arrived)
        passing = led and streams and source is BACKEND  # recorded and billed at its end
        if function.records and not passing:
            self._recorder.add(call, landing, source, match)
        if stats.ledger is not None and not passing:
            account(self._keeper, call, landing, hit=result != "miss")
        if stats.quality is not None and call.similar is not None and source is INDEX:
            served = hit_of(call, call.similar)
            if served is not None:
                stats.quality.served(served)
        if call.span is not None:
            call.span.arrived(landing, source, match)
        return source, match

    def refreshed(self, call: Call, landing: Landing) -> Landing:
        """Bill a call that nobody asked for; that of a stream is billed at its end."""
        made = landing.source is BACKEND or landing.source is BYPASS
        if made and landing.recording is None and call.function.stats.ledger is not None:
            account(self._keeper, call, landing, hit=False)
        return landing

    def _own(self, call: Call, landing: Landing, led: bool) -> Any:
        """This caller's own answer. Raises Alone where a stream can be joined no more."""
        frozen = landing.frozen
        if landing.recording is not None:
            answer, result = landing.recording.reader(), "miss" if led else "coalesced"
        elif frozen is None or (led and landing.answer is not None):
            return landing.answer
        else:
            answer, result = frozen.answer(), "hit"
        stats = call.function.stats
        return timed(answer, stats, result, call.arrived, self._now) if stats.paced else answer
