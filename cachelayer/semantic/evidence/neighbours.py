"""Do the neighbours agree on the answer? What one scope knows about its entries and their answers.

Every labelled request (a miss that the backend answered, a checked hit) adds its vector to the sum of its answer.
`Metric` keeps the inverse scatter of all of them, so that `x @ metric @ sum(answer)` is the prediction of a ridge
regression from request to answer. Its margin over the runner-up says more than any cosine: it knows which directions of
the embedding separate the answers of this function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from .contrary import NEAR, contrary, find_edit
from .metric import Metric, Vector
from .wording import WORDING, Record, Signatures, WordCounts
from .wording import read as read_words

FEATURES: Final = (
    "top", "rival", "vote", "wide_vote", "centroid", "centroid_margin", "ridge", "ridge_margin", "leverage",
    "last", "support", "entries", "novelty", "record", "tightness", "confusions", "second", "words",
    "ridge_all", "pair", "pair_rival", *(f"words_{name}" for name in WORDING),
)  # fmt: skip
"""Names of the columns of a reading, in order."""

PAIR, PAIR_RIVAL = FEATURES.index("pair"), FEATURES.index("pair_rival")
CLOSE: Final = 0.1
"""How much less similar a rival may be and still be read as a pair."""
_LOOKED_THROUGH: Final = 256
"""Answers that one request is compared with beside its candidates'. A thousand gave six hits fewer of
7,392 and as many wrong ones on 10,000 entries, and reading them from memory took longer than any other step."""
FEW: Final = 2
"""Answers that a scope has room for at first; most scopes of a service that has very many never have more."""
_NARROW, _WIDE = 1 / 0.05, 1 / 0.125
_DIFFERENCE, _UNSEEN, _NEAR = WORDING.index("difference"), WORDING.index("unseen_most"), math.log1p(NEAR)
_RARE: Final = 0.8
"""Rarity of a word from which on it may make a question of its own; few requests have said it."""


class Known(NamedTuple):
    """A candidate that this scope knows: its similarity, answer and place among the candidates."""

    similarity: float
    answer: int
    place: int
    text: str


class Reading(NamedTuple):
    """What the neighbours say about one request."""

    answer: int
    place: int
    """Place of the best candidate that holds `answer`."""
    support: int
    """How many labelled requests `answer` has."""
    objected: tuple[int, ...]
    """The guards that object to all of the nearest entries that hold `answer`."""
    contrary: bool
    """The request says the contrary of what all candidates that hold `answer` say: their vote does not count."""
    edit: int
    """Place of the one that it may be but for an edit, about which the pair verifier is asked; -1 if there is none."""
    doubt: float
    """The probability below which it is another question then."""
    asked: list[int]
    """Places of the nearest candidate that holds `answer` and, if there is one as near, of its nearest rival: whether
    their texts take the same answer as the request's is for the pair verifier to say."""
    features: list[float]
    """In the order of FEATURES; until `heard`, those of `asked` are as if it said never."""

    def heard(self, sure: Sequence[float]) -> Reading:
        """With the pair verifier's word: the probability of each that was to be asked of."""
        features = self.features.copy()
        for column, probability in zip((PAIR, PAIR_RIVAL), sure, strict=False):
            features[column] = _logit(probability)
        return self._replace(features=features)


class Shared:
    """What all scopes of one function share: which directions and which guards matter, and texts read."""

    def __init__(self, dimension: int, signatures: Signatures | None = None) -> None:
        self.metric = Metric(dimension)
        self.record = Record()
        self.signatures = signatures or Signatures()


class Answers:
    """Per answer: the sum of its requests' vectors and its record. Rows grow by doubling; freed rows are reused."""

    def __init__(self, dimension: int) -> None:
        self.sums = np.zeros((FEW, dimension), np.float32)
        self.norms = [0.0] * FEW
        self.count = [0] * FEW
        self.right = [0.0] * FEW
        self.wrong = [0.0] * FEW
        self.given: list[str | None] = [None] * FEW
        """The principal who alone was given it; '' for several or for the owner, None for nobody yet."""
        self.free = list(range(FEW - 1, -1, -1))

    def new(self) -> int:
        if not self.free:
            size = len(self.count)
            self.sums = np.concatenate([self.sums, np.zeros_like(self.sums)])
            self.norms += [0.0] * size
            self.count += [0] * size
            self.right += [0.0] * size
            self.wrong += [0.0] * size
            self.given += [None] * size
            self.free = list(range(2 * size - 1, size - 1, -1))
        return self.free.pop()

    def add(self, answer: int, x: Vector, principal: str = "") -> None:
        self.sums[answer] += x
        self.count[answer] += 1
        if self.given[answer] != principal:
            self.given[answer] = principal if self.given[answer] is None else ""
        self.norms[answer] = math.sqrt(float(self.sums[answer].dot(self.sums[answer])))

    def merge(self, kept: int, gone: int) -> None:
        self.sums[kept] += self.sums[gone]
        self.norms[kept] = math.sqrt(float(self.sums[kept].dot(self.sums[kept])))
        self.count[kept] += self.count[gone]
        self.right[kept] += self.right[gone]
        self.wrong[kept] += self.wrong[gone]
        if self.given[kept] is None:
            self.given[kept] = self.given[gone]
        elif self.given[gone] not in (None, self.given[kept]):
            self.given[kept] = ""
        self.drop(gone)

    def drop(self, answer: int) -> None:
        self.sums[answer] = 0.0
        self.norms[answer] = 0.0
        self.count[answer] = 0
        self.right[answer] = self.wrong[answer] = 0.0
        self.given[answer] = None
        self.free.append(answer)


def _logit(share: float) -> float:
    return math.log((share + 0.003) / (1.003 - share))


NEVER, SURELY = _logit(0.0), _logit(1.0)
"""The least and the greatest word of the pair verifier, as a feature."""


class Neighbourhood:
    """Reads candidates against the answers of one scope."""

    def __init__(self, dimension: int, shared: Shared) -> None:
        self.shared, self.metric = shared, shared.metric
        self.answers = Answers(dimension)
        self.word_counts = WordCounts()
        self.confusions: dict[tuple[int, int], int] = {}
        self.novelty = 1.0
        """Share of new answers among recent labelled requests (exponential average, 100 requests)."""
        self.labelled = 0

    def read(self, x: Vector, text: str, known: Sequence[Known], entries: int) -> Reading:
        """`known`: one candidate or more, by falling similarity; `entries`: how many the scope holds."""
        votes = _votes(known)
        ids, tallies = list(votes), list(votes.values())
        total, total_wide = sum([t[0] for t in tallies]), sum([t[1] for t in tallies])
        bent = self.metric.bend(x)
        sums = self.answers.sums.take(ids, axis=0)
        ridge: list[float] = sums.dot(bent).tolist()
        norms = [self.answers.norms[i] for i in ids]
        centroid = [
            d / n if n > 0 else t[2] for d, n, t in zip(sums.dot(x).tolist(), norms, tallies, strict=True)
        ]
        score = [t[0] / total + r + 0.5 * c for t, r, c in zip(tallies, ridge, centroid, strict=True)]
        order = sorted(range(len(ids)), key=score.__getitem__, reverse=True)
        best, others = order[0], order[1:]
        answer, (narrow, wide, similarity, place) = ids[best], tallies[best]
        words, objected = self._words(text, known, [ids[i] for i in order])
        rival = ids[others[0]] if others else -1
        last = known[-1].similarity
        count = self.answers.count[answer]
        right, wrong = self.answers.right[answer], self.answers.wrong[answer]
        features = [
            similarity,
            max([tallies[i][2] for i in others]) if others else last - 0.03,
            _logit(narrow / total),
            _logit(wide / total_wide),
            centroid[best],
            centroid[best] - max([centroid[i] for i in others]) if others else 0.3,
            ridge[best],
            ridge[best] - (max([ridge[i] for i in others]) if others else 0.0),
            float(bent.dot(x)),
            last,
            math.log(max(count, 1)),
            math.log(max(entries, 1)),
            self.novelty,
            (right + 2.0) / (right + wrong + 2.5),
            norms[best] / count if count else 1.0,
            math.log1p(self.confusions.get(_pair(answer, rival), 0)),
            known[1].similarity if len(known) > 1 else 0.0,
            math.log(len(text.split()) or 1),
            ridge[best] - self._next_ridge(bent, answer),
            NEVER,
            NEVER,
            *words,
        ]
        same = [k for k in known if k.answer == answer]
        read = self.shared.signatures
        against = bool(objected) and contrary(read(text), [read(k.text) for k in same], objected)
        near, new = words[_DIFFERENCE] <= _NEAR, words[_UNSEEN] > _RARE
        at, doubt = self._edit(text, same, near=near, new=new) if near or new else (-1, 0.0)
        facts = answer, int(place), count, tuple(objected), against
        return Reading(*facts, at, doubt, _asked(known, answer), features)

    def _next_ridge(self, bent: Vector, answer: int) -> float:
        """The best prediction of any other of the first answers, among the candidates' or not."""
        if len(self.answers.count) < 2:
            return 0.0
        every = self.answers.sums[:_LOOKED_THROUGH].dot(bent)
        if answer < every.size:
            every[answer] = 0.0
        return float(every[every.argmax()])

    def _words(self, text: str, known: Sequence[Known], ids: Sequence[int]) -> tuple[list[float], list[int]]:
        best, shared = ids[0], self.shared
        same = [k.text for k in known if k.answer == best][:3]
        others = [k.text for k in known if k.answer != best][:3]
        counts = [self.answers.count[i] for i in ids]
        return read_words(self.word_counts, shared.record, shared.signatures, text, same, others, ids, counts)

    def _edit(self, text: str, same: Sequence[Known], *, near: bool, new: bool) -> tuple[int, float]:
        answer, texts = same[0].answer, [k.text for k in same]
        said = self.word_counts.of(answer, self.answers.count[answer])
        at, doubt = find_edit(said, self.shared.signatures, text, texts, near=near, new=new)
        return same[at].place if at >= 0 else at, doubt

    def learn(
        self, x: Vector, text: str, truth: int, reading: Reading | None, new: bool, principal: str = ""
    ) -> None:
        """A request whose right answer is known. `reading`: what was read before; `new`: first with this answer."""
        self.labelled += 1
        self.novelty += 0.01 * (new - self.novelty)
        self.metric.add(x)
        self.answers.add(truth, x, principal)
        self.word_counts.learn(truth, self.shared.signatures(text).words)
        if reading is None:
            return
        if reading.answer == truth:
            self.answers.right[truth] += 1
        else:
            self.answers.wrong[reading.answer] += 1
            if not new:
                self._confuse(reading.answer, truth)

    def _confuse(self, a: int, b: int) -> None:
        if len(self.confusions) >= 4096:
            self.confusions.pop(next(iter(self.confusions)))
        pair = _pair(a, b)
        self.confusions[pair] = self.confusions.get(pair, 0) + 1

    def merge(self, kept: int, gone: int) -> None:
        """Two answers turned out to say the same."""
        self.answers.merge(kept, gone)
        self.word_counts.merge(kept, gone)
        for pair in [p for p in self.confusions if gone in p]:
            times = self.confusions.pop(pair)
            other = pair[0] if pair[1] == gone else pair[1]
            if other != kept:
                self.confusions[_pair(kept, other)] = self.confusions.get(_pair(kept, other), 0) + times


def _votes(known: Sequence[Known]) -> dict[int, list[float]]:
    """Per answer: the weight of its candidates by two kernels, and the similarity and place of the nearest."""
    top, exp = known[0].similarity, math.exp
    votes: dict[int, list[float]] = {}
    for similarity, answer, place, _ in known:
        narrow, wide = exp((similarity - top) * _NARROW), exp((similarity - top) * _WIDE)
        tally = votes.get(answer)
        if tally is None:
            votes[answer] = [narrow, wide, similarity, place]
        else:
            tally[0] += narrow
            tally[1] += wide
    return votes


def _asked(known: Sequence[Known], answer: int) -> list[int]:
    same = next(k for k in known if k.answer == answer)
    rival = next((k for k in known if k.answer != answer), None)
    close = rival is not None and rival.similarity > same.similarity - CLOSE
    return [same.place, rival.place] if rival is not None and close else [same.place]


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
