"""Translates between a call and the similar tier: whether and by what text it is compared, and what a hit returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from ..exact.answers import admission
from ..exact.answers.admission import has_tool_calls
from ..exact.memory.slot import Slot
from ..flow.attempt import Faults
from ..keep.call import Call, Function, Landing
from ..keep.keeper import Keeper
from ..keep.streams import seen_of
from ..keep.terms import compared
from ..policy import NOT_TIGHTENED, Budgets
from ..protocols import Clock
from ..semantic.inflight import Flight
from ..semantic.reported_pairs import request_digest
from ..semantic.tier import SimilarTier
from ..semantic.types import Ask, Entry, Explained
from ..types import Reason, Source, Turn
from .rides import Found
from .shadows import Shadows

GENEROUS = Budgets(embed=5, search=5, verify=5)
"""For `explain`: no caller is waiting."""
TIGHTER: Final = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4)
"""Bounds to which requests may tighten an error budget: each has an account of its own, so they must be few."""


class Meaning:
    """Asks the similar tier that serves a function, and starts the checks of what it served."""

    def __init__(
        self,
        similar_to: Callable[[Function], SimilarTier | None],
        keeper: Keeper,
        shadows: Shadows,
        faults: Faults,
        clock: Clock,
    ) -> None:
        self._similar_to, self._keeper, self._shadows, self._clock = similar_to, keeper, shadows, clock
        self._guard = faults.guard(
            "lookup"
        )  # around what stands between the stages, which are guarded themselves

    def fit(self, call: Call) -> SimilarTier | None:
        """The tier that compares a call by meaning; or None, with the reason in `call.misses`."""
        tier, reason = self._similar_to(call.function), self.unfit(call)
        if tier is not None and reason is None:
            return tier
        if call.function.similar or reason is not Reason.OFF:
            call.misses["similar"] = reason or Reason.OFF
        return None

    def unfit(self, call: Call) -> Reason | None:
        """Why a call is not compared by meaning."""
        tightening, identity = call.tightening, call.identity
        off = not call.function.similar or tightening.no_similar
        if off or self._bound(call) <= 0:
            return Reason.OFF
        if identity is None or identity.text is None:
            return Reason.NOT_TEXT
        passing = call.policy.fresh == "bypass" and call.function.passing(identity)
        return Reason.TIME_SENSITIVE if passing else None

    def ask(self, call: Call, author: str | None = None) -> Ask:
        """What the tier is asked for a call. `author`: who made its answer, where that is not who asks."""
        identity = call.identity
        assert identity is not None and identity.text is not None
        policy, who = call.policy, call.principal if author is None else author
        partition = identity.partition() + call.canonical[len(identity.canonical) :]  # which variant
        ask = Ask(call.function.name, partition, text_of(call), identity.turns, self._bound(call),
                  who, policy.quarantine, policy.write_quota, self._shadows.may_check(call))  # fmt: skip
        ask.tenant, ask.arrived = call.tenant, call.arrived
        ask.judge = self._shadows.judge(call.function)
        ask.argument = compared(call)
        ask.fits = partial(self._fits, call.tightening.max_age)
        return ask

    def again(self, call: Call, tier: SimilarTier) -> Landing | None:
        """The answer to the same words typed differently, found without a vector; sets `call.similar`."""
        with self._guard:
            ask = call.similar = self.ask(call)
            found = tier.again(ask)
            landing = None if found is None else self._served(call, ask, found)
            if landing is not None:
                call.timings.update(ask.timings)
            return landing
        return None

    async def find(self, call: Call, tier: SimilarTier, budgets: Budgets | None) -> Found | None:
        """A similar answer, or one in flight, once `again` found none; else None, with the reason in `call.misses`."""
        reason = None
        with self._guard:
            ask: Ask = call.similar
            ask.boards = budgets is None and call.tightening is NOT_TIGHTENED and call.policy.quarantine < 2
            found = await tier.find(ask, budgets)
            call.timings.update(ask.timings)
            if isinstance(found, Flight):
                return found
            landing = self._served(call, ask, found) if isinstance(found, Entry) else None
            if landing is not None:
                return landing
            reason = found if isinstance(found, Reason) else Reason.EXPIRED
        call.misses["similar"] = reason or self._guard.reason
        return None

    async def keep(self, call: Call, slot: Slot, author: str | None = None) -> Ask | None:
        """Make an answer findable by meaning; the request by which it is, None where it is not or was before.
        `author`: as `ask`'s."""
        tier = self._similar_to(call.function)
        if tier is None or self.unfit(call) is not None or not slot.resident:
            return None
        if has_tool_calls(answer := seen_of(call.function, slot.answer)):
            return None
        ask: Ask = call.similar or self.ask(call, author)
        kept = not tier.knows(slot.id) and await tier.keep(ask, slot.id, admission.text_of(answer), slot)
        return ask if kept else None

    async def explain(self, call: Call) -> Explained:
        """What the similar tier would say now; nothing is counted."""
        tier, reason = self._similar_to(call.function), self.unfit(call)
        if call.tightening.no_cache:
            reason = Reason.NO_CACHE
        if tier is None or reason is not None:
            return Explained(reason or Reason.OFF, detail=_no_text(call) if reason is Reason.NOT_TEXT else "")
        ask = self.ask(call)
        ask.preview = True
        found = await tier.find(ask, GENEROUS)
        near: list[dict[str, Any]] = [{"similarity": c.similarity, "text": c.text} for c in ask.candidates]
        detail = ask.decision.detail if ask.decision is not None else ""
        return Explained(found if isinstance(found, Reason) else None, near, detail)

    def _bound(self, call: Call) -> float:
        asked, own = call.tightening.max_error_rate, call.policy.max_error_rate
        if asked is None or asked >= own:
            return own
        return next((bound for bound in TIGHTER if bound <= asked), 0.0)

    def _fits(self, oldest: float | None, slot: Slot) -> bool:
        """Whether an entry may be served now, to a request that wants none above this age."""
        now = self._clock.monotonic()
        return slot.resident and now < slot.ends and (oldest is None or now - slot.created <= oldest)

    def _served(self, call: Call, ask: Ask, entry: Entry) -> Landing | None:
        landing = self._landing(ask, entry)
        if landing is not None and ask.decision is not None and ask.decision.shadow:
            self._shadows.check(call, ask)
        return landing

    def _landing(self, ask: Ask, entry: Entry) -> Landing | None:
        slot, decision, now = entry.value, ask.decision, self._clock.monotonic()
        if decision is None or not ask.fits(slot):
            return None
        landing = self._keeper.landing(slot, Source.INDEX, now)
        slot.hits, slot.used = slot.hits + 1, now
        landing.match = "similar"
        landing.similarity, landing.confidence = decision.similarity, decision.confidence
        return landing


def text_of(call: Call) -> str:
    """The text by which the tier that serves a call knows it."""
    text = "" if call.identity is None else call.identity.text or ""
    return text if call.function.own is None else f"{text} {call.digest:032x}"


def _no_text(call: Call) -> str:
    """Where a call's text was looked for in vain, and what to do."""
    name, given = call.function.identifier.text, {} if call.identity is None else call.identity.fields
    if not isinstance(name, str):
        return ""
    why = "holds no text that a user said last" if name in given else "was not given"
    return f"argument {name!r}, which is compared by meaning, {why}; text= says what else is compared"


def asked_by(call: Call) -> str:
    """A digest of the request, for the id of an answer that was made for another one."""
    return "" if call.identity is None else request_digest(_Request(text_of(call), call.identity.turns)).hex()


class _Request(NamedTuple):
    text: str
    turns: tuple[Turn, ...]
