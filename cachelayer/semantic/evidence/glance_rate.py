"""Whether it is worth while to glance at the requests of a function before the model makes their vectors."""

from __future__ import annotations

from typing import Final

LEAST: Final = 0.25
"""Share of glances that must decide: each costs a search and a reading, about half of the model's time, which it saves
where it decides."""
NOW_AND_THEN: Final = 16
"""Where fewer do, one request in so many is still glanced at, as that may change."""
KEEP: Final = 0.98
KEEP_RARE: Final = 0.9
"""The same where glances are rare: what they find shows within a hundred requests, not a thousand."""


class GlanceRate:
    """What share of the glances at one function's requests decided lately."""

    def __init__(self) -> None:
        self.share = 1.0
        self._waited = 0

    def due(self, *, counted: bool) -> bool:
        """Whether the next request is glanced at. `counted`: it comes now, and waits no longer."""
        waited = self._waited + 1
        due = self.share >= LEAST or waited >= NOW_AND_THEN
        if counted:
            self._waited = 0 if due else waited
        return due

    def learn(self, decided: bool) -> None:
        """What came of a glance. After one that decided the next is due, however rare they are."""
        if decided:
            self._waited = NOW_AND_THEN
        keep = KEEP if self.share >= LEAST else KEEP_RARE
        self.share = keep * self.share + (1.0 - keep) * decided
