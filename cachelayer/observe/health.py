"""Whether the hit rate collapsed, and how long the event loop is held up."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from ..flow.waiting import Ticker
from .histogram import Histogram

Clock = Callable[[], float]
"""Monotonic seconds."""

_RECENT, _TYPICAL, _LEAST = 60.0, 3600.0, 100
"""Seconds of the last minute and of the hour before it; requests in a minute that tell something."""


class HitRate:
    """The hit rate of the last minute beside that of the hour before, and whether it fell beyond chance.

    It collapsed where at least 100 requests came within the last minute, five times as many before, and the recent
    rate is below half of the typical one and more than five standard errors away from it.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int, int]] = deque()

    def see(self, now: float, hits: int, requests: int) -> None:
        """What was counted in all until `now`, in monotonic seconds."""
        seen = self._seen
        if seen and now - seen[-1][0] < _RECENT / 60:
            return
        seen.append((now, hits, requests))
        while seen[0][0] < now - _TYPICAL - _RECENT:
            seen.popleft()

    def rates(self) -> tuple[float | None, float | None]:
        """(recent, typical); None if nothing was asked."""
        (hits, asked), (old_hits, old_asked) = self._windows()
        return hits / asked if asked else None, old_hits / old_asked if old_asked else None

    def _windows(self) -> tuple[tuple[int, int], tuple[int, int]]:
        if not self._seen:
            return (0, 0), (0, 0)
        seen = list(self._seen)  # another thread may look, too
        first, last = seen[0], seen[-1]
        edge = next(s for s in reversed(seen) if s[0] <= last[0] - _RECENT or s is first)
        return (last[1] - edge[1], last[2] - edge[2]), (edge[1] - first[1], edge[2] - first[2])

    @property
    def collapsed(self) -> bool:
        (hits, asked), (old_hits, old_asked) = self._windows()
        if asked < _LEAST or old_asked < 5 * _LEAST:
            return False
        typical = old_hits / old_asked
        error = math.sqrt(max(typical * (1.0 - typical), 1e-9) / asked)
        return hits / asked < typical / 2 and typical - hits / asked > 5 * error


class LoopMeter:
    """Looks every `interval` seconds how late the running loop comes to what is due, and calls `tick`.

    What it sees it adds to `lateness`, which the meters of several loops share: no loop's end makes a count fall.
    """

    def __init__(
        self, now: Clock, tick: Callable[[], None], lateness: Histogram, *, interval: float = 0.05
    ) -> None:
        self._now, self._tick, self._interval = now, tick, interval
        self.lateness = lateness
        self._late: list[float] = []
        self._worst: deque[tuple[float, float]] = deque()
        self._due = now() + interval
        self._ticker = Ticker(interval, self._look)

    def _look(self) -> None:
        now = self._now()
        late = max(now - self._due, 0.0)
        self._due = now + self._interval
        self._late.append(late)
        while self._worst and self._worst[-1][1] <= late:
            self._worst.pop()
        self._worst.append((now, late))
        if len(self._late) >= 20:
            self.fold()
            self._tick()

    def fold(self) -> Histogram:
        """All that was seen, by the other meters too."""
        late, self._late = self._late, []
        self.lateness.add_all(late)
        return self.lateness

    def worst(self) -> float:
        """Seconds: the longest stall of the last minute."""
        since = self._now() - 60.0
        while self._worst and self._worst[0][0] < since:
            self._worst.popleft()
        return self._worst[0][1] if self._worst else 0.0

    def stop(self) -> None:
        """No look after this."""
        self._ticker.stop()
        self.fold()
