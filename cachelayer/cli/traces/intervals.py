"""The exact interval of 95 % for a share, in plain arithmetic, and shares as text.

It treats requests as independent draws, as Wilson's (`observe.quality.wilson`) does. Requests of a stream are not quite
that (they share a cache and the backend's errors come in families), so intervals are a little narrower than the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Interval = tuple[float, float]
_TAIL = 0.025
"""What an interval leaves out at each end."""


def exact(successes: int, trials: int) -> Interval:
    """The interval of Clopper and Pearson (1934, Biometrika 26): never covers less often than it says."""
    if trials == 0:
        return 0.0, 1.0
    low = 0.0 if successes == 0 else _solve(lambda p: 1 - _at_most(successes - 1, trials, p), _TAIL)
    high = 1.0 if successes == trials else _solve(lambda p: -_at_most(successes, trials, p), -_TAIL)
    return low, high


def _solve(rising: Callable[[float], float], wanted: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_most(k: int, n: int, p: float) -> float:
    """P(X <= k) for a binomial X; sums the shorter tail."""
    if p <= 0.0 or p >= 1.0:
        return 1.0 if p <= 0.0 or k >= n else 0.0
    if k > n / 2:
        return 1.0 - _at_most(n - k - 1, n, 1.0 - p)
    if k < 0:
        return 0.0
    odds, log = math.log(p / (1 - p)), n * math.log1p(-p)
    total = math.exp(log)
    for i in range(1, k + 1):
        log += math.log((n - i + 1) / i) + odds
        total += math.exp(log)
    return min(1.0, total)


def limit(share: float) -> str:
    """'0.25%': a limit as it was given, not rounded to one that is stricter or looser."""
    return f"{share * 100:.10g}%"


def percent(bounds: Interval) -> str:
    """'0.1-2.3 %'."""
    low, high = (bound * 100 for bound in bounds)
    digits = 2 if high < 2 else 1 if high < 99.95 else 0
    return f"{low:.{digits}f}-{high:.{digits}f}"
