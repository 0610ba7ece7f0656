"""Entries by the turns that came before them.

So a request finds what was asked at the same point of the same conversation, even if many other conversations ended in
the same words.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ..types import Candidate, Reason, Turn
from .types import Ask, Entry

Vector = NDArray[np.float32]
MOST = 64
"""Entries of one conversation that are compared; the latest."""
RECENT = 5
"""Turns at the end of a conversation that may be new: two, and more where what came before was not added."""
FETCHED = 32
"""Neighbours that are fetched for a request with earlier turns, of which the best stay."""


_Live = tuple[float, int, Entry]
_RANK = itemgetter(0, 1)


class Conversations:
    """Vectors of entries under their scope and all their earlier turns, compared in full."""

    def __init__(self) -> None:
        self._entries: dict[tuple[bytes, tuple[Turn, ...]], tuple[tuple[Turn, ...], dict[int, Vector]]] = {}

    def shared(self, partition: bytes, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        """Equal turns, as objects that an entry holds already where one does: each request of a long conversation
        brings all of its turns anew."""
        for end in range(len(turns), max(0, len(turns) - RECENT), -1):
            if (known := self._entries.get((partition, turns[:end]))) is not None:
                return known[0] + turns[end:]
        return turns

    def add(self, entry: int, partition: bytes, turns: tuple[Turn, ...], vector: Vector) -> None:
        """Add an entry; one without earlier turns is not held."""
        if turns:
            self._entries.setdefault((partition, turns), (turns, {}))[1][entry] = vector

    def drop(self, entry: int, partition: bytes, turns: tuple[Turn, ...]) -> None:
        """The entry is gone."""
        _, held = self._entries.get((partition, turns), (turns, {}))
        if held.pop(entry, None) is not None and not held:
            del self._entries[partition, turns]

    def keep_only(self, alive: Container[int]) -> None:
        """Drop all others."""
        for place, (turns, held) in list(self._entries.items()):
            left = {entry: vector for entry, vector in held.items() if entry in alive}
            if left:
                self._entries[place] = turns, left
            else:
                del self._entries[place]

    def near(
        self, partition: bytes, turns: tuple[Turn, ...], vector: Vector, k: int
    ) -> list[tuple[float, int]]:
        """Up to `k` (similarity, entry) of the same conversation, most similar first."""
        _, held = self._entries.get((partition, turns), (turns, {})) if turns else (turns, {})
        if not held:
            return []
        latest = list(held.items())[-MOST:]
        close = (np.stack([v for _, v in latest]) @ vector).tolist()
        return sorted(zip(close, (entry for entry, _ in latest), strict=True), reverse=True)[:k]


def gather(
    ask: Ask,
    scores: Vector,
    ids: NDArray[np.int64],
    entries: Mapping[int, Entry],
    talks: Conversations,
    k: int,
) -> tuple[list[Candidate], int, Reason]:
    """The `k` candidates to decide among, by falling similarity; how many of `ids` have no entry any more; and why
    there is no candidate, if there is none.

    If there are more than `k`, entries of the same conversation are preferred, then those that follow the same last
    turn.
    """
    partition, fits, get = ask.partition, ask.fits, entries.get
    live: list[_Live] = []
    lost, none = 0, Reason.NO_CANDIDATE
    for score, entry_id in zip(scores.tolist(), ids.tolist(), strict=True):
        entry = get(entry_id)
        if entry is None or entry.partition != partition:
            lost += entry_id >= 0
        elif fits(entry.value):
            live.append((score, entry_id, entry))
        else:
            none = Reason.EXPIRED
    if ask.turns:
        live = _by_talk(ask, live, entries, talks, k)
    live.sort(key=_RANK, reverse=True)
    best = [Candidate(entry_id, score, e.text, e.answer, e.turns) for score, entry_id, e in live[:k]]
    return best, lost, none


def _by_talk(
    ask: Ask, live: list[_Live], entries: Mapping[int, Entry], talks: Conversations, k: int
) -> list[_Live]:
    assert ask.query is not None
    near = talks.near(ask.partition, ask.turns, ask.query.vector, max(1, k // 2))
    same = [(s, i, e) for s, i in near if (e := entries.get(i)) is not None and ask.fits(e.value)]
    taken, last = {entry for _, entry, _ in same}, ask.turns[-1:]
    found = [one for one in live if one[1] not in taken]
    found.sort(key=lambda one: (one[2].turns[-1:] == last, one[0]), reverse=True)
    return [*same, *found][:k]
