"""Guard: two long texts differ in a single place: a template filled in with other values, a document with one edit.

A rewording changes a text in many places. A change in only one is meant, although it hardly moves the vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.reading import Reading
from ..text.words import KIN, SAME, SLIP, Words

LONG: Final = 30
"""Words from which a text is long."""
SHARED: Final = 0.8
"""The share of the longer text's words that are equal from both ends on."""


def slot(a: Reading, b: Reading, table: Words) -> bool:
    """Both are long, one place alone differs, and what stands there is no other word for the same."""
    left, right = a.signature.words, b.signature.words
    shortest, longest = min(len(left), len(right)), max(len(left), len(right))
    if shortest < LONG or shortest < SHARED * longest or left == right:
        return False
    first, last = shared(left, right)
    if first + last < SHARED * longest:
        return False
    mine, theirs = _content(left[first : len(left) - last]), _content(right[first : len(right) - last])
    lone, other = (
        [w for s, w in mine.items() if s not in theirs],
        [w for s, w in theirs.items() if s not in mine],
    )
    if len(lone) == len(other) == 1:
        return table.relation(lone[0], other[0]) not in (SAME, KIN, SLIP)
    return bool(lone or other)


def shared(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """How many words are equal from the beginning, and of the rest from the end."""
    first, last, shortest = 0, 0, min(len(left), len(right))
    while first < shortest and left[first] == right[first]:
        first += 1
    while last < shortest - first and left[-1 - last] == right[-1 - last]:
        last += 1
    return first, last


def _content(words: Sequence[str]) -> dict[str, str]:
    """Words that carry meaning, by their stems."""
    return {stem(word): word for word in words if word not in lx.FUNCTION_WORDS}
