"""One text, read once: its signature and its words with weights and vectors."""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .asked import asked
from .frames import LONGEST as FRAMED
from .frames import framed
from .lexemes import NONE
from .lexicon import CHATTER, GREETINGS, PLEASANTRIES
from .making import making
from .parts import Parts, parts_of
from .repeats import core
from .signature import Signature, signature
from .variants import unvaried
from .words import Words

LONGEST: Final = 200
"""Words of content that are aligned; a longer text is compared by what these and its signature say."""
_EMPTY: Final = ((), (), (), (), ())


class Reading:
    """What the comparison of pairs reads. Arrays have n rows, one per word of content.

    Everything but the signature is made when it is first asked for.
    """

    __slots__ = (
        "_table", "ands", "chatter", "conditions", "content", "core", "foreign", "idle", "ids", "known",
        "mean", "parts", "plain", "possessors", "prepositions", "reply", "said", "signature", "stems", "text", "total",
        "vectors", "weights",
    )  # fmt: skip
    text: str
    said: str
    """The text without what frames it."""
    signature: Signature
    content: tuple[str, ...]
    """Words that carry meaning, lower-case, in order; n of them."""
    stems: tuple[str, ...]
    ids: tuple[int, ...]
    """Places in the table of words; -1 where it has none."""
    known: tuple[bool, ...]
    """Whether the table of words has it."""
    weights: tuple[float, ...]
    total: float
    vectors: NDArray[np.float32]
    """(n, width)."""
    mean: NDArray[np.float32]
    """(width,): the weighted mean of `vectors`, of length 1, or zero."""
    possessors: frozenset[str]
    conditions: frozenset[str]
    prepositions: frozenset[str]
    ands: int
    foreign: bool
    """Not English: by its function words, or since more words are unknown than function words are there, and more
    than are known."""
    idle: bool
    """A pleasantry: 'Thanks a lot!'."""
    chatter: bool
    """'It's raining here all day', 'How has your day been?'."""
    reply: bool
    """What an assistant may say to that."""
    core: tuple[str, ...]
    """What `repeats` compares."""
    plain: tuple[str, ...]
    """`core` of the text with its question in the commonest frame."""
    parts: Parts
    """Its statements and its question."""

    def __init__(self, text: str, signature: Signature, table: Words) -> None:
        self.text, self.signature, self._table = text, signature, table

    @property
    def capitals(self) -> frozenset[str]:
        """Words that are written with a capital anywhere but at the start."""
        return self.signature.names

    def says(self, other: Reading) -> bool:
        """Whether both are the same in plain form. Compared by hash first, which outlives the rest of a reading."""
        return self._gist() == other._gist() and self.plain == other.plain != ()

    @property
    def letters(self) -> int:
        """How many `core` has, which is remembered for longer than the rest of a reading."""
        if self.signature.letters < 0:
            self.signature.letters = sum(map(len, self.core))
        return self.signature.letters

    def _gist(self) -> int:
        if self.signature.gist is None:
            self.signature.gist = hash(self.plain)
        return self.signature.gist

    def __getattr__(self, name: str) -> object:
        if name in _OF_WORDS:
            self._weigh()
        elif name == "vectors":
            self.vectors = self._table.vectors(self.ids)
        elif name == "mean":
            mean = np.array(self.weights, np.float32) @ self.vectors
            length = math.sqrt(float(mean @ mean))
            self.mean = mean / length if length > 0.0 else mean
        elif name == "core":
            spelling = self._table.spelling if self.signature.english else None
            self.core = core(self.said, self.signature.words, spelling)
        elif name == "said":
            self.said = asked(self.text)
        elif name == "plain":
            self.plain = self._frame()
        elif name == "parts":
            self.parts = parts_of(self.said)
        elif name in _OF_TURNS:
            plain = self.said is self.text
            said = self.signature if plain else signature(self.text, self._table.lexemes)
            self.idle = _idle(said.words) or _SMILES.issuperset(self.text)
            self.chatter, self.reply = _chatter(said), _reply(said)
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def _frame(self) -> tuple[str, ...]:
        spelling = self._table.spelling
        if not self.signature.english or len(self.said) > FRAMED or self.signature.formal:
            return self.core
        if text := making(self.said, spelling.common):
            return core(text, signature(text, self._table.lexemes).words, spelling)
        text = framed(self.said, spelling.common)
        if text == self.said:
            return unvaried(self.core)
        return unvaried(core(text, signature(text, self._table.lexemes).words, spelling))

    def _weigh(self) -> None:
        """Fill in what is known of the words one by one."""
        signed, lexemes = self.signature, self._table.lexemes
        said = [lexemes[word] for word in signed.words]
        kept = [one.aligned for one in said if not one.function][:LONGEST]
        self.content, self.stems, self.ids, self.known, self.weights = (
            zip(*kept, strict=True) if kept else _EMPTY
        )
        self.total = sum(self.weights) or 1e-6
        self.foreign = not signed.english
        if not self.foreign and not all(self.known):
            known = self._table.spelling.known
            strange = [base for w, base, at, *_ in kept if at < 0 and w.isalpha() and w[1:] and not known(w)]
            unnamed = sum(base not in signed.names for base in strange)
            self.foreign = unnamed > max(len(signed.words) - len(kept), len(kept) // 2)
        links = [one for one in said if one.links]
        self.possessors = frozenset([one.possessor for one in links if one.possessor]) if links else NONE
        self.conditions = frozenset([one.word for one in links if one.condition]) if links else NONE
        self.prepositions = frozenset([one.word for one in links if one.preposition]) if links else NONE
        self.ands = signed.words.count("and") + signed.words.count("or") if signed.joins else 0


_OF_WORDS: Final = frozenset(
    (
        "content",
        "stems",
        "ids",
        "known",
        "weights",
        "total",
        "foreign",
        "possessors",
        "conditions",
        "prepositions",
        "ands",
    )
)
_OF_TURNS: Final = ("chatter", "idle", "reply")


def read(text: str, table: Words) -> Reading:
    """Pure; about 4 us a word."""
    return Reading(text, signature(asked(text), table.lexemes), table)


_SMILES: Final = frozenset(":;-=()[]DPp^.!~ \N{HORIZONTAL ELLIPSIS}\U0001f642\U0001f60a\U0001f604\U0001f602")
_ANSWERS: Final = frozenset(("yes", "no", "course"))
_PHATIC: Final = re.compile(
    r"\bhow(?:'s| is| are| has| was)? (?:you|your (?:day|week|weekend|morning)|things|everything|it going|life)\b"
    r"|\b(?:isn't it|isn't he|right|huh|eh|can i help)$"
)


def _idle(words: tuple[str, ...]) -> bool:
    """'Thanks a lot!', 'One moment please', 'No problem', but not 'No, thanks' nor 'How much is it?'."""
    if GREETINGS.isdisjoint(words) or not PLEASANTRIES.issuperset(words):
        return False
    return "no" not in words or not {"problem", "worries"}.isdisjoint(words)


def _chatter(s: Signature) -> bool:
    if s.numbers or s.ids or not CHATTER.issuperset(s.words):
        return False
    return not s.question or bool(_PHATIC.search(" ".join(s.words)))


def _reply(s: Signature) -> bool:
    if s.numbers:
        return False
    if not s.ids and CHATTER.issuperset(s.words):
        return True
    return not s.question and CHATTER.issuperset(w for w in s.words if w not in _ANSWERS)
