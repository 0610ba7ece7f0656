"""Asks the stream through the cache, many at a time, and judges every answer by the corpus."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ...errors import CacheLayerError
from ...path.explain import Explanation
from ...types import Outcome
from .desk import Desk, label_in
from .stream import Asked
from .tally import HITS, Lane, Tally, Trap, Verdict, Wrong, lane_of


class Ask(Protocol):
    """The cached function, as `CacheLayer.cached` makes it."""

    async def outcome(self, question: str) -> Outcome: ...
    async def explain(self, question: str) -> Explanation: ...


class Drive:
    """One run of a stream. Fills `tally`; `show` is called after each request.

    `contrasts` names the questions that are traps, which are explained before they are first asked.
    """

    def __init__(
        self,
        ask: Ask,
        desk: Desk,
        stream: Sequence[Asked],
        tally: Tally,
        *,
        contrasts: Mapping[str, str],
        show: Callable[[], None],
    ) -> None:
        self._ask, self._desk, self._stream, self._tally, self._show = ask, desk, stream, tally, show
        self._truth = {asked.text: asked.label for asked in stream}
        self._contrasts = contrasts
        self._untried = set(contrasts)
        self._started = 0.0

    async def run(self, concurrency: int) -> None:
        """Ask everything, `concurrency` requests at a time, each as soon as another is answered."""
        self._started = time.perf_counter()
        waiting = iter(self._stream)

        async def worker() -> None:
            for asked in waiting:
                await self._one(asked)
                await asyncio.sleep(0)

        await asyncio.gather(*(worker() for _ in range(min(concurrency, len(self._stream)))))

    async def _one(self, asked: Asked) -> None:
        trap = asked.question.text in self._untried
        self._untried.discard(asked.question.text)
        explanation = await self._ask.explain(asked.text) if trap else None
        started = time.perf_counter()
        try:
            outcome = await self._ask.outcome(asked.text)
        except CacheLayerError:
            self._tally.failed += 1
        else:
            seconds = time.perf_counter() - started
            verdict = await self._judge(asked, outcome)
            lane = lane_of(outcome)
            self._tally.add(lane, verdict, seconds, outcome.saved.seconds)
            if lane is Lane.BACKEND and "similar" in outcome.misses:
                self._tally.reasons[outcome.misses["similar"]] += 1
            if explanation is not None:
                self._note_trap(asked, outcome, verdict, explanation)
        self._tally.backend_calls = len(self._desk.worked)
        self._tally.elapsed = time.perf_counter() - self._started
        self._show()

    async def _judge(self, asked: Asked, outcome: Outcome) -> Verdict:
        served, lane = label_in(outcome.answer), lane_of(outcome)
        if served == asked.label:
            return Verdict.RIGHT
        if lane not in HITS:
            return Verdict.BACKEND
        makers = [work.question for work in self._desk.worked if work.label == served]
        makers = makers or await self._made_earlier(asked, served)
        same = [text for text in makers if self._truth.get(text) == asked.label]
        if await self._desk.label_of(asked.text) == served:
            verdict = Verdict.BACKEND
        else:
            verdict = Verdict.INHERITED if same else Verdict.CACHE
        made_for = await self._desk.nearest(asked.text, same or makers, outcome.similarity)
        self._tally.wrong.append(
            Wrong(asked, served, lane, verdict, outcome.similarity, outcome.confidence, made_for)
        )
        return verdict

    async def _made_earlier(self, asked: Asked, served: str) -> list[str]:
        """Questions near to it that the backend answers so, where an earlier run left the answer in Redis."""
        near = [c["text"] for c in (await self._ask.explain(asked.text)).candidates]
        return [text for text in near if await self._desk.label_of(text) == served]

    def _note_trap(self, asked: Asked, outcome: Outcome, verdict: Verdict, explanation: Explanation) -> None:
        candidates = explanation.candidates
        foreign = [c for c in candidates if self._truth.get(c["text"], asked.label) != asked.label]
        near = foreign[0] if foreign else None
        self._tally.traps.append(
            Trap(
                asked,
                self._contrasts[asked.question.text],
                ahead=near is not None and near is candidates[0],
                near=near["text"] if near else "",
                similarity=float(near["similarity"]) if near else None,
                lane=lane_of(outcome),
                verdict=verdict,
                reason=_reason(outcome, explanation),
            )
        )


def _reason(outcome: Outcome, explanation: Explanation) -> str:
    """Why the similar tier did not answer, with the guard that objected; empty if a tier answered."""
    if lane_of(outcome) is not Lane.BACKEND:
        return ""
    reason = outcome.misses.get("similar")
    detail = explanation.detail if reason is explanation.reasons.get("similar") else ""
    return ": ".join(filter(None, (reason or "", detail)))
