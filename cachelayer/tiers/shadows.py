"""Shadow checks: a sampled share of similar hits is verified by calling the backend in the background."""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator, Callable
from functools import partial
from hashlib import blake2b
from inspect import isawaitable
from typing import Any

from ..errors import ConfigurationError, Unusable
from ..exact.answers.admission import failed, text_of
from ..flow.attempt import Faults
from ..flow.background import Background
from ..keep.call import Call, Function
from ..keep.ids import entry_id
from ..keep.recorder import Recorder
from ..observe.quality import Hit
from ..protocols import Judged
from ..semantic.answers import as_learned, normalize
from ..semantic.reported_pairs import request_digest
from ..semantic.tier import SimilarTier
from ..semantic.types import Ask, Same
from ..types import Reason

LONGEST = 60.0
"""Seconds that the backend or the owner's judge may take in the background."""
HOUR = 3600.0


class Shadows:
    """Asks the backend again for what was served by similarity, and teaches the similar tier the true answer."""

    def __init__(
        self,
        similar_to: Callable[[Function], SimilarTier | None],
        recorder: Recorder,
        faults: Faults,
        background: Background,
        now: Callable[[], float],
    ) -> None:
        self._similar_to, self._recorder = similar_to, recorder
        self._faults, self._background, self._now = faults, background, now
        self._spent: dict[str, tuple[float, int]] = {}
        """By function: when its current hour began, and its checks since."""
        self._erasures = 0

    def may_check(self, call: Call) -> bool:
        """Whether a hit may be checked: by owner, by kind of function, and within the hour's limit."""
        policy = call.policy
        if call.kept_only or not policy.pure or policy.shadow == 0 or call.function.plain:
            return False
        return not policy.shadow_limit or self._hour(call.function.name)[1] < policy.shadow_limit

    def _hour(self, name: str) -> tuple[float, int]:
        """When a function's current hour began, and the checks since."""
        now = self._now()
        hour = self._spent.get(name)
        return (now, 0) if hour is None or now - hour[0] >= HOUR else hour

    def forget_texts(self) -> None:
        """Somebody's answers were erased: what is being asked for now is not learned, and held for nobody."""
        self._erasures += 1

    def check(self, call: Call, ask: Ask) -> None:
        """Start a check in the caller's context, if the hit may be checked."""
        if not ask.checkable:
            return
        began, spent = self._hour(call.function.name)
        self._spent[call.function.name] = (began, spent + 1)
        self._faults.attempt_now("shadow", call.hold)
        attempt = partial(self._attempt, call, ask, self._erasures)
        if not self._background.spawn(attempt, contextvars.copy_context()):
            self._over(call, ask)

    async def _attempt(self, call: Call, ask: Ask, began: int) -> None:
        await self._faults.attempt("shadow", self._checked(call, ask, began), LONGEST)
        self._over(call, ask)

    def _over(self, call: Call, ask: Ask) -> None:
        if (tier := self._similar_to(call.function)) is not None:
            self._faults.attempt_now("shadow", tier.unchecked, ask)

    async def _checked(self, call: Call, ask: Ask, began: int) -> None:
        """`began`: how many erasures there were then."""
        if not call.still(self._faults):
            return
        call.function.stats.shadow_checks += 1
        answer = await self._answer(call)
        seen, decision = call.function.seen(answer), ask.decision
        if failed(seen):
            return
        text = text_of(seen)
        tier = self._similar_to(call.function)
        if text is not None and tier is not None and decision is not None and began == self._erasures:
            await tier.meet(ask)
            text = await as_learned(tier.decider, tier.embedder, text, ask) or text
            if began == self._erasures:
                tier.learn(ask, text, decision.entry)
                self._judge(call, ask, text, tier)
        if call.function.records and began == self._erasures:
            self._recorder.add_check(call, answer)

    @staticmethod
    async def _answer(call: Call) -> Any:
        """Raises Unusable where the backend failed, which is no fault of the cache's."""
        try:
            answer = await call.invoke(*call.args, **call.kwargs)
            if isinstance(answer, AsyncIterator):
                answer = [chunk async for chunk in answer]
        except Exception as fault:
            call.function.stats.backend_errors += 1
            raise Unusable("the backend failed a check", Reason.ERROR) from fault
        return answer

    def judge(self, function: Function) -> Same | None:
        """The owner's judge of answers as the tiers call it: if it fails, two answers count as different."""
        judge = function.judge
        if judge is None:
            return None

        async def asked(known: str, answer: str) -> bool:
            verdict = judge(known, answer)
            return bool(await verdict if isawaitable(verdict) else verdict)

        async def same(known: str, answer: str) -> bool:
            try:
                return await self._faults.attempt("judge", asked(known, answer), LONGEST) is True
            except ConfigurationError as fault:  # of a cache that it asks: it is told to nobody here
                self._faults.report("judge", fault)
                return False

        return same

    @staticmethod
    def _judge(call: Call, ask: Ask, truth: str, tier: SimilarTier) -> None:
        """Count whether what was served says the same as the backend does now, as the error budget sees it."""
        served = hit_of(call, ask)
        if served is None or ask.decision is None or ask.decision.entry is None:
            return
        stats, decider, right = call.function.stats, tier.decider, None
        if isinstance(decider, Judged):
            right = decider.agrees(ask.function, ask.partition, ask.decision.entry, truth)
        if right is None:
            right = normalize(served.answer) == normalize(truth)
        stats.shadow_verdicts["right" if right else "wrong"] += 1
        if stats.quality is not None:
            stats.quality.checked(served, right, truth)

    def verdict(self, function: Function, hit: Hit, right: bool) -> None:
        """Learn a person's verdict on a doubtful hit."""
        function.stats.shadow_verdicts["right" if right else "wrong"] += 1
        tier = self._similar_to(function)
        if tier is not None and isinstance(tier.decider, Judged):
            tier.decider.verdict(function.name, hit.confidence, right, hit.detail)


def hit_of(call: Call, ask: Ask) -> Hit | None:
    """What a similar hit served, for those who judge it; None if its candidate's text is gone."""
    decision = ask.decision
    if decision is None or decision.entry is None or ask.served is None:
        return None
    served = next((c for c in ask.candidates if c.entry == decision.entry), None)
    if served is None or served.answer is None:
        return None
    scope, slot = blake2b(ask.partition, digest_size=6).hexdigest(), ask.served.value
    name = entry_id(slot.origin, slot.digest, call.tenant)
    return Hit(
        f"{name}.{request_digest(ask).hex()}", call.function.name, scope, ask.text, served.text, served.answer,
        decision.similarity, decision.confidence, decision.detail,
    )  # fmt: skip
