"""Requests that one answer was wrong for: a rewording that was reported is not served from that request again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Protocol

from ..types import Candidate, Turn

ENTRIES: Final = 4096
"""Entries of which it is known to what other requests they were served."""
EACH: Final = 8
"""Such requests of one entry, the latest."""
REPORTED: Final = 16_384
"""Pairs of requests that are kept apart, the latest."""


class Said(Protocol):
    """A request, or what is kept of one."""

    @property
    def text(self) -> str: ...
    @property
    def turns(self) -> tuple[Turn, ...]: ...


class Apart:
    """Pairs of requests as hashes, so that it holds nobody's words; a collision costs a hit. In this process alone."""

    def __init__(self) -> None:
        self._served: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._reported: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._reported)

    def served(self, entry_id: int, pairs: Sequence[int]) -> None:
        """An entry's answer was given to the other request of each of these pairs."""
        held = self._served.pop(entry_id, ())
        self._served[entry_id] = (*(pair for pair in held if pair not in pairs), *pairs)[-EACH:]
        if len(self._served) > ENTRIES:
            self._served.popitem(last=False)

    def report(self, entry_id: int) -> None:
        """The answer was wrong: whoever it was given to lately and its own request are apart from now on."""
        for pair in self._served.pop(entry_id, ()):
            self._reported[pair] = None
            if len(self._reported) > REPORTED:
                self._reported.popitem(last=False)

    def sift(self, partition: bytes, mine: Said, found: list[Candidate]) -> list[Candidate]:
        """Without those whose answers were reported for such a request, or this one's for theirs."""
        if not self._reported:
            return found
        return [one for one in found if pair_of(partition, mine, one) not in self._reported]

    def forget(self, entry_id: int) -> None:
        """The entry is gone."""
        self._served.pop(entry_id, None)


def pair_of(partition: bytes, one: Said, other: Said) -> int:
    """The same for both ways round; scopes are apart."""
    return hash((partition, frozenset(((one.text, one.turns), (other.text, other.turns)))))
