"""The error budget: how much risk may be served, and whether the promise holds.

`Ledger` spends: it serves the requests of least risk until the mean risk of what was served meets the bound, less
a margin for chance. `Alarm` tests: an e-process over checked hits, a bet whose wealth grows only if more is wrong
than the bound allows (Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting", JRSS-B
2024; with inverse sampling probabilities as in Waudby-Smith et al., "Anytime-valid off-policy inference", 2022),
never below 1, so that a late change is not hidden by a good past (e-detector: Shin, Ramdas & Rinaldo 2023).
`Interval` estimates: the same bets against every possible error rate, inverted into a confidence sequence that is
valid at any time.
"""

from __future__ import annotations

import math
from collections import Counter
from operator import mul
from typing import Final

import numpy as np

from .calibration import BANDS, EDGES, Calibration, band

_LEVELS: Final = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625)
"""Sampling probabilities of checks. Few, so that counts per level say everything."""


def level(probability: float) -> float:
    """The smallest level that is not below `probability`; 0 stays 0."""
    if probability <= 0.0:
        return 0.0
    return min((v for v in _LEVELS if v >= probability), default=1.0)


COOLING: Final = 0.995
"""What a label leaves of an early warning."""


class Ledger:
    """Chooses the risk up to which one serves under one bound.

    The predicted number of wrong answers stays MARGIN standard deviations (of a Poisson count) below what the bound
    allows. Both are counted after HORIZON more hits, and at least after so many that the bound allows FEWEST wrong
    ones: with fewer hits the margin would take two thirds of a small bound. The latest requests, about 1 / (1 - KEEP)
    of them, stand for the coming ones. No single risk above EACH times the bound is served, however little was spent.
    """

    MARGIN: Final = 2.2
    HORIZON: Final = 800.0
    FEWEST: Final = 10.0
    KEEP: Final = 1.0 - 0.004
    EACH: Final = 4.0

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self.hits = 0
        self.cold = 0.0
        """Sum of risk served on the word of the pair verifier."""
        self.served = [0.0] * BANDS
        """Sum of predicted risk served, by band."""
        self.charged = 0.0
        """Sum of risk served, as it was corrected at its time."""
        self._count = [0.0] * BANDS
        self._risk = [0.0] * BANDS
        self._seen = 0
        self.limit = bound
        self.typical = bound
        """Mean corrected risk of what is served now."""
        self.scale = 1.0
        """Below 1 while the alarm asks for caution."""

    def target(self, scale: float = 1.0) -> float:
        """The mean risk to aim at: lower than the bound by the margin, which fades as hits grow."""
        hits = max(self.hits + self.HORIZON, self.FEWEST / self.bound)
        allowed = self.bound * scale * hits
        root = (math.sqrt(self.MARGIN**2 + 4.0 * allowed) - self.MARGIN) / 2.0
        return root * root / hits

    def see(self, risk: float, calibration: Calibration) -> None:
        """A request with a candidate came, of this predicted risk: what is seen sets the limit."""
        at, keep = band(risk), self.KEEP
        self._count = list(map(keep.__mul__, self._count))
        self._risk = list(map(keep.__mul__, self._risk))
        self._count[at] += 1.0
        self._risk[at] += risk
        if self._seen % 10 == 0:
            self._set_limit(calibration)
        self._seen += 1

    def admits(self, risk: float, calibration: Calibration) -> bool:
        """Whether one more answer of this predicted risk fits.

        Where more than the target was spent, on the word of the pair verifier, what is well below it is still served:
        it lowers the mean.
        """
        corrected, target = calibration.corrected(risk), self.target()
        if corrected > self.limit:
            return False
        if corrected <= 0.5 * target * self.scale:
            return True
        return self.spent(calibration) + corrected <= target * (self.hits + 1)

    def admits_pair(self, risk: float, calibration: Calibration) -> bool:
        """The same for a risk in which the pair verifier had a say: without a margin, but each within the bound."""
        spent = self.spent(calibration) + risk
        return risk <= self.bound * self.scale and spent <= self.bound * (self.hits + 1)

    def spent(self, calibration: Calibration) -> float:
        """Risk served so far: what it was taken for at its time, or less where its like has proved safer since.

        Never more: where questions changed, what came since says nothing of what was served before.
        """
        safer: float = sum(map(mul, self.served, calibration.factors))
        return self.cold + min(self.charged, safer)

    def serve_pair(self, risk: float) -> None:
        self.hits += 1
        self.cold += risk

    def serve(self, risk: float, calibration: Calibration) -> None:
        self.hits += 1
        self.served[band(risk)] += risk
        self.charged += calibration.corrected(risk)

    def _set_limit(self, calibration: Calibration) -> None:
        """Fill up from the safest band until the mean meets the target; within the last band by interpolation."""
        target, most = self.target(self.scale), self.EACH * self.bound
        seen = [b for b in range(BANDS) if self._count[b] > 0]
        means = {b: self._risk[b] / self._count[b] * calibration.factors[b] for b in seen}
        total = number = 0.0
        limit = target
        for b in sorted(seen, key=means.__getitem__):
            more, risk = self._count[b], means[b]
            if risk > most:
                limit = most
                break
            if total + risk * more <= target * (number + more):
                total, number = total + risk * more, number + more
                limit = max(limit, risk * 1.25)
                continue
            share = min(1.0, (target * number - total) / ((risk - target) * more))
            low = EDGES[b - 1] if b > 0 else 1e-5
            high = EDGES[b] if b < len(EDGES) else 1.0
            limit = max(limit, calibration.factors[b] * low * (high / low) ** share)
            break
        self.limit = min(limit, most)
        self.typical = max(total / number if number else target, 1e-5)


class Alarm:
    """Wealth of bets that more than `bound` of what is served is wrong.

    A bet begins with every 64th hit, the j-th with stake 1 / (j (j + 1)), so that all stakes are 1 and a late change
    is not hidden by a good past. While the bound is kept, the probability that `wealth` ever reaches w is at most
    1 / w (Ville 1939). `recent` also restarts at 1 whenever it fell below: it warns early and proves nothing.

    What is staked on a hit must not depend on its risk: those checked more often would weigh more than they are.
    """

    _RATIOS: Final = (1.5, 2.0, 4.0, 10.0, 40.0)
    _EVERY: Final = 64

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self._extra = [min(ratio - 1.0, 0.9 / bound) for ratio in self._RATIOS]
        self._wealth: list[float] = []
        self._recent: list[float] = []
        self.reset()

    def hit(self, probability: float, wrong: bool, stake: float | None = None) -> float:
        """Count a hit checked with `probability`; `wrong` only if it was checked and found so. Returns wealth. `stake`:
        the probability for hits in general, at this time; left out, that of this one.
        """
        if probability > 0.0:
            if self._hits % self._EVERY == 0:
                start = self._hits // self._EVERY + 1
                self._wealth = [wealth + 1.0 / (start * (start + 1.0)) for wealth in self._wealth]
            self._hits += 1
            excess = (stake or probability) * ((1.0 / probability if wrong else 0.0) - self.bound)
            factors = [1.0 + extra * excess for extra in self._extra]
            self._wealth = list(map(mul, self._wealth, factors))
            self._recent = [
                max(recent, 1.0) * factor for recent, factor in zip(self._recent, factors, strict=True)
            ]
        return self.wealth

    def lost(self, probability: float, stake: float | None = None) -> None:
        """A check drawn with `probability` came to nothing: what the hits that were not drawn beside it took from the
        wealth is given back, so that it stays a fair game."""
        back = (stake or probability) * (1.0 / probability - 1.0) * self.bound
        self._wealth = [
            wealth * (1.0 + extra * back) for wealth, extra in zip(self._wealth, self._extra, strict=True)
        ]

    @property
    def wealth(self) -> float:
        return sum(self._wealth) / len(self._wealth)

    def cool(self) -> None:
        """A label came that was no check: an early warning wears off with them too, or few hits would keep it up."""
        self._recent = [recent * COOLING for recent in self._recent]

    @property
    def recent(self) -> float:
        return sum(self._recent) / len(self._recent)

    def reset(self) -> None:
        self._hits = 0
        self._wealth = [0.0] * len(self._RATIOS)
        self._recent = [1.0] * len(self._RATIOS)


class Interval:
    """Counts of hits and of wrong ones found, by sampling probability; the error rate that they allow.

    `stake`, as for `Alarm`, must be no more than any probability at that time.
    """

    _RATES = np.exp(np.linspace(math.log(2e-4), math.log(0.9), 120))
    _RATIOS = np.array([0.0, 0.1, 0.3, 0.6, 1.6, 3.0, 6.0, 15.0])
    ALPHA: Final = 0.05

    def __init__(self) -> None:
        self.hits = dict.fromkeys(_LEVELS, 0)
        self.checked = dict.fromkeys(_LEVELS, 0)
        self.wrong = dict.fromkeys(_LEVELS, 0)
        self._staked, self._found = Counter[float](), Counter[tuple[float, float]]()
        """Hits by stake; wrong ones by stake and probability."""

    def hit(self, probability: float, checked: bool, wrong: bool, stake: float | None = None) -> None:
        if probability > 0.0:
            self._staked[stake or probability] += 1
            self._found[stake or probability, probability] += wrong
            self.hits[probability] += 1
            self.checked[probability] += checked
            self.wrong[probability] += wrong

    def lost(self, probability: float, stake: float | None = None) -> None:
        """A check drawn with `probability` came to nothing, and the hits that it stood for say nothing either."""
        self.hits[probability] -= (others := round(1.0 / probability) - 1)
        self._staked[stake or probability] -= others

    @property
    def checks(self) -> int:
        return sum(self.checked.values())

    @property
    def estimate(self) -> float | None:
        """Horvitz-Thompson estimate of the share of wrong answers among hits; None before the first check."""
        if not self.checks:
            return None
        hits = sum(max(hits, self.checked[p]) for p, hits in self.hits.items())  # more may be lost
        return min(1.0, sum(w / p for p, w in self.wrong.items()) / hits)

    def bounds(self) -> tuple[float, float]:
        """A (1 - ALPHA) confidence sequence: (lowest, highest) error rate that the bets do not rule out."""
        rates, extra = self._RATES[:, None], self._RATIOS[None, :] - 1.0
        extra = np.minimum(extra, 0.9 / rates)
        log = np.zeros((self._RATES.size, self._RATIOS.size))
        rest = self._staked.copy()
        for (stake, p), wrong in self._found.items():
            rest[stake] -= wrong
            if wrong:
                with np.errstate(divide="ignore"):
                    log += wrong * np.log(np.maximum(0.0, 1.0 + extra * stake * (1.0 / p - rates)))
        for stake, hits in rest.items():
            log += max(hits, 0) * np.log1p(-stake * extra * rates)
        top = log.max(axis=1, keepdims=True)
        wealth = top[:, 0] + np.log(np.exp(log - top).mean(axis=1))
        kept = self._RATES[wealth < math.log(1.0 / self.ALPHA)]
        if not kept.size:
            estimate = self.estimate or 0.0
            return estimate, estimate
        low = 0.0 if kept[0] == self._RATES[0] else float(kept[0])
        return low, 1.0 if kept[-1] == self._RATES[-1] else float(kept[-1])
