"""Guard: one text tells something beside its question that the other does not.

'I deleted my account. How do I log in?' / 'How do I log in?', 'How do I log in? I deleted my account.'. What is told
in common words weighs little for the trees, though it decides which answer is right. So it has a risk of its own, by
which words tell it and how far it moves the text. What only sets the scene has none: 'I looked everywhere.'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from ..text.parts import Parts
from ..text.reading import Reading, read
from ..text.scenes import BESIDE, scene
from ..text.words import KIN, SAME, SLIP, Words
from ..weights import load_arrays

_SEEN: Final = (SAME, KIN, SLIP)
_POINTING: Final = frozenset(
    "it them they this that those these one ones he she him her his their its another".split()
)
_MEANT: Final = 2
"""Words of the question that a story may name, where the question beside it points: 'How do I use it?'."""
_MISSED: Final = 4
"""Words of the question up to which another for each is looked for."""
_FEW: Final = 0.25
"""Of the words of a statement, that the other text may lack: it tells the same."""
SAID: Final = tuple(
    """i my we our you your it this that there the a no not can't don't have has had was is are am been just never
    already to by for with on in at""".split()
)
"""Small words by which stories are told apart from what only sets the scene."""
_OWN: Final = frozenset("i my me we our us mine i'm i've i'd".split())
_SELF: Final = frozenset("i we i'm i've i'd we're we've im ive".split())
_APART: Final = 0.15
"""What the risk is multiplied by where one tells of oneself and asks of something else: 'I'm writing an essay. Who
wrote Faust?'."""


class Story:
    """What one text tells alone, of two that ask the same."""

    __slots__ = ("asked", "statements", "words")

    def __init__(
        self, statements: Sequence[tuple[str, ...]], words: Sequence[str], asked: frozenset[str]
    ) -> None:
        self.statements = statements
        self.asked = asked
        """The words of the question alone."""
        self.words = words
        """Of `statements`, which the other text has not; one at least."""

    def measures(self, similarity: float, table: Words) -> list[float]:
        """How near the texts are, how much is told, which of `SAID` tell it, and the mean vector of the rest."""
        lexemes = [table.lexemes[word].aligned for word in self.words]
        weights = [one[4] for one in lexemes]
        total = sum(weights)
        said = frozenset(word for words in self.statements for word in words)
        vectors = table.vectors([one[2] for one in lexemes])
        mean = [float(x) / max(total, 1e-6) for x in weights @ vectors]
        return [similarity, len(weights) / 10, total / 10, *(float(w in said) for w in SAID), *mean]

    def risk(self, similarity: float, table: Words) -> float:
        """The share of stories that change the answer and look as harmless."""
        weights, start, centre, spread = _weights()
        score = start + sum(w * x for w, x in zip(weights, self.measures(similarity, table), strict=True))
        share = 0.5 * math.erfc((score - centre) / spread / math.sqrt(2.0))
        apart = self.asked.isdisjoint(_OWN) and all(not _SELF.isdisjoint(told) for told in self.statements)
        return share * (_APART if apart else 1.0)


@cache
def _weights() -> tuple[list[float], float, float, float]:
    arrays = load_arrays("stories.npz")
    return arrays["weights"].tolist(), *(float(arrays[name]) for name in ("start", "centre", "spread"))


def scenic(a: Reading, b: Reading, table: Words) -> bool:
    """Whether they are one question, word for word, beside which one or both only set the scene."""
    mine, theirs = a.signature.stems, b.signature.stems
    if mine == theirs or not (mine <= theirs or theirs <= mine):
        return False
    one, other = a.parts, b.parts
    if not one.statements and not other.statements:
        return False
    for own, asked, there in ((one, b, other), (other, a, one)):
        for words in own.statements:
            if words not in there.statements and not _idle(words, asked, table):
                return False
    plain = read(one.question, table).plain
    return len(plain) > 1 and plain == read(other.question, table).plain


def story(a: Reading, b: Reading, table: Words) -> Story | None:
    """What one of them tells that the other does not, where it asks all that the other asks."""
    return _story(a, b, table) or _story(b, a, table)


def _story(a: Reading, b: Reading, table: Words) -> Story | None:
    """What `a` tells."""
    if not a.parts.statements or not _asks_all(a, b, table):
        return None
    more = _open(a.parts, b, table)
    if not more or _open(b.parts, a, table):
        return None
    words = [w for statement in more for w in statement if not covered(w, b, table)]
    return Story(more, words, b.signature.vocabulary)


def _open(mine: Parts, other: Reading, table: Words) -> list[tuple[str, ...]]:
    """The statements that the other text does not make, without those that only set the scene."""
    return [
        words
        for words in mine.statements
        if not repeated(words, other, table) and not _idle(words, other, table)
    ]


def _asks_all(a: Reading, b: Reading, table: Words) -> bool:
    """Whether `a` asks what `b` asks, or points at it in what it tells."""
    beside = {word for words in a.parts.statements for word in words}
    asked = {short: word for word, short in zip(a.content, a.stems, strict=True) if word not in beside}
    missing = {word for word, short in zip(b.content, b.stems, strict=True) if short not in asked}
    if not missing:
        return True
    for words in b.parts.statements:
        if not missing.isdisjoint(words) and _idle(words, a, table):
            missing.difference_update(words)
    if len(missing) > _MISSED:
        return False
    missing = {word for word in missing if not _among(word, asked.values(), table)}
    if not missing:
        return True
    pointed = len(missing) <= _MEANT and not _POINTING.isdisjoint(a.signature.vocabulary)
    return pointed and all(covered(w, a, table) for w in missing)


def repeated(words: Sequence[str], other: Reading, table: Words) -> bool:
    """Whether the other text says nearly all of it, too."""
    left = sum(not covered(w, other, table) for w in words)
    return left == 0 or left < _FEW * sum(not table.lexemes[w].function for w in words)


def _idle(words: Sequence[str], other: Reading, table: Words) -> bool:
    """Whether a statement only sets the scene of the other's question."""
    found = scene(" ".join(words)) if other.content else None
    if found is None:
        return False  # of 'What should I do?' all that matters is what is told
    rest, thing = found
    said = [w for w in rest if not table.lexemes[w].function]
    seen = [covered(w, other, table) for w in said]
    return all(there or w in BESIDE for w, there in zip(said, seen, strict=True)) and (not thing or any(seen))


def covered(word: str, other: Reading, table: Words) -> bool:
    """Whether the other text has a word or another for it, or other guards compare it."""
    lexeme = table.lexemes[word]
    if lexeme.function or lexeme.number or lexeme.date or lexeme.unit:
        return True
    return lexeme.stem in other.signature.stems or _among(word, other.content, table)


def _among(word: str, words: Iterable[str], table: Words) -> bool:
    """Whether another for it is there."""
    return any(table.relation(word, theirs) in _SEEN for theirs in words)
