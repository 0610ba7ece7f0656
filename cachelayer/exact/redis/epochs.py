"""Epochs: every entry carries a token for its scope and each of its tags; to invalidate is to write a new token.

A token is random, so that an epoch that was evicted, expired or flushed never makes old entries valid again: its
successor differs from all before it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct, error

from .names import SEALED
from .wire import DEP

VALUE = Struct("<B8s8sdB")
VERSION, HIDDEN = 1, 2
"""Of a value whose name stands in clear, and of one whose name is encrypted."""
BORN, DECLARED = 0, 1
"""Why a token was written: there was none; an invalidation or deletion."""
NEVER = float("-inf")
NOBODY = bytes(8)
"""The incarnation of a server that does not tell it."""
LIMIT = 16_384
"""Epochs remembered by one process."""
TTL = 86400.0
"""Seconds an epoch is kept at least: longer than any computation that an invalidation must outlive."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """What Redis holds under an epoch's name, and under a deleted entry's."""

    token: bytes
    incarnation: bytes
    """Of the server process that it was written to."""
    written: float
    """Server's clock, seconds."""
    kind: int
    name: bytes = b""
    """The tag or scope, as `Names.label` calls it."""

    def pack(self) -> bytes:
        version = HIDDEN if self.name.startswith(SEALED) else VERSION
        return VALUE.pack(version, self.token, self.incarnation, self.written, self.kind) + self.name


def unpack(raw: bytes | None) -> Epoch | None:
    """The epoch that Redis holds; None if there is none, or none that this version reads."""
    if not isinstance(raw, bytes):
        return None
    try:
        version, token, incarnation, written, kind = VALUE.unpack_from(raw)
    except error:
        return None
    if version not in (VERSION, HIDDEN):
        return None
    return Epoch(token, incarnation, written, kind, raw[VALUE.size :])


@dataclass(frozen=True, slots=True)
class Known:
    """What this process knows of an epoch. Times are our monotonic clock's, seconds."""

    token: bytes
    """b"" where Redis has none, or none to be trusted."""
    learned: float
    declared: float
    """When it was invalidated last, as far as the token tells."""
    until: float
    """When Redis forgets it."""
    standing: float = float("inf")
    """When it was written, if to this run of the server: which has lost nothing of its memory from then on."""
    overwrite: bool = False
    """Whether there is an untrusted value in the way."""


def learned(epoch: Epoch, now: float, offset: float, incarnation: bytes, *, lost: bool) -> Known:
    """What an epoch tells that was read `now` from this run of a server, whose clock is `offset` ahead of ours.

    `lost`: whether another was known before. If it was evicted, what it told of the last invalidation went with it.
    """
    written = min(epoch.written - offset, now)  # the server's clock may have been set back since
    standing = written if epoch.incarnation == incarnation != NOBODY else float("inf")
    return Known(epoch.token, now, written if epoch.kind == DECLARED or lost else NEVER, now, standing)


class Table:
    """The epochs known, kept coherent by whoever owns it: what a push names is forgotten, what a lost connection may
    have missed too."""

    __slots__ = ("_doubted", "_known", "overflowed", "valid")

    def __init__(self) -> None:
        self.overflowed = False  # more were needed than remembered
        self._known: dict[bytes, Known] = {}
        self._doubted: dict[bytes, bytes] = {}
        """Tokens of what was forgotten, and of which no other is known."""
        self.valid: set[bytes] = set()
        """The epochs of entries, as they stand in them, whose tokens are all known to be the current ones."""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[bytes]:
        return iter(tuple(self._known))

    def get(self, digest: bytes) -> Known | None:
        return self._known.get(digest)

    def learn(self, digest: bytes, known: Known) -> None:
        if len(self._known) >= LIMIT:
            self.overflowed = True
            self.clear()
        old = self._known.get(digest)
        if old is not None and old.token != known.token:
            self.forget(digest)
        self._known[digest] = known
        if known.token:
            self._doubted.pop(digest, None)

    def succeeds(self, digest: bytes, token: bytes) -> bool:
        """Whether `token` comes after another that was known."""
        known = self._known.get(digest)
        before = known.token if known is not None and known.token else self._doubted.get(digest, token)
        return before != token

    def forget(self, digest: bytes) -> bytes | None:
        """Returns the token that was known and may still be current; b"" if it was lost; None if none was known."""
        self.valid.clear()
        known = self._known.pop(digest, None)
        if known is not None and known.token:
            if len(self._doubted) >= LIMIT:
                self._doubted.clear()
                self.overflowed = True
            self._doubted[digest] = known.token
        return self._doubted.get(digest, b"" if self.overflowed else None)

    def clear(self) -> None:
        self._known.clear()
        self._doubted.clear()
        self.valid.clear()

    def compare(self, deps: bytes) -> list[bytes] | None:
        """None if a token is known to be outdated, else the digests of those not known; [] means valid."""
        unknown = []
        for at in range(0, len(deps), DEP):
            known = self._known.get(deps[at : at + 16])
            if known is None:
                unknown.append(deps[at : at + 16])
            elif known.token != deps[at + 16 : at + DEP]:
                return None
        if not unknown:
            if len(self.valid) >= LIMIT:
                self.valid.clear()
            self.valid.add(deps)
        return unknown
