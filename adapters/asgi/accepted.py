"""Whom the app behind let in lately, and whom it refused since."""

from __future__ import annotations

import math
from collections import OrderedDict

Who = tuple[bytes, str | None]
"""Credentials and their tenant."""
Key = tuple[bytes, str | None, str]
"""The same at a path."""


class Grant:
    """That the app let somebody in: `until` when, monotonic seconds, that need not be asked again."""

    __slots__ = ("until",)

    def __init__(self) -> None:
        self.until = -math.inf


class Accepted:
    """Which credentials the app behind has let in lately. Holds hashes, at most `capacity`, and `paths` of each.

    An answer that comes late proves nothing: credentials that were refused while it was made are let in by none that
    was asked for before.
    """

    paths = 1024
    refusals = 0
    """How many there were: what `heard` is told of the moment at which the app was asked."""

    def __init__(self, seconds: float, *, capacity: int = 65536, nobody: bytes = b"") -> None:
        """`nobody`: the hash of no credentials, which many have: a refusal at one path is no word on others."""
        self._seconds, self._capacity, self._nobody = seconds, capacity, nobody
        self._grants: OrderedDict[Who, dict[str, Grant]] = OrderedDict()
        self._refused: OrderedDict[Who | Key, int] = OrderedDict()
        """The last refusal of each, at one path or at any."""
        self._forgotten = 0
        """The last refusal that is no more in there."""

    def grant(self, key: Key) -> Grant | None:
        """The grant of these credentials; None if they are not known here."""
        grants = self._grants.get(key[:2])
        return None if grants is None else grants.get(key[2])

    def heard(self, key: Key, status: int, now: float, asked: int | None = None) -> None:
        """Note the app's status: 2xx lets the credentials in, 403 removes them at once, 401 from all paths."""
        if 200 <= status < 300:
            if asked is None or asked == self.refusals or not self._refused_since(key, asked):
                self._let_in(key, now)
        elif status in (401, 403):
            everywhere = status == 401 and key[0] != self._nobody
            self._remember(key[:2] if everywhere else key)
            grants = self._grants.get(key[:2], {})
            for path in list(grants) if everywhere else [key[2]]:
                if (gone := grants.pop(path, None)) is not None:
                    gone.until = -math.inf

    def _remember(self, refused: Who | Key) -> None:
        self.refusals += 1
        self._refused[refused] = self.refusals
        self._refused.move_to_end(refused)
        if len(self._refused) > self._capacity:
            self._forgotten = self._refused.popitem(last=False)[1]

    def _refused_since(self, key: Key, asked: int) -> bool:
        return asked < max(self._forgotten, self._refused.get(key[:2], 0), self._refused.get(key, 0))

    def _let_in(self, key: Key, now: float) -> None:
        grants = self._grants.setdefault(key[:2], {})
        if (grant := grants.get(key[2])) is None:
            if len(grants) >= self.paths:
                _end(grants)
            grant = grants[key[2]] = Grant()
        grant.until = now + self._seconds
        self._grants.move_to_end(key[:2])
        if len(self._grants) > self._capacity:
            _end(self._grants.popitem(last=False)[1])


def _end(grants: dict[str, Grant]) -> None:
    for grant in grants.values():
        grant.until = -math.inf
    grants.clear()
