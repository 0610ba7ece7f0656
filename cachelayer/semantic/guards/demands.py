"""Guards: the texts want the answer in different forms: 'in one word', 'briefly', 'answer yes or no', 'in Italian'.

Few words of a question weigh less in its vector, and few differences are seen sooner in its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.manners import LANGUAGES
from ..text.signature import Signature
from .moods import TELLING

_ADVERBS: Final = dict.fromkeys("briefly concisely tldr".split(), "briefly")
_AFTER_IN: Final = {"brief": "briefly", "short": "briefly"} | dict.fromkeys(
    "detail depth full length".split(), "at length"
)
_PAYING: Final = frozenset(
    "pay pays paid paying cover covers covered covering refund refunded reimburse reimbursed".split()
)
"""With one of these 'in full' says how much."""
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
        elif word == "full" and not _PAYING.isdisjoint(words):
            continue
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


_OF_A_TEXT: Final = frozenset(
    "summarize summarise describe explain paraphrase rephrase outline discuss review comment read draw".split()
)
_CHANGED: Final = frozenset("rewrite convert port reimplement recode turn translate".split())
_DEFINITE: Final = frozenset("the this that these those my our your".split())
_INTO: Final = frozenset(("in", "to", "into", "as"))
_EARLY: Final = 3
"""Words among which the verb of an order is."""


def languages(a: Signature, b: Signature) -> bool:
    """'Summarize the letter in Italian' / 'summarize the Italian letter', 'a poem about Latin' / 'a poem in Latin'."""
    if _INTO.isdisjoint(a.vocabulary) and _INTO.isdisjoint(b.vocabulary):
        return False
    return _turned(a, b) or _turned(b, a)


def _turned(a: Signature, b: Signature) -> bool:
    """Of what `a` puts something into, `b` says that it is so already, or is what it is about."""
    forms = frozenset(_forms(a.words))
    if not forms:
        return False
    mine, theirs = frozenset(pairwise(a.words)), frozenset(pairwise(b.words))
    if any(("about", form) in theirs and form in LANGUAGES for small, form in forms if small == "in"):
        return "about" not in a.vocabulary
    return any(
        the in _DEFINITE and (the, thing) in mine and (small, form) not in theirs
        for the, form, thing in zip(b.words, b.words[1:], b.words[2:], strict=False)
        for small in _INTO
        if (small, form) in forms and _put(a.words[:_EARLY], small, form)
    )


def _forms(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """'In Italian', 'to Excel', 'as JSON', where no noun follows."""
    for i in range(2, len(words)):
        if words[i - 1] in _INTO and lx.FUNCTION_WORDS.issuperset(words[i + 1 : i + 2]):
            yield words[i - 1], words[i]


def _put(order: tuple[str, ...], small: str, form: str) -> bool:
    """Whether that is what is ordered: 'the letter in Italian' may be one that is so already, but not to be told so."""
    if small in ("to", "into") or not _CHANGED.isdisjoint(order):
        return True
    return not _OF_A_TEXT.isdisjoint(order) and (small == "as" or form in LANGUAGES)
