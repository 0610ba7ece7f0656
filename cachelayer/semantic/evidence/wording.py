"""What the words add to the vote of the neighbours: guards with a record, overlap, words that go with an answer.

A guard's objection means little in one function ("transfer 5 euros" / "transfer 9 euros" are one intent) and
everything in another. So each function keeps a record: when this guard objected to every entry of the answer that
the neighbours chose, how often was that answer wrong? The record is a feature of the risk, not a verdict.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple

from ..guards.plain import GUARDS, objecting
from ..text.signature import Signature, signature

WORDING: Final = (
    "hard", "soft", "record", "nearest_objects", "free_rival", "overlap", "overlap_margin", "difference",
    "substitution", "link", "link_margin", "unseen", "unseen_most",
)  # fmt: skip
"""Names of the columns that `read` gives, in order."""

HARD: Final = frozenset({"numbers", "identifiers", "dates", "antonyms", "roles"})
_SMOOTH, _WORDS_PER_ANSWER, _MASS = 8, 400, 6.0
_NO_WORDS: Final[Mapping[str, int]] = {}


class Signatures:
    """Texts to signatures. The last `most` are kept; 0 keeps none, for a `read` that remembers what it read.

    `words`: a cheaper way to the words of a text, for texts of which nothing else is asked.
    """

    def __init__(
        self,
        read: Callable[[str], Signature] = signature,
        most: int = 4096,
        words: Callable[[str], frozenset[str]] | None = None,
    ) -> None:
        self._read, self._most = read, most
        self._kept: OrderedDict[str, Signature] = OrderedDict()
        self.words = words or (lambda text: self(text).vocabulary)

    def __call__(self, text: str) -> Signature:
        if not self._most:
            return self._read(text)
        found = self._kept.get(text)
        if found is None:
            while len(self._kept) >= self._most:
                self._kept.popitem(last=False)
            found = self._kept[text] = self._read(text)
        return found

    def clear(self) -> None:
        self._kept.clear()


class Record:
    """Per guard, for one function: objections whose truth became known, and how many of them were right."""

    def __init__(self) -> None:
        self.seen = [0.0] * len(GUARDS)
        self.wrong = [0.0] * len(GUARDS)

    def learn(self, objected: Sequence[int], wrong: bool) -> None:
        for guard in objected:
            self.seen[guard] += 1.0
            self.wrong[guard] += wrong

    def weight(self, objected: Sequence[int]) -> float:
        """Log odds that the answer is wrong, by the guard with the worst record; -3 without an objection."""
        return max((self._odds(guard) for guard in objected), default=-3.0)

    def _odds(self, guard: int) -> float:
        wrong = self.wrong[guard] + 0.8 * _SMOOTH
        right = self.seen[guard] - self.wrong[guard] + 0.2 * _SMOOTH
        return math.log(wrong / right)


class AnswerWords(NamedTuple):
    """How many of the `labelled` requests of one answer said each word."""

    counts: Mapping[str, int]
    labelled: int

    def always(self, words: Set[str]) -> set[str]:
        """Those of the words that all of them said."""
        return {word for word in words if self.counts.get(word, 0) >= self.labelled}

    def unsaid(self, words: Set[str]) -> Set[str]:
        """Those of the words that none of them said."""
        return words - self.counts.keys()


class WordCounts:
    """How often each word came with each answer of one scope."""

    def __init__(self) -> None:
        self.by_answer: dict[int, Counter[str]] = {}
        self.words: Counter[str] = Counter()
        """In how many labelled requests each word was; bounded."""
        self.requests = 0

    def learn(self, answer: int, words: Sequence[str]) -> None:
        self.requests += 1
        distinct = set(words)
        self.words.update(distinct)
        if len(self.words) > 50_000:
            self.words = Counter({w: n for w, n in self.words.items() if n > 1})
        mine = self.by_answer.setdefault(answer, Counter())
        mine.update(distinct)
        if len(mine) > _WORDS_PER_ANSWER:
            for word, _ in mine.most_common()[: -_WORDS_PER_ANSWER // 4 : -1]:
                del mine[word]

    def unlearn(self, words: Sequence[str]) -> None:
        """What all answers share is as before these words of one request were learned."""
        self.requests -= 1
        self.words.subtract(distinct := set(words) & self.words.keys())
        for word in [word for word in distinct if not self.words[word]]:
            del self.words[word]

    def merge(self, kept: int, gone: int) -> None:
        self.by_answer.setdefault(kept, Counter()).update(self.by_answer.pop(gone, Counter()))

    def drop(self, answer: int) -> None:
        self.by_answer.pop(answer, None)

    def of(self, answer: int, labelled: int) -> AnswerWords:
        """The words of one answer, with which so many requests are labelled."""
        return AnswerWords(self.by_answer.get(answer) or _NO_WORDS, labelled)

    def links(
        self, words: Set[str], counts: Sequence[int], answers: Sequence[int]
    ) -> tuple[list[float], list[str]]:
        """Per answer the mean log ratio of its use of the words to everybody's; the words the first never had."""
        share, most = (self.requests + 1.0) / _MASS, max(len(words), 1)
        rarity = {word: share / (self.words.get(word, 0) + 0.5) for word in words}
        scores = []
        for answer, count in zip(answers, counts, strict=True):
            mine = self.by_answer.get(answer, _NO_WORDS)
            more = sum([math.log1p(mine[word] * rarity[word]) for word in words & mine.keys()])
            scores.append((len(words) * math.log(_MASS / (count + _MASS)) + more) / most)
        return scores, list(words - self.by_answer.get(answers[0], _NO_WORDS).keys())

    def rarities(self, words: Iterable[str]) -> list[float]:
        """Inverse frequencies, 0 .. about 1."""
        most, whole, seen = self.requests + 2.0, math.log(self.requests + 3.0), self.words
        return [math.log(most / (seen.get(word, 0) + 1.0)) / whole for word in words]


def objections(mine: Signature, entries: Iterable[Signature]) -> tuple[list[int], bool]:
    """The guards that object to every one of `entries`, and whether any guard objects to the first.

    Stops at the first entry to which no guard objects.
    """
    each = iter(entries)
    first = next(each)
    all_of = objecting(mine, first)
    nearest = bool(all_of)
    while all_of and (other := next(each, None)) is not None:
        all_of = [g for g in all_of if GUARDS[g][1](mine, other)]
    return all_of, nearest


def _overlap(words: frozenset[str], other: frozenset[str]) -> tuple[float, int, int]:
    """The share of all words that both have, and how many one alone has."""
    both = len(words & other)
    left, right = len(words) - both, len(other) - both
    return both / max(left + right + both, 1), left, right


def read(
    word_counts: WordCounts,
    record: Record,
    texts: Signatures,
    text: str,
    same: Sequence[str],
    others: Sequence[str],
    answers: Sequence[int],
    counts: Sequence[int],
) -> tuple[list[float], list[int]]:
    """(len(WORDING),) features and the guards that object to all of `same`.

    `same`: texts of the nearest entries of the chosen answer, `others`: of other answers; `answers`: the chosen one
    first, with how many labelled requests each has in `counts`.
    """
    mine = texts(text)
    objected, nearest = objections(mine, map(texts, same))
    hard = any(GUARDS[g][0] in HARD for g in objected)
    words = mine.vocabulary
    overlaps = [_overlap(words, texts.words(s)) for s in same]
    overlap, (_, left, right) = max(overlaps)[0], overlaps[0]
    rival = max([_overlap(words, texts.words(s))[0] for s in others], default=0.0)
    free = bool(objected) and not all(objecting(mine, texts(o)) for o in others[:2])
    scores, unseen = word_counts.links(words, counts, answers)
    rare = word_counts.rarities(unseen)
    weight = sum(word_counts.rarities(words)) if rare else 0.0
    return [
        float(hard),
        float(bool(objected) and not hard),
        record.weight(objected),
        float(nearest),
        float(free),
        overlap,
        overlap - rival,
        math.log1p(min([mine_alone + its_alone for _, mine_alone, its_alone in overlaps])),
        float(left == 1 and right == 1),
        scores[0],
        scores[0] - max(scores[1:]) if len(scores) > 1 else 1.0,
        sum(rare) / weight if weight > 0 else 0.0,
        max(rare, default=0.0),
    ], objected
