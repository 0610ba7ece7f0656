"""What is known of single words: a small vector each, and how two of them are related. Shipped, read-only.

Relations are those of WordNet 3.0 (Fellbaum 1998); vectors are the default embedder's own view of the word alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..weights import load_arrays
from .lexemes import NONE, Lexemes
from .lexicon import without_prefix
from .opposites import ANTONYMS
from .spelling import Rare, Spelling

Floats = NDArray[np.float32]
SAME, KIN, OPPOSITE, KIND, SIBLING, SLIP, OTHER = range(7)
"""Relations: a shared sense; derived from one another; opposites; one is a kind of the other; two of a kind; a slip of
the pen; nothing known."""
APART: Final = (OPPOSITE, OTHER, SIBLING)
"""Relations of words of which one may not say what the other does."""


class Words:
    """The table. `width` is the length of a vector; a word that is not in the table has id -1 and a zero vector."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        names = _split(arrays["words"])
        self.ids = {word: i for i, word in enumerate(names)}
        vectors = arrays["vectors"].astype(np.float32)
        self.width = vectors.shape[1]
        self._vectors = np.vstack(
            [vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 0.0 * vectors[:1]]
        )
        self.lexemes = Lexemes(self.ids)
        common, british, american = (_split(arrays[name]) for name in ("common", "british", "american"))
        forms = dict(zip(british, american, strict=True))
        self.spelling = Spelling(frozenset(common), self.ids, Rare(arrays["rare"]), forms)
        self._senses, self._kinds = arrays["senses"], arrays["kinds"]
        self._size = len(names)
        self._names = names
        self._opposites, self._kin = _both_ways(arrays["opposites"]), _both_ways(arrays["kin"])
        self._meanings: dict[int, _Meaning] = {}

    def vectors(self, ids: Sequence[int]) -> Floats:
        """(n, width), rows of length 1; zero for ids of -1."""
        return self._vectors.take(np.array(ids, np.intp), axis=0)

    def relation(self, a: str, b: str) -> int:
        """The surest relation between two different words.

        What a word of the table means is kept; nothing is of others, names among them: they are somebody's.
        """
        i, j = self.ids.get(a), self.ids.get(b)
        if i is None or j is None:
            if b in opposites(a) or a in opposites(b):
                return OPPOSITE
            written = (i is not None or self.spelling.known(a)) and (j is not None or self.spelling.known(b))
            return SLIP if not written and (i is not None or j is not None) and slip(a, b) else OTHER
        senses_a, kinds_a, against_a, kin = self._meanings.get(i) or self._mean(i)
        senses_b, kinds_b, against_b, _ = self._meanings.get(j) or self._mean(j)
        if j in against_a or i in against_b:
            return OPPOSITE
        if not senses_a.isdisjoint(senses_b):
            return SAME
        if j in kin:
            return KIN
        if not senses_a.isdisjoint(kinds_b) or not senses_b.isdisjoint(kinds_a):
            return KIND
        return OTHER if kinds_a.isdisjoint(kinds_b) else SIBLING

    def unlike(self, a: str, b: str, near: float) -> bool:
        """Whether two words of the table say two things: opposites, or no synonyms of a cosine below `near`."""
        if a not in self.ids or b not in self.ids or slip(a, b):
            return False
        if (relation := self.relation(a, b)) not in APART:
            return False
        one, other = self.vectors((self.ids[a], self.ids[b]))
        return relation == OPPOSITE or float(one @ other) < near

    def _mean(self, at: int) -> _Meaning:
        if len(self._meanings) > 20_000:
            self._meanings.clear()
        found = self._meanings[at] = (
            frozenset(self._senses[at].tolist()) - {0},
            frozenset(self._kinds[at].tolist()) - {0},
            _of(self._opposites, at).union(self.ids.get(w, -1) for w in opposites(self._names[at])),
            _of(self._kin, at),
        )
        return found


_Meaning = tuple[frozenset[int], frozenset[int], frozenset[int], frozenset[int]]
"""Of one word: its senses, what they are kinds of, its opposites and its kin, these two as ids of words."""


def _both_ways(pairs: NDArray[Any]) -> NDArray[np.int32]:
    """(n, 2) pairs of ids to (2, 2n): each from either side, by rising first."""
    both = np.concatenate([pairs, pairs[:, ::-1]]).astype(np.int32)
    return np.ascontiguousarray(both[np.argsort(both[:, 0], kind="stable")].T)


def _of(pairs: NDArray[np.int32], at: int) -> frozenset[int]:
    """What `at` is paired with."""
    first, last = np.searchsorted(pairs[0], (at, at + 1)).tolist()
    return frozenset(pairs[1, first:last].tolist())


def opposites(word: str) -> frozenset[str]:
    """Words known to say the opposite, and what is left without a negative prefix: 'lock' of 'unlock'."""
    bases = without_prefix(word)
    plain = ANTONYMS.get(word, NONE)
    return plain.union([base for base in bases if len(base) > 3]) if bases else plain


_JOINTS: Final = frozenset("._/+#")


def slip(a: str, b: str) -> bool:
    """Whether one word is the other with a letter dropped, doubled or changed, or two swapped; of keys none is.

    Of words of four letters one has the other's: 'issn' is not 'isbn'.
    """
    if abs(len(a) - len(b)) > 1 or min(len(a), len(b)) < 4 or a[0] != b[0]:
        return False
    if not _JOINTS.isdisjoint(a) or not _JOINTS.isdisjoint(b):
        return False
    if len(a) == len(b) == 4 and sorted(a) != sorted(b):
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


def _split(text: NDArray[np.generic]) -> list[str]:
    return text.tobytes().decode("ascii").split(" ")
