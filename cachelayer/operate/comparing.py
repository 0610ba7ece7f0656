"""Compares a cheap model with a reference, which is asked a sample of the same questions in the background."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import AsyncIterator, Callable
from functools import partial
from hashlib import blake2b
from random import random
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError
from ..exact.answers.admission import failed, text_of
from ..flow.attempt import Faults
from ..keep.accounts import model_of
from ..keep.call import Call, Function, Landing
from ..keep.streams import seen_of
from ..observe.quality import Hit, Quality
from ..semantic.answers import normalize
from ..semantic.evidence.budget import Interval
from ..semantic.evidence.prose import say_the_same
from ..semantic.tier import SimilarTier
from ..semantic.types import Same
from ..types import Reason

if TYPE_CHECKING:
    from ..tiers.hierarchy import Tiers

LONGEST = 120.0
"""Seconds that the reference may take for an answer nobody waits for."""


class Comparison:
    """How often a function's own answers say the same as a reference's.

    `quality` holds slices, hours, drifting scopes and the differing answers; the share of those that differ has a
    confidence sequence like the error budget's (`budget.Interval`). Answers are compared by the function's `judge=`
    if it has one, else by the rules of `saying`; doubt counts as a difference.
    """

    def __init__(
        self,
        function: Function,
        reference: Callable[..., Any],
        *,
        judge: Same | None,
        share: float,
        keep: int,
    ) -> None:
        if not callable(reference):
            raise ConfigurationError("reference", reference, "give a function that takes the same arguments")
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0.0 < share <= 1.0:
            raise ConfigurationError("share", share, "give a share above 0, at most 1")
        if function.plain:
            remedy = "wrap an async function: a plain one has no loop on which to ask the reference"
            raise ConfigurationError("function", function.name, remedy)
        self.quality = Quality(keep=keep)
        self.answers = 0
        """Answers that could have been compared."""
        self._reference, self._share, self._judge = reference, float(share), judge
        self._interval = Interval()

    def draw(self, call: Call, faults: Faults) -> None:
        """An answer is about to be made: draw whether it is compared, and if so keep a copy of its arguments."""
        if random() < self._share:
            asked = faults.attempt_now("compare", call.function.identifier.held, call.args, call.kwargs)
            call.drawn = None if isinstance(asked, Reason) else asked

    def see(self, call: Call, landing: Landing, tiers: Tiers) -> None:
        """An answer was made: if it was drawn and kept, compare it, in the caller's context."""
        identity, slot = call.identity, landing.slot
        if identity is None or slot is None or not call.policy.pure:
            return
        said = tiers.faults.attempt_now("compare", lambda: text_of(seen_of(call.function, slot.answer)))
        if said is None or isinstance(said, Reason):
            return
        self.answers += 1
        if call.drawn is not None:
            scope = blake2b(identity.partition(), digest_size=6).hexdigest()
            model = model_of(call.function, call.kwargs, identity)
            asked = identity.text or ""
            hit = Hit(
                f"d{call.digest:x}", call.function.name, scope, asked, asked, said, 1.0, 1.0, f"model:{model}"
            )
            compared = partial(self._attempt, call, hit, tiers, self.quality.erasures)
            tiers.background.spawn(compared, contextvars.copy_context())

    async def _attempt(self, call: Call, hit: Hit, tiers: Tiers, began: int) -> None:
        compared = self._compare(call, hit, tiers.similar_to(call.function), began)
        await tiers.faults.attempt("compare", compared, LONGEST)

    async def _compare(self, call: Call, hit: Hit, tier: SimilarTier | None, began: int) -> None:
        """`began`: how many erasures there were then; after another, nothing of it is kept."""
        assert call.drawn is not None
        args, kwargs = call.drawn
        answer = self._reference(*args, **kwargs)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, AsyncIterator):
            answer = [chunk async for chunk in answer]
        seen = call.function.seen(answer)
        truth = None if failed(seen) else text_of(seen)
        if truth is None or began != self.quality.erasures:
            return
        right = await self._agree(hit, truth, tier)
        if began != self.quality.erasures:
            return
        self.quality.served(hit)
        self.quality.checked(hit, right, truth)
        self._interval.hit(1.0, True, not right)  # drawn by chance: what was compared stands for all
        call.function.stats.model_verdicts["same" if right else "different"] += 1

    async def _agree(self, hit: Hit, truth: str, tier: SimilarTier | None) -> bool:
        if normalize(hit.answer) == normalize(truth):
            return True
        if self._judge is not None:
            return await self._judge(hit.answer, truth)
        if tier is None:
            return False
        embedded = await tier.embedder.embed([hit.answer, truth])
        return bool(all(embedded.complete)) and say_the_same(hit.answer, truth, embedded.vectors)

    def bounds(self) -> tuple[float | None, float, float]:
        """(estimate, low, high) of the share of answers that differ; 95 %, valid at any time."""
        return self._interval.estimate, *self._interval.bounds()

    def report(self) -> dict[str, Any]:
        """`Quality.report`, with the number of answers, the share that differs and its 95 % bounds."""
        estimate, low, high = self.bounds()
        return {
            **self.quality.report(),
            "answers": self.answers,
            "different": estimate,
            "low": low,
            "high": high,
        }
