"""Guard: the texts want the answer in different forms: 'in one word', 'briefly', 'answer yes or no'.

Few words of a question weigh less in its vector, and few differences are seen sooner in its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..text import lexicon as lx
from ..text.signature import Signature
from .moods import TELLING

_ADVERBS: Final = dict.fromkeys("briefly concisely tldr".split(), "briefly")
_AFTER_IN: Final = {"brief": "briefly", "short": "briefly"} | dict.fromkeys(
    "detail depth full length".split(), "at length"
)
_MEASURES: Final = {
    "word": "words", "words": "words", "sentence": "sentences", "sentences": "sentences", "paragraph": "paragraphs",
    "paragraphs": "paragraphs", "line": "lines", "lines": "lines",
}  # fmt: skip
_HINTS: Final = frozenset((*_AFTER_IN, *_ADVERBS, *_MEASURES, "yes"))


def demands(a: Signature, b: Signature) -> bool:
    """One text wants its answer in a form of which the other says nothing, or in another form."""
    if _HINTS.isdisjoint(a.vocabulary) and _HINTS.isdisjoint(b.vocabulary):
        return False
    return frozenset(_wanted(a.words)) != frozenset(_wanted(b.words))


def _wanted(words: tuple[str, ...]) -> Iterator[str]:
    for i, word in enumerate(words):
        before = words[max(i - 3, 0) : i]
        if word in _ADVERBS:
            yield _ADVERBS[word]
        elif word in _AFTER_IN and (before[-1:] == ("in",) or before[-2:] == ("keep", "it")):
            yield _AFTER_IN[word]
        elif word in _MEASURES and "in" in before and _few(words[i - 1]) and _ends(words[i + 1 : i + 2], i):
            yield _MEASURES[word]
        elif word == "yes" and words[i + 1 : i + 3] == ("or", "no"):
            yield "yes or no"


def _ends(following: tuple[str, ...], at: int) -> bool:
    """Whether no noun follows, as in 'a Word document'; 'in one word, describe' may open a text."""
    return lx.FUNCTION_WORDS.issuperset(following) or (at == 2 and TELLING.issuperset(following))


def _few(word: str) -> bool:
    return word in ("a", "one", "single", "few") or word in lx.CARDINALS or word.isdigit()
