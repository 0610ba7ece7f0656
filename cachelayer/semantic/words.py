"""What is known of single words: a small vector each, and how two of them are related. Shipped, read-only.

Relations are those of WordNet 3.0 (Fellbaum 1998); vectors are the default embedder's own view of the word alone.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .lexicon import ANTONYMS, FUNCTION_WORDS, NEGATIVE_PREFIXES
from .weights import load_arrays

Floats = NDArray[np.float32]
SAME, KIN, OPPOSITE, KIND, SIBLING, SLIP, OTHER = range(7)
"""Relations: a shared sense; derived from one another; opposites; one is a kind of the other; two of a kind; a slip of
the pen; nothing known."""
_NONE: Final[frozenset[int]] = frozenset()


class Words:
    """The table. `width` is the length of a vector; a word that is not in the table has id -1 and a zero vector."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        names = arrays["words"].tobytes().decode("ascii").split(" ")
        self.ids = {word: i for i, word in enumerate(names)}
        vectors = arrays["vectors"].astype(np.float32)
        self.width = vectors.shape[1]
        self._vectors = np.vstack(
            [vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 0.0 * vectors[:1]]
        )
        self._senses, self._kinds = arrays["senses"], arrays["kinds"]
        self._size = len(names)
        self._opposites = self._pairs(arrays["opposites"])
        self._kin = self._pairs(arrays["kin"])
        self._related: dict[tuple[str, str], int] = {}
        self._sets: dict[int, tuple[frozenset[int], frozenset[int]]] = {}

    def _pairs(self, pairs: NDArray[Any]) -> frozenset[int]:
        return frozenset((pairs[:, 0].astype(np.int64) * self._size + pairs[:, 1]).tolist())

    def vectors(self, ids: list[int]) -> Floats:
        """(n, width), rows of length 1; zero for ids of -1."""
        return self._vectors[ids]

    def weight(self, word: str, at: int) -> float:
        """How much a word says, 0.15 .. 1.2: rare words more, function words little."""
        if word in FUNCTION_WORDS:
            return 0.15
        return 1.2 if at < 0 else 0.4 + 0.6 * math.log1p(at) / math.log1p(self._size)

    def relation(self, a: str, b: str) -> int:
        """The surest relation between two different words; of two that are in the table found once.

        Others, names among them, are not remembered: they are somebody's.
        """
        if a not in self.ids or b not in self.ids:
            return self._relation(a, b)
        found = self._related.get((a, b))
        if found is None:
            if len(self._related) > 50_000:
                self._related.clear()
            found = self._related[a, b] = self._relation(a, b)
        return found

    def _relation(self, a: str, b: str) -> int:
        i, j = self.ids.get(a, -1), self.ids.get(b, -1)
        if b in ANTONYMS.get(a, ()) or _prefixed(a, b) or _prefixed(b, a):
            return OPPOSITE
        if i < 0 or j < 0:
            return SLIP if slip(a, b) else OTHER
        pair = i * self._size + j if i < j else j * self._size + i
        if pair in self._opposites:
            return OPPOSITE
        senses_a, kinds_a = self._meanings(i)
        senses_b, kinds_b = self._meanings(j)
        if not senses_a.isdisjoint(senses_b):
            return SAME
        if pair in self._kin:
            return KIN
        if not senses_a.isdisjoint(kinds_b) or not senses_b.isdisjoint(kinds_a):
            return KIND
        return OTHER if kinds_a.isdisjoint(kinds_b) else SIBLING

    def _meanings(self, at: int) -> tuple[frozenset[int], frozenset[int]]:
        found = self._sets.get(at)
        if found is None:
            if len(self._sets) > 20_000:
                self._sets.clear()
            found = self._sets[at] = (
                frozenset(self._senses[at].tolist()) - {0} or _NONE,
                frozenset(self._kinds[at].tolist()) - {0} or _NONE,
            )
        return found


def _prefixed(longer: str, shorter: str) -> bool:
    """'unlock' is a negative of 'lock'."""
    if len(shorter) <= 3 or len(longer) <= len(shorter) or not longer.endswith(shorter):
        return False
    return longer[: -len(shorter)] in NEGATIVE_PREFIXES


def slip(a: str, b: str) -> bool:
    """Whether one is the other with one letter dropped, doubled or changed, or two swapped."""
    if abs(len(a) - len(b)) > 1 or min(len(a), len(b)) < 4 or a[0] != b[0]:
        return False
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    i = next((k for k, c in enumerate(short) if c != long[k]), len(short))
    if len(short) < len(long):
        return short[i:] == long[i + 1 :]
    return short[i + 1 :] == long[i + 1 :] or (
        short[i : i + 2] == long[i : i + 2][::-1] and short[i + 2 :] == long[i + 2 :]
    )


@cache
def words() -> Words:
    """The shipped table; read once, at the first call."""
    return Words(load_arrays("words.npz"))
