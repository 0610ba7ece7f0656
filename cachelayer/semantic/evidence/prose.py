"""Do two prose answers say the same in other words? Asked while learning, never on a request's path.

Two texts are APART if

* one has a figure, day or identifier that the other has not;
* each names something that the other does not;
* they are worded alike, and a word of content was replaced;
* they are equal but for one place, and differ in content there (a template, filled in differently).

They are ONE if they are worded alike but for words without content. Else the matter is OPEN: they count as one answer
if their vectors are near and the neighbours of the request predicted that answer. In doubt they are two.

Words that stood against each other in two texts worded alike ("Monday" / "Friday", "can" / "cannot") are a *contrast*:
from then on they set other texts of the scope apart, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..answers import is_prose
from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.marks import AND_MARKS
from ..text.opposites import ANTONYMS
from ..text.signature import signature

Vector = NDArray[np.float32]
NEAR: Final = 0.55
"""Cosine of two prose answers below which they are never taken for one."""
EQUAL: Final = 0.92
"""Cosine from which they are, where nothing sets them apart and both hold the same figures or names."""
FRAMED: Final = 0.6
"""The share of the longer text's words, from both ends, that makes two texts one but for a place."""
CERTAIN: Final = 3
"""Requests whose neighbours predict another answer than their wording was taken for, before it moves there."""
MOST: Final = 1024
VOICES: Final = 256
"""Prose answers whose vectors are at hand."""
_MAX_CONTRASTS: Final = 256
_FIGURES: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD: Final = re.compile(rf"[^\W\d_]+{AND_MARKS}(?:['\u2019-][^\W\d_]+{AND_MARKS})*")
_EMPTY: Final = lx.FUNCTION_WORDS - lx.NEGATIONS - frozenset(ANTONYMS)
APART, ONE, OPEN = "apart", "one", "open"


@dataclass(frozen=True, slots=True)
class Prose:
    """One prose answer, read."""

    digest: bytes
    """Of the normalized text."""
    vector: Vector
    order: tuple[str, ...]
    """All words, in order."""
    words: frozenset[str]
    figures: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]
    stems: frozenset[str]


def read_prose(digest: bytes, text: str, vector: Vector) -> Prose:
    """Read a prose answer. `vector`: (d,), normalized."""
    seen, order = signature(text), tuple(w.lower().replace("\u2019", "'") for w in _WORD.findall(text))
    return Prose(
        digest, vector, order, frozenset(order),
        frozenset(_FIGURES.findall(text)), (seen.dates - {"today"}) | seen.ids, seen.names, seen.stems,
    )  # fmt: skip


def relation(a: Prose, b: Prose) -> tuple[str, frozenset[str], frozenset[str]]:
    """APART, ONE or OPEN; and, of two worded alike, the words that stand against each other."""
    left, right = a.words - b.words, b.words - a.words
    alike = len(left) + len(right) <= 0.24 * min(len(a.words), len(b.words))
    mine, theirs = left - _EMPTY, right - _EMPTY
    against = (left, right) if alike and left and right and (mine or theirs) else (frozenset(), frozenset())
    if a.figures != b.figures or a.dates != b.dates or against[0]:
        return APART, *against
    if ((a.names - b.stems) and (b.names - a.stems)) or _filled_otherwise(a.order, b.order):
        return APART, *against
    if alike:
        negated = bool((left | right) & lx.NEGATIONS)
        return (APART if negated else ONE), *against
    return OPEN, *against


def _filled_otherwise(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether the texts differ in one place only, and in words of content there.

    What only one text says at its beginning or end ('Sure!', 'Anything else?') is no such place.
    """
    longest = max(len(left), len(right))
    first, last = _shared(left, right)
    if not FRAMED * longest <= first + last < longest:
        return False
    mine, theirs = (_content(x[first : len(x) - last]) for x in (left, right))
    inside = first > 0 and last > 0
    return mine != theirs and (inside or (bool(mine) and bool(theirs)))


def _shared(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """How many words are equal from the beginning, and from the end."""
    shortest = min(len(left), len(right))
    first = next((i for i in range(shortest) if left[i] != right[i]), shortest)
    left_over = shortest - first
    return first, next((i for i in range(left_over) if left[-1 - i] != right[-1 - i]), left_over)


def _content(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in _EMPTY)


def say_the_same(a: str, b: str, vectors: Vector) -> bool:
    """Whether two answers to one question say the same, by the rules of this module; doubtful is False.

    `vectors`: (2, d), normalized.
    """
    if not (is_prose(a) and is_prose(b)):
        return False
    first, second = (
        read_prose(text.encode("utf-8", "surrogatepass"), text, v)
        for text, v in zip((a, b), vectors, strict=True)
    )
    known = ProseAnswers(vectors.shape[1])
    known.add(first, 0)
    return relation(first, second)[0] == ONE or known.taken_for(second, 0, likely=False) == 0


class ProseAnswers:
    """The wordings known in one scope, each with the answer that it was taken for."""

    def __init__(self, dimension: int) -> None:
        self._texts: list[Prose] = []
        self._of: list[int] = []
        """The answer of each of them."""
        self._places: dict[bytes, int] = {}
        self._vectors = np.zeros((1, dimension), np.float32)
        self._contrasts: dict[tuple[frozenset[str], frozenset[str]], None] = {}
        self._predicted: dict[bytes, Counter[int]] = {}
        """Per wording, how often the neighbours predicted which answer."""

    def add(self, new: Prose, answer: int) -> list[bytes]:
        """Take in a wording under its answer. Returns wordings that a contrast learned now sets apart from theirs."""
        n = len(self._texts)
        if n >= MOST:
            return []
        if n == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[n] = new.vector
        self._places[new.digest] = n
        self._texts.append(new)
        self._of.append(answer)
        return self._learn_contrasts(new)

    def taken_for(self, new: Prose, predicted: int, likely: bool) -> int | None:
        """The answer whose wordings say the same as this one; `predicted`: by the request's neighbours, or -1.

        Where that is not `likely`, the texts must hold figures or days, and the same ones.
        """
        likely = likely or bool(new.figures or new.dates)
        n = len(self._texts)
        scores = (self._vectors[:n] @ new.vector).tolist()
        nearest: dict[int, float] = {}
        for score, answer in zip(scores, self._of, strict=True):
            if score >= NEAR and score > nearest.get(answer, 0.0):
                nearest[answer] = score
        best = 0.0
        for answer, score in sorted(nearest.items(), key=lambda item: -item[1])[:16]:
            if any(self._apart(new, other) for other in self._members(answer)):
                continue
            best = max(best, score)
            if score >= EQUAL or (likely and answer == predicted and score >= best - 0.05):
                return answer
        return None

    def agree(self, first: int, second: int, likely: bool) -> bool:
        """Whether two answers' wordings may all say the same: near, and none apart from any."""
        ours, theirs = list(self._members(first)), list(self._members(second))
        if not ours or not theirs or not (likely or ours[0].figures or ours[0].dates):
            return False
        nearest = max(float(a.vector @ b.vector) for a in ours for b in theirs)
        return nearest >= NEAR and not any(self._apart(a, b) for a in ours for b in theirs)

    def misplaced(self, digest: bytes, predicted: int) -> bool:
        """Whether a wording belongs to the answer that the neighbours predicted, now and mostly, not to its own.

        Its first request alone decided where it went; a wording in the wrong place makes right answers look wrong for
        good.
        """
        place = self._places.get(digest)
        if place is None:
            return False
        own, times = self._of[place], self._predicted.setdefault(digest, Counter())
        times[predicted] += 1
        if predicted == own or times[predicted] < CERTAIN or times[predicted] < 3 * times[own]:
            return False
        theirs, it = list(self._members(predicted)), self._texts[place]
        near = any(float(it.vector @ other.vector) >= NEAR for other in theirs)
        return near and not any(self._apart(it, other) for other in theirs)

    def merge(self, kept: int, gone: int) -> None:
        for times in self._predicted.values():
            times[kept] += times.pop(gone, 0)
        self._of = [kept if answer == gone else answer for answer in self._of]

    def move(self, digest: bytes, answer: int) -> None:
        self._of[self._places[digest]] = answer

    def forget(self, answer: int) -> None:
        """No wording of this answer is needed any more."""
        for times in self._predicted.values():
            times.pop(answer, None)
        kept = [i for i, of in enumerate(self._of) if of != answer]
        if len(kept) == len(self._of):
            return
        self._vectors[: len(kept)] = self._vectors[kept]
        self._texts = [self._texts[i] for i in kept]
        self._of = [self._of[i] for i in kept]
        self._places = {a.digest: i for i, a in enumerate(self._texts)}
        self._predicted = {
            digest: times for digest, times in self._predicted.items() if digest in self._places
        }

    def _members(self, answer: int) -> Iterable[Prose]:
        return (a for a, of in zip(self._texts, self._of, strict=True) if of == answer)

    def _apart(self, a: Prose, b: Prose) -> bool:
        return relation(a, b)[0] == APART or self._contrasted(a, b)

    def _contrasted(self, a: Prose, b: Prose) -> bool:
        return any(
            (left <= a.words and right <= b.words and not right & a.words and not left & b.words)
            or (right <= a.words and left <= b.words and not left & a.words and not right & b.words)
            for left, right in self._contrasts
        )

    def _learn_contrasts(self, new: Prose) -> list[bytes]:
        found = False
        for other in self._texts:
            _, left, right = relation(new, other)
            if (
                left
                and right
                and (left, right) not in self._contrasts
                and (right, left) not in self._contrasts
            ):
                if len(self._contrasts) >= _MAX_CONTRASTS:
                    self._contrasts.pop(next(iter(self._contrasts)))
                self._contrasts[left, right] = None
                found = True
        if not found:
            return []
        return [
            a.digest
            for a, of in zip(self._texts, self._of, strict=True)
            if any(self._contrasted(a, b) for b in self._members(of))
        ]


class Voices(dict[str, Vector]):
    """The latest prose answers and their vectors, (d,) float32."""

    def add(self, answer: str, vector: Vector) -> None:
        self[answer] = vector
        if len(self) > VOICES:
            del self[next(iter(self))]
