"""A guard against the surge that follows a lost cache. Pure: time is handed in.

When the hit rate falls from h to 0 the misses grow by 1 / (1 - h): 2.5 times at 0.6, 5 times at 0.8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cachelayer.checks import number


@dataclass(frozen=True, kw_only=True, slots=True)
class BrownoutPolicy:
    """`surge` times the usual rate of misses is a brown-out; `growth` is how fast the rate let through may
    rise."""

    surge: float = 2.0
    growth: float = 0.02
    """Per second, as a share of the rate let through."""
    usual: float = 600.0
    recent: float = 5.0
    """Time constants of the two averages, in seconds."""
    least: float = 5.0
    """Misses a second below which nothing is a surge."""

    def __post_init__(self) -> None:
        for name in ("growth", "usual", "recent", "least"):
            number(name, getattr(self, name), above=True)
        number("surge", self.surge, 1.0, above=True, unit="a factor")


class Brownout:
    """Misses per second, usual and recent, and a bucket that lets a surge through at a rate that rises
    slowly."""

    def __init__(self, policy: BrownoutPolicy, now: float) -> None:
        self._policy = policy
        self._usual = self._recent = 0.0
        self._began = self._at = now
        self._allowed = math.inf
        self._tokens = 0.0
        self.active = False

    def arrive(self, now: float) -> float:
        """Note one miss; seconds that it should wait: 0 outside a surge."""
        self._decay(now)
        self._usual += 1 / self._policy.usual
        self._recent += 1 / self._policy.recent
        age = now - self._began
        # averages that started at zero are low by this factor until they are old
        usual = self._usual / -math.expm1(-age / self._policy.usual) if age > 0 else self._usual
        surging = self._recent > self._policy.least and self._recent > self._policy.surge * usual
        if surging and not self.active and age > 4 * self._policy.recent:
            self.active, self._allowed, self._tokens = (
                True,
                max(usual, self._policy.least) * self._policy.surge,
                0.0,
            )
        elif self.active and self._recent < 0.9 * self._allowed:
            self.active, self._allowed = False, math.inf
        if not self.active:
            return 0.0
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._allowed)

    def refused(self) -> None:
        """The miss that was just noted did not wait: it was shed."""
        self._tokens += 1.0

    def _decay(self, now: float) -> None:
        passed = max(0.0, now - self._at)
        self._at = now
        self._usual *= math.exp(-passed / self._policy.usual)
        self._recent *= math.exp(-passed / self._policy.recent)
        if self.active:
            self._tokens = min(1.0, self._tokens + passed * self._allowed)
            self._allowed *= math.exp(self._policy.growth * passed)
