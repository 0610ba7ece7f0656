"""Entries by conversation: so that a request finds what was asked at the very same point of a talk, however many talks
ended in the same words."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np
from numpy.typing import NDArray

from ..types import Candidate, Turn
from .asks import Ask, Entry

Vector = NDArray[np.float32]
MOST = 64
"""Entries of one conversation that are compared; the latest."""
FETCHED = 32
"""Neighbours that are fetched for a request with earlier turns, of which the best stay."""


class Conversations:
    """Vectors of entries under their scope and all their earlier turns, compared in full."""

    def __init__(self) -> None:
        self._entries: dict[tuple[bytes, tuple[Turn, ...]], dict[int, Vector]] = {}

    def add(self, entry: int, partition: bytes, turns: tuple[Turn, ...], vector: Vector) -> None:
        """Nothing for an entry without earlier turns."""
        if turns:
            self._entries.setdefault((partition, turns), {})[entry] = vector

    def drop(self, entry: int, partition: bytes, turns: tuple[Turn, ...]) -> None:
        """The entry is gone."""
        held = self._entries.get((partition, turns))
        if held is not None and held.pop(entry, None) is not None and not held:
            del self._entries[partition, turns]

    def keep_only(self, alive: Container[int]) -> None:
        """Drop all others."""
        for place, held in list(self._entries.items()):
            left = {entry: vector for entry, vector in held.items() if entry in alive}
            if left:
                self._entries[place] = left
            else:
                del self._entries[place]

    def near(
        self, partition: bytes, turns: tuple[Turn, ...], vector: Vector, k: int
    ) -> list[tuple[float, int]]:
        """Up to `k` (similarity, entry) of the same conversation, most similar first."""
        held = self._entries.get((partition, turns)) if turns else None
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
) -> tuple[list[Candidate], int]:
    """The `k` to decide among by falling similarity, and how many of `ids` have no entry any more.

    What was asked in the same conversation comes first, then entries before which the assistant said the same.
    """
    assert ask.query is not None
    near = list(zip(scores.tolist(), ids.tolist(), strict=True))
    same = talks.near(ask.partition, ask.turns, ask.query.vector, max(1, k // 2))
    taken = {entry for _, entry in same}
    live = [(s, i, e) for s, i in near if (e := entries.get(i)) is not None and e.partition == ask.partition]
    found = [(s, i, e) for s, i, e in live if i not in taken]
    if ask.turns:
        last = ask.turns[-1]
        found.sort(key=lambda f: (f[2].turns[-1:] == (last,), f[0]), reverse=True)
    best = sorted([*same, *((s, i) for s, i, _ in found)][:k], reverse=True)
    held = [(score, entry_id, entries[entry_id]) for score, entry_id in best]
    out = [Candidate(entry_id, score, e.text, e.answer, e.turns) for score, entry_id, e in held]
    return out, sum(i >= 0 for _, i in near) - len(live)
