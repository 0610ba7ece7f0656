"""One text, read once: its signature and its words with weights and vectors. Kept per entry."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .lexicon import CHATTER, FUNCTION_WORDS, GREETINGS, PLEASANTRIES
from .signature import Signature, signature, stem
from .words import Words

LONGEST: Final = 200
"""Words of content that are aligned; a longer text is compared by what these and its signature say."""
POSSESSORS: Final = {
    "my": "me", "i": "me", "me": "me", "mine": "me", "i'm": "me", "i've": "me", "i'd": "me", "im": "me", "your": "you",
    "his": "he", "he": "he", "him": "he", "her": "she", "she": "she", "hers": "she", "their": "they", "they": "they",
    "them": "they", "our": "we", "we": "we", "us": "we",
}  # fmt: skip
CONDITIONS: Final = frozenset(
    "if unless except excluding without while until when after before during because despite instead besides".split()
)
PREPOSITIONS: Final = frozenset(
    "from to into onto in on at by with without for of off out up down over under about between through via".split()
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the comparison of pairs reads. Arrays have n rows, one per word of content."""

    signature: Signature
    content: tuple[str, ...]
    """Words that carry meaning, lower-case, in order; n of them."""
    stems: tuple[str, ...]
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
    """Not English: by its function words, or since more words are unknown than function words are there."""
    capitals: frozenset[str]
    """Words that are written with a capital anywhere but at the start."""
    idle: bool
    """A pleasantry: 'Thanks a lot!'."""
    chatter: bool
    """'It's raining here all day', 'How has your day been?'."""
    reply: bool
    """What an assistant may say to that."""


def read(text: str, table: Words) -> Reading:
    """Pure; about 8 us a word."""
    signed = signature(text)
    kept = [w for w in signed.words if w not in FUNCTION_WORDS][:LONGEST]
    bases = [w.removesuffix("'s") for w in kept]
    ids = [table.ids.get(w, -1) for w in bases]
    strange = sum(
        i < 0 and w.isalpha() and stem(w) not in signed.names for w, i in zip(bases, ids, strict=True)
    )
    weights = tuple(table.weight(w, i) for w, i in zip(bases, ids, strict=True))
    everything = signed.vocabulary
    vectors, mean = vectors_of(bases, weights, table)
    return Reading(
        signature=signed,
        content=tuple(bases),
        stems=tuple(stem(w) for w in bases),
        known=tuple(i >= 0 for i in ids),
        weights=weights,
        total=sum(weights) or 1e-6,
        vectors=vectors,
        mean=mean,
        possessors=frozenset(POSSESSORS[w] for w in everything if w in POSSESSORS),
        conditions=everything & CONDITIONS,
        prepositions=everything & PREPOSITIONS,
        ands=signed.words.count("and") + signed.words.count("or"),
        foreign=not signed.english or strange > len(signed.words) - len(kept),
        capitals=signed.names,
        idle=_idle(signed.words) or _SMILES.issuperset(text),
        chatter=_chatter(signed),
        reply=_reply(signed),
    )


def vectors_of(
    content: Sequence[str], weights: Sequence[float], table: Words
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`vectors` and `mean` of a reading."""
    vectors = table.vectors([table.ids.get(w, -1) for w in content])
    mean = np.array(weights, np.float32) @ vectors
    length = math.sqrt(float(mean @ mean))
    return vectors, mean / length if length > 0.0 else mean


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
