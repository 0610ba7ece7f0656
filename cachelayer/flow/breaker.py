"""Circuit breaker: a tier that keeps failing is left alone for a while, then tried by one call at a time.

Closed, open and half-open after Nygard, "Release It!" (2007). Pauses grow with each failed trial. The caller reports
what happened; time is handed in, so that the breaker itself starts nothing and waits for nothing. Failures are weighed
by an exponential moving average, so that a tier that fails every second call opens it too.
"""

from __future__ import annotations

from enum import StrEnum

from ..protocols import Clock


class State(StrEnum):
    """What a breaker does with the next call."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


MOMENT = 0.002
"""Seconds."""
CLOSED = State.CLOSED
"""A look at an enum's member costs 0.1 us in Python 3.11."""


class Breaker:
    """Opens after `threshold` failures in a row, or when half of the calls fail, for `pause` seconds, doubled with each
    failed trial up to `longest`.

    Ask `allow()` before a call; report `success()` or `failure()` after it. A call that was cancelled for reasons of
    its own reports `abandoned()`. A trial that reports nothing within the pause is taken for lost and another may go.
    An overrun of the budget is a failure too: `overran()`.
    """

    __slots__ = (
        "_clock",
        "_held",
        "_keep",
        "_pause",
        "_until",
        "_overran",
        "longest",
        "opened",
        "pause",
        "share",
        "state",
    )

    def __init__(
        self, clock: Clock, *, threshold: int = 5, pause: float = 0.5, longest: float = 10.0
    ) -> None:
        if threshold < 1 or not 0 < pause <= longest:
            raise ValueError(
                f"{threshold=}, {pause=}, {longest=}: need threshold >= 1 and 0 < pause <= longest"
            )
        self._clock, self.pause, self.longest = clock, pause, longest
        self.state = State.CLOSED
        self.opened = 0  # times
        self.share = 0.0  # of failed calls, moving
        self._keep = 0.5 ** (1 / threshold)
        self._pause = pause
        self._until, self._overran = 0.0, float("-inf")
        self._held = False

    def allow(self) -> bool:
        """Whether the call may be made; while open and while a trial is under way, no."""
        if self.state is CLOSED:
            return True
        now = self._clock.monotonic()
        if now < self._until:
            return False
        self.state = State.HALF_OPEN
        self._until = now + self._pause
        return True

    def success(self) -> None:
        """The call ended well."""
        if self.share:
            self.share *= self._keep
        if self.state is not CLOSED and not self._held:
            self.state, self.share, self._pause = State.CLOSED, 0.0, self.pause

    def failure(self) -> None:
        """The call failed or took too long."""
        if self.state is State.HALF_OPEN:
            self._pause = min(2 * self._pause, self.longest)
            self._open()
        elif self.state is State.CLOSED:
            self.share = 1.0 - (1.0 - self.share) * self._keep
            if self.share > 0.499:
                self._open()

    def overran(self) -> None:
        """The call took too long: however many are given up in one moment, it is one failure of the tier's."""
        now = self._clock.monotonic()
        if self.state is State.HALF_OPEN or now - self._overran > MOMENT:
            self._overran = now
            self.failure()

    def abandoned(self) -> None:
        """The call was given up before it showed anything; a trial makes room for another."""
        if self.state is State.HALF_OPEN:
            self._until = self._clock.monotonic()

    def hurry(self) -> None:
        """There is word that the tier is well again: the next call may try it, whatever the trials before it showed."""
        if self.state is State.OPEN and not self._held:
            self._until, self._pause = self._clock.monotonic(), self.pause

    def hold(self) -> None:
        """Make no call until `release`, whatever those under way report."""
        if not self._held:
            self._held = True
            self._open()
            self._until = float("inf")

    def release(self) -> None:
        """The tier is well again, and may be asked."""
        self._held = False
        self.success()

    def _open(self) -> None:
        self.state = State.OPEN
        self.opened += 1
        self._until = self._clock.monotonic() + self._pause

    def __repr__(self) -> str:
        return f"<Breaker {self.state}, {self.share:.0%} failing, opened {self.opened} times>"
