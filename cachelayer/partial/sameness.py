"""When two queries want the same documents: a similarity learned from the overlap of real results. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..protocols import Decider
from ..semantic.guards.plain import veto
from ..semantic.text.signature import signature
from ..types import Candidate, Decision, Query, Reason
from .ranking import Ranking, id_of

LEAST: Final = 0.70
STEPS: Final = 60
"""Thresholds considered, from LEAST to 1."""
FEWEST: Final = 20
"""Comparisons without which there is no threshold, however many documents they spoke of."""
EAGER: Final = 0.25
"""Share of hits that are checked until SETTLED were; then CALM."""
CALM: Final = 0.04
SETTLED: Final = 200

SEEN: Final = 512
"""Fresh results remembered of a function, with their queries, for comparison with those to come."""

_signature = lru_cache(4096)(signature)


class Sameness:
    """Losses (share of a fresh result that the cached one lacks) by similarity, and the threshold they allow.

    A threshold holds where, from there up, FEWEST comparisons or more were made, and of the documents that were wanted
    no more than the bound's share was missing, one missing document added. There is no hit before.
    """

    def __init__(self) -> None:
        self._counts, self._losses = [0] * (STEPS + 1), [0.0] * (STEPS + 1)
        self._wanted = [0] * (STEPS + 1)
        self.compared = 0
        self.seen: dict[tuple[bytes, str], tuple[NDArray[np.float32], str]] = {}
        """(scope, query) -> its vector and its latest fresh result."""

    def add(self, similarity: float, loss: float, wanted: int) -> None:
        """One comparison of a cached result with a fresh one of `wanted` documents, whose share `loss` it lacked."""
        place = _place(similarity)
        if place >= 0:
            self.compared += 1
            self._counts[place] += 1
            self._losses[place] += loss * wanted
            self._wanted[place] += wanted

    def threshold(self, bound: float) -> float | None:
        """The lowest similarity that serves within `bound`; None if none is known to."""
        count, wanted, loss, best = 0, 0, 0.0, None
        for place in range(STEPS, -1, -1):
            count += self._counts[place]
            wanted += self._wanted[place]
            loss += self._losses[place]
            enough = count >= FEWEST and self._counts[place] > 0
            if enough and (loss + 1.0) / (wanted + 1) <= bound:
                best = LEAST + place * (1.0 - LEAST) / STEPS
        return best


def _place(similarity: float) -> int:
    return min(int((similarity - LEAST) / (1.0 - LEAST) * STEPS + 1e-9), STEPS) if similarity >= LEAST else -1


def listed(asked: int | None, names: Sequence[str]) -> str:
    """A result as the text that deciders compare: how many were asked for, then the documents' names, best first.

    Never empty: that nothing was found is an answer.
    """
    return "\n".join([str(asked or ("" if names else 0)), *names])


Order = Callable[[Sequence[str]], Sequence[int] | None]


def as_found(names: Sequence[str]) -> Sequence[int]:
    """The order in which a result came."""
    return range(len(names))


def loss(cached: str, fresh: str, order: Order = as_found) -> float | None:
    """The share of what `fresh` was asked for that the best of `cached`, as many, lack; 0 if both are empty.

    `order` ranks what is cached for the query that `fresh` answers; None if it cannot.
    """
    wanted = _wanted(fresh)
    held = cached.split("\n")[1:]
    if not wanted:
        return 1.0 if held else 0.0
    places = order(held)
    if places is None:
        return None
    best = {id_of(held[place]) for place in places[: len(wanted)]}
    return 1.0 - len(best.intersection(map(id_of, wanted))) / len(wanted)


def _wanted(fresh: str) -> list[str]:
    asked, *found = fresh.split("\n")
    return found[: int(asked)] if asked else found


class RetrievalDecider:
    """A `Decider` that serves the nearest query's result from the learned threshold on; one per function."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._functions: dict[str, Sameness] = {}
        self._rankings: dict[str, Ranking] = {}

    def knows(self, function: str) -> bool:
        return function in self._functions

    def enlist(self, function: str, ranking: Ranking) -> None:
        """From now on this function's requests are decided here, its results in the order of `ranking`."""
        self._functions.setdefault(function, Sameness())
        self._rankings[function] = ranking

    def _order(self, function: str, query: Query) -> Order:
        return lambda names: self._rankings[function].order(names, query.vector)

    def preview(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        sameness = self._functions[function]
        mine = _signature(query.text)
        fit = (one for one in candidates if not veto(mine, _signature(one.text)))
        near = max(fit, key=lambda one: one.similarity, default=None)
        if near is None:
            return Decision(None, 0.0, 0.0, Reason.GUARD if candidates else Reason.NO_CANDIDATE)
        allowed = sameness.threshold(max_error_rate)
        if allowed is None or near.similarity < allowed:
            why = f"{sameness.compared} comparisons allow {'none' if allowed is None else f'{allowed:.3f}'}"
            return Decision(None, 0.0, near.similarity, Reason.UNSURE, why)
        if near.answer is None or self._order(function, query)(near.answer.split("\n")[1:]) is None:
            return Decision(None, 0.0, near.similarity, Reason.UNSURE, "its documents cannot be ranked yet")
        share = EAGER if sameness.compared < SETTLED else CALM
        detail = f"the same documents from {allowed:.3f} on"
        return Decision(
            near.entry, 1.0 - max_error_rate, near.similarity, None, detail, self._random() < share
        )

    decide = preview

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None:
        """Compare a fresh result with those of similar queries before it: what these would have served instead."""
        sameness, order = self._functions[function], self._order(function, query)
        mine = _signature(query.text)
        for (where, text), (vector, held) in sameness.seen.items():
            similarity = float(vector @ query.vector) if where == scope and text != query.text else 0.0
            if similarity >= LEAST and not veto(mine, _signature(text)):
                lost = loss(held, answer, order)
                if lost is not None:
                    sameness.add(min(similarity, 1.0), lost, max(len(_wanted(answer)), 1))
        sameness.seen.pop((scope, query.text), None)
        sameness.seen[scope, query.text] = query.vector, answer
        if len(sameness.seen) > SEEN:
            del sameness.seen[next(iter(sameness.seen))]

    def forget_texts(self) -> None:
        """An erased tenant's queries must not stay."""
        for sameness in self._functions.values():
            sameness.seen.clear()

    def stats(self) -> dict[str, Any]:
        return {name: {"compared": one.compared} for name, one in self._functions.items()}


class Routed:
    """The layer's decider, with retrievals decided by their own. Whatever else it offers is passed through."""

    def __init__(self, inner: Decider, retrievals: RetrievalDecider) -> None:
        self.inner, self.retrievals = inner, retrievals

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _for(self, function: str) -> Any:
        return self.retrievals if self.retrievals.knows(function) else self.inner

    def decide(self, function: str, *rest: Any) -> Decision:
        decision: Decision = self._for(function).decide(function, *rest)
        return decision

    def preview(self, function: str, *rest: Any) -> Decision:
        decision: Decision = self._for(function).preview(function, *rest)
        return decision

    def observe(self, function: str, *rest: Any) -> None:
        self._for(function).observe(function, *rest)

    def stored(self, entry: int, function: str, *rest: Any) -> None:
        if not self.retrievals.knows(function):
            self.inner.stored(entry, function, *rest)

    def forget_texts(self) -> None:
        self.retrievals.forget_texts()
        getattr(self.inner, "forget_texts", lambda: None)()

    def stats(self) -> dict[str, Any]:
        return {**self.inner.stats(), "retrievals": self.retrievals.stats()}
