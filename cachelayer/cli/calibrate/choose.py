"""What to choose on and what to report on, and which settings to recommend. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ..traces.intervals import exact
from ..traces.read import Asked, Trace
from ..traces.rows import TraceError
from ..traces.tally import Tally

BOUNDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Error budgets tried."""
LEAST = 20
"""Requests that each part must have."""
Verdict = Literal["shown", "likely", "off"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommended run, as a whole; the verdict on the part it was chosen on."""

    run: Tally | None
    """None: no similar answers."""
    verdict: Verdict
    """'shown': the upper end of the 95 % interval keeps the target. 'likely': the evidence does not contradict it.
    'off': every budget broke it."""


def split(trace: Trace, share: float) -> tuple[Trace, int]:
    """The trace with the part to choose on first, and where the other begins. Raises TraceError if one is short.

    A stream is cut in time: what is reported is what came later. Pairs are dealt by connected component, so that no
    question of one part occurs in the other.
    """
    asked, cut = trace.asked, round(len(trace.asked) * share)
    if trace.pairs:
        fit = _in_fit(asked, share)
        parts = [[one for one, first in zip(asked, fit, strict=True) if first is of] for of in (True, False)]
        asked, cut = parts[0] + parts[1], len(parts[0])
    for part, name in ((asked[:cut], "to choose on"), (asked[cut:], "to report on")):
        counted = sum(one.counted for one in part)
        if counted < LEAST:
            raise TraceError(
                f"{trace.name}: {counted} requests {name}, which is too few; give at least {LEAST} to each "
                "part, better thousands (see --fit)"
            )
    return replace(trace, asked=asked), cut


def _in_fit(asked: Sequence[Asked], share: float) -> list[bool]:
    """Whether each request is to choose on: by a digest of the name of its component of questions."""
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        parent.setdefault(text, text)
        while parent[text] != text:
            parent[text] = parent[parent[text]]
            text = parent[text]
        return text

    by_scope: dict[str, str] = {}
    for one in asked:
        other = by_scope.setdefault(one.scope, one.text)
        a, b = sorted((root(one.text), root(other)))
        parent[b] = a
    return [_draw(root(one.text)) < share for one in asked]


def _draw(text: str) -> float:
    return (
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()) / 2**48
    )


def choose(runs: Sequence[Tally], cut: int, target: float) -> Choice:
    """The smallest budget that spares as much on the first part as any that kept the target there, within chance.

    Kept for sure where the Clopper-Pearson interval's upper end is within; else the owner's target itself is the
    budget, or the largest one that the evidence does not contradict.
    """
    fit = [(run, run.part(0, cut)) for run in runs]
    shown = [(run, part) for run, part in fit if part.similar and part.share_wrong_interval[1] <= target]
    if shown:
        enough = max((part for _, part in shown), key=lambda part: part.hit).hit_interval[0]
        as_good = [run for run, part in shown if part.hit >= enough]
        return Choice(min(as_good, key=lambda run: run.bound or 0.0), "shown")
    modest = [
        run for run, part in fit
        if (run.bound or 0.0) <= target and exact(part.wrong, part.similar)[0] <= target
    ]  # fmt: skip
    if modest:
        return Choice(max(modest, key=lambda run: run.bound or 0.0), "likely")
    return Choice(None, "off")


def reliability(run: Tally, bins: Sequence[float]) -> list[tuple[float, int, int]]:
    """(mean predicted risk, wrong, all) of the similar answers in each bin of predicted risk that holds any."""
    out = []
    for low, high in pairwise(bins):
        inside = [(1 - sure, right) for _, sure, right in run.confidences if low <= 1 - sure < high]
        if inside:
            mean = sum(risk for risk, _ in inside) / len(inside)
            out.append((mean, sum(not right for _, right in inside), len(inside)))
    return out
