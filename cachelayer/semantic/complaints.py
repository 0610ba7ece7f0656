"""How far one principal's reports of wrong answers reach, where others made the answers. Pure.

A true report rids everybody of a wrong answer; a false one costs everybody a right one. Nothing tells them apart at
once. So each report counts for the reporter's own request. For everybody else it drops answers of others only up to a
limit: `FREE` answers an hour, and as many more as all others report. A principal may take back what it made itself.
Reports of no named principal are the owner's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

FREE: Final = 30
"""Answers of others that one principal may take from a scope in an hour, whatever others report."""
HOUR: Final = 3600.0
_SCOPES: Final = 256
_OLDEST: Final = 64
"""Scopes longest unused among which the one to forget is chosen."""
_REPORTERS: Final = 256
_ACCUSED: Final = 1024


def forget_least(scopes: OrderedDict[bytes, T], counted: Callable[[T], int]) -> None:
    """Make room: of the scopes longest unused the one with the least `counted` goes."""
    oldest = islice(scopes.items(), _OLDEST)
    del scopes[min(oldest, key=lambda one: counted(one[1]))[0]]


class Complaints:
    """Reports of the present hour, by scope and principal. Bounded: of the scopes longest without one that with the
    fewest is forgotten, so that nobody has its own reports of one scope forgotten by reports in many others."""

    def __init__(self) -> None:
        self._scopes: OrderedDict[bytes, _Hour] = OrderedDict()

    def accepts(self, scope: bytes, principal: str, author: str, now: float) -> bool:
        """Whether a report drops an answer of `author` for everybody; counted."""
        if not principal or principal == author:
            return True
        hour = self._hour(scope, now)
        reports = hour.reports
        mine = reports.get(principal, 0)
        others = hour.counted - mine
        if mine >= FREE + others or (not mine and len(reports) >= _REPORTERS):
            return False
        reports[principal] = mine + 1
        hour.counted += 1
        return True

    def repeated(self, scope: bytes, principal: str, answer: int, now: float) -> bool:
        """Whether this principal accused the same answer before, which then says nothing new."""
        if not principal:
            return False
        accused = self._hour(scope, now).accused
        known = (principal, answer) in accused
        if not known and len(accused) < _ACCUSED:
            accused.add((principal, answer))
        return known

    def _hour(self, scope: bytes, now: float) -> _Hour:
        hour = self._scopes.pop(scope, None)
        if hour is None or now - hour.began >= HOUR:
            hour = _Hour(now)
        self._scopes[scope] = hour
        if len(self._scopes) > _SCOPES:
            forget_least(self._scopes, lambda hour: hour.counted * (now - hour.began < HOUR))
        return hour


class _Hour:
    __slots__ = ("accused", "began", "counted", "reports")

    def __init__(self, began: float) -> None:
        self.began, self.counted = began, 0
        self.reports: dict[str, int] = {}
        self.accused: set[tuple[str, int]] = set()
