"""Whom the app behind let in lately, and whom it refused since."""

from __future__ import annotations

import math
from collections import OrderedDict

Key = tuple[bytes, str | None, str]
"""Credentials, their tenant, the path."""


class Grant:
    """That the app let somebody in: `until` when, monotonic seconds, that need not be asked again."""

    __slots__ = ("until",)

    def __init__(self) -> None:
        self.until = -math.inf


class Accepted:
    """Which credentials the app behind has let in lately. Holds hashes, at most `capacity`, and `places` of each.

    An answer that comes late proves nothing: credentials that were refused while it was made are let in by none that
    was asked for before.
    """

    places = 1024
    refusals = 0
    """How many there were: what `heard` is told of the moment at which the app was asked."""

    def __init__(self, seconds: float, *, capacity: int = 65536) -> None:
        self._seconds, self._capacity = seconds, capacity
        self._grants: OrderedDict[bytes, dict[tuple[str | None, str], Grant]] = OrderedDict()
        self._refused: OrderedDict[bytes, int] = OrderedDict()
        """The last refusal of each."""
        self._forgotten = 0
        """The last refusal that is no more in there."""

    def grant(self, key: Key) -> Grant | None:
        """The grant of these credentials; None if they are not known here."""
        grants = self._grants.get(key[0])
        return None if grants is None else grants.get(key[1:])

    def heard(self, key: Key, status: int, now: float, asked: int | None = None) -> None:
        """Note the app's status: 2xx lets the credentials in, 403 removes them at once, 401 wherever they are known."""
        who, where = key[0], key[1:]
        if 200 <= status < 300:
            if asked is None or asked == self.refusals or not self._refused_since(who, asked):
                self._let_in(who, where, now)
        elif status in (401, 403):
            self.refusals += 1
            self._refused[who] = self.refusals
            self._refused.move_to_end(who)
            if len(self._refused) > self._capacity:
                self._forgotten = self._refused.popitem(last=False)[1]
            grants = self._grants.get(who, {})
            for place in [where] if status == 403 else list(grants):
                if (gone := grants.pop(place, None)) is not None:
                    gone.until = -math.inf

    def _refused_since(self, who: bytes, asked: int) -> bool:
        return asked < self._forgotten or asked < self._refused.get(who, 0)

    def _let_in(self, who: bytes, where: tuple[str | None, str], now: float) -> None:
        grants = self._grants.setdefault(who, {})
        if (grant := grants.get(where)) is None:
            if len(grants) >= self.places:
                _end(grants)
            grant = grants[where] = Grant()
        grant.until = now + self._seconds
        self._grants.move_to_end(who)
        if len(self._grants) > self._capacity:
            _end(self._grants.popitem(last=False)[1])


def _end(grants: dict[tuple[str | None, str], Grant]) -> None:
    for grant in grants.values():
        grant.until = -math.inf
    grants.clear()
