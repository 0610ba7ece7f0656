"""Pairs of requests that never share an answer again, because one's answer was reported as wrong for the other."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from hashlib import blake2b
from typing import Final, Protocol

from ..types import Candidate, Turn

REPORTED: Final = 16_384
"""Pairs of requests that are kept apart, the latest."""
_SIZE: Final = 8
PAIR: Final = 3 * _SIZE
"""Bytes of a pair: digests of whose answers it concerns, of the scope, of both requests."""


class Request(Protocol):
    """A request, or an entry or candidate, which stands for the request that it was made for."""

    @property
    def text(self) -> str: ...
    @property
    def turns(self) -> tuple[Turn, ...]: ...


class ReportedPairs:
    """Pairs of requests as digests, so that it holds nobody's words; a collision costs a hit."""

    def __init__(self) -> None:
        self._owners: OrderedDict[bytes, bytes] = OrderedDict()
        """Whose each pair is, by the rest of it."""
        self._partitions: Counter[bytes] = Counter()

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, pair: bytes) -> None:
        """An answer was wrong: its own request and the one it was given to are apart from now on."""
        owner, key = pair[:_SIZE], pair[_SIZE:]
        if key not in self._owners:
            self._partitions[key[:_SIZE]] += 1
        self._owners[key] = owner
        if len(self._owners) > REPORTED:
            self._drop(next(iter(self._owners)))

    def drop(self, owners: Collection[bytes] | None) -> None:
        """Forget the pairs of these owners, as `digest` makes them, or all."""
        for key in [key for key, owner in self._owners.items() if owners is None or owner in owners]:
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        if self._owners.pop(key, None) is not None:
            place = key[:_SIZE]
            self._partitions[place] -= 1
            if not self._partitions[place]:
                del self._partitions[place]

    def sift(self, partition: bytes, mine: Request, found: list[Candidate]) -> list[Candidate]:
        """Without those whose answers were reported for such a request, or this one's for theirs."""
        if not self._owners or not found or (place := _place(partition)) not in self._partitions:
            return found
        asked = request_digest(mine)
        return [one for one in found if place + _both(place, asked, request_digest(one)) not in self._owners]


def pair_of(owner: bytes, partition: bytes, asked: bytes, entry: Request) -> bytes:
    """A request, by its `request_digest`, and that of an entry; the same for both ways round. Scopes are apart."""
    place = _place(partition)
    return digest(owner) + place + _both(place, asked, request_digest(entry))


def _place(partition: bytes) -> bytes:
    """A digest of the scope of an index partition, without the variant that may follow it."""
    return digest(partition[: partition.rfind(b"}") + 1] or partition)


def request_digest(one: Request) -> bytes:
    """A digest of a request's text and of the turns before it, the same in every process."""
    parts = (one.text, *(part for turn in one.turns for part in (turn.role, turn.text)))
    coded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return digest(b"".join(b"%d:%b" % (len(part), part) for part in coded))


def digest(of: bytes) -> bytes:
    """8 bytes."""
    return blake2b(of, digest_size=_SIZE).digest()


def _both(place: bytes, one: bytes, other: bytes) -> bytes:
    return digest(place + min(one, other) + max(one, other))
