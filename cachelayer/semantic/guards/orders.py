"""Guard: one text also tells whoever answers what to make of the rest of it, or how to answer.

'Ignore this: how do I reset it?', 'How do I reset it? Answer wrongly.', 'Who would ask how I reset it?'. The words of
an order are common and few, so that hardly anything of a question seems to be missing; the answer is another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.manners import CIVIL
from ..text.reading import Reading
from ..text.signature import ASKING

_SPEAKING: Final = frozenset(
    """answer answers answered answering reply replies replied replying respond responds responded responding
    ignore ignores ignoring disregard disregarding pretend pretending imagine imagining refuse refusing
    repeat repeating ask asks asked asking wrong wrongly opposite kidding joking instruction instructions prompt
    rhyme""".split()
)
"""Of what is said and answered. Where all else of a question is there, one of these makes it the matter of another."""
_ORDERS: Final = frozenset(
    """answer reply respond ignore disregard forget pretend imagine suppose assume refuse repeat ask say tell lie rate
    translate be act speak talk write don't never always stop behave consider remember note explain kidding
    joking""".split()
)
"""With which an order to whoever answers begins."""
_CIVIL: Final = CIVIL.union(("also", "but", "first", "only"))
_YOU: Final = frozenset(("you", "you're", "your"))
_WORKED: Final = frozenset(
    "continue complete finish make fix count type spell edit change skip do get give".split()
)
"""With which an order begins that is about what follows a colon."""
_SHOWN: Final = frozenset("this that these following said says wrote".split())
"""After which a colon shows what somebody says, instead of saying it."""
_STOP: Final = re.compile(r"([.?!:;\n\u2026])(?=[\s\"')\]\u201d]|$)")
_LETTER: Final = re.compile(r"\b[a-z]$")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_JOINTS: Final = re.compile(r"[-/_.+#]")


def orders(a: Reading, b: Reading) -> bool:
    """One of them tells so, the other does not."""
    return _orders(a, b) != _orders(b, a)


def speaking(a: Reading, b: Reading) -> bool:
    """One of them alone has a word of what is said and answered."""
    return not _SPEAKING.isdisjoint(a.signature.vocabulary ^ b.signature.vocabulary)


def ordering(r: Reading) -> bool:
    """Whether it tells whoever answers what to do from now on, though its words are those of small talk."""
    return any(_first(words) in _ORDERS for words, _ in _sentences(r.text.lower()))


def _orders(a: Reading, b: Reading) -> bool:
    mine, theirs = a.signature, b.signature
    if theirs.stems <= mine.stems and not _SPEAKING.isdisjoint(mine.vocabulary - theirs.vocabulary):
        return True
    for word in mine.vocabulary - theirs.vocabulary:
        if len(parts := _JOINTS.split(word)) > 2 and word[0].isalpha() and _foreign(parts, theirs.stems):
            return True
    text = a.said.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    first = _STOP.search(text)
    if first is None or not _WORD.search(text, first.end()):
        return False
    said = list(_sentences(text.lower()))
    return len(said) > 1 and any(
        _ordered(words, end) and _foreign(words, theirs.stems) for words, end in said
    )


def _sentences(text: str) -> Iterator[tuple[list[str], str]]:
    """The words of each, and how it ends; 'p.m.' ends none."""
    parts, begun = _STOP.split(text), ""
    for said, end in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if end == "." and _LETTER.search(said):
            begun += said
        elif words := _WORD.findall(begun + said):
            yield words, end
            begun = ""


def _foreign(words: list[str], stems: frozenset[str]) -> bool:
    """Whether it shares nothing that carries meaning with the other text, and is no pleasantry."""
    polite = not lx.GREETINGS.isdisjoint(words) and lx.PLEASANTRIES.issuperset(words)
    return not polite and stems.isdisjoint(map(stem, words))


def _ordered(words: list[str], end: str) -> bool:
    """Whether a sentence tells what to do or how things are: 'Say no', 'You are wrong', 'It is', 'What is in this:'."""
    first = _first(words)
    if ":" in end and (words[-1] in _SHOWN or first in _WORKED):
        return True
    if "?" in end or first in ASKING:
        return "question" in words
    return first in _ORDERS or first in _YOU or (len(words) > 1 and lx.FUNCTION_WORDS.issuperset(words))


def _first(words: list[str]) -> str:
    """The word with which it begins in earnest."""
    return next((word for word in words if word not in _CIVIL), "")
