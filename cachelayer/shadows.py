"""Shadow checks: a sampled share of similar hits is asked again behind the caller's back, and learned from."""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator
from functools import partial

from .call import Call
from .exact.admission import text_of
from .flow.attempt import Faults
from .flow.background import Background
from .recorder import Recorder
from .semantic.asks import Ask
from .semantic.tier import SimilarTier

LONGEST = 60.0
"""Seconds that the backend may take for an answer nobody waits for."""


class Shadows:
    """Asks the backend for what was served by similarity, and tells the similar tier what is right."""

    def __init__(
        self, similar: SimilarTier | None, recorder: Recorder, faults: Faults, background: Background
    ) -> None:
        self._similar, self._recorder, self._faults, self._background = similar, recorder, faults, background

    def check(self, call: Call, ask: Ask) -> None:
        """Start a check in the caller's context, unless the function is not pure or its owner wants none."""
        if call.policy.pure and call.policy.shadow != 0 and not call.function.plain:
            self._background.spawn(partial(self._attempt, call, ask), contextvars.copy_context())

    async def _attempt(self, call: Call, ask: Ask) -> None:
        await self._faults.attempt("shadow", self._checked(call, ask), LONGEST)

    async def _checked(self, call: Call, ask: Ask) -> None:
        call.function.stats.shadow_checks += 1
        answer = await call.invoke(*call.args, **call.kwargs)
        if isinstance(answer, AsyncIterator):
            answer = [chunk async for chunk in answer]
        text, tier, decision = text_of(call.function.seen(answer)), self._similar, ask.decision
        if text is not None and tier is not None and decision is not None:
            tier.learn(ask, text, decision.entry)
        if call.function.records:
            self._recorder.add_check(call, answer)
