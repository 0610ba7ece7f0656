"""What a request says that a vector blurs: numbers, dates, names, negation, order. Computed once per text.

English word classes; numbers, identifiers, code and names are found in any language written in Latin script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from .lexemes import NONE, Lexemes
from .lexicon import AUXILIARIES
from .marks import capitals, faceless, formal, odd, parted, rows
from .scanning import Scan, named
from .spoken import joined
from .tokens import tokens
from .written import written


@dataclass(slots=True)
class Signature:
    """The symbolic side of one text; compared field by field with another's. Not to be changed by who reads it."""

    words: tuple[str, ...]
    """Every word and number, lower-case, in order."""
    content: tuple[str, ...]
    """Stems of the words that carry meaning, in order."""
    numbers: tuple[tuple[str, str], ...]
    """(value, unit or ''), sorted."""
    dates: frozenset[str]
    ids: frozenset[str]
    """Identifiers, code, addresses, links, signs: '+', '!=', an emoji."""
    names: frozenset[str]
    """Capitalized words that do not open a sentence; empty for text without case."""
    negations: int
    against: tuple[str, ...]
    """The opposites of all words, and what follows negative prefixes ('lock' of 'unlock')."""
    joins: bool
    """Something is joined by 'and', 'or', 'nor' or 'plus'."""
    quantifiers: frozenset[str]
    modals: frozenset[str]
    question: str
    """'who', 'how many', ... for a question; 'yesno'; '' for anything else."""
    roles: tuple[tuple[str, str], ...]
    """(direction word, stem of what follows it), in order."""
    english: bool
    """False if words of other languages outnumber English ones: word classes cannot be read then."""
    formal: str
    """What is written as code, formulas, patterns and data are, in order and in its own case."""
    capitals: frozenset[str] | None
    """Words that are another word in lower case ('us', 'polish') and have capitals; None if case is a habit."""
    vocabulary: frozenset[str] = field(init=False, repr=False, compare=False)
    """`words` as a set. This and `stems` are made when they are first asked for."""
    stems: frozenset[str] = field(init=False, repr=False, compare=False)
    """`content` as a set."""
    gist: int | None = field(default=None, repr=False, compare=False)
    """A hash of what the text says in the plainest words, once that was asked for."""
    letters: int = field(default=-1, repr=False, compare=False)
    """How many are in what `repeats` compares, 0 if it compares nothing of it; -1 until that was asked for."""

    def __getattr__(self, name: str) -> frozenset[str]:
        if name not in ("vocabulary", "stems"):
            raise AttributeError(name)
        self.vocabulary, self.stems = frozenset(self.words), frozenset(self.content)
        return self.vocabulary if name == "vocabulary" else self.stems

    def cool(self) -> None:
        """Release what can be made again."""
        try:
            del self.vocabulary, self.stems
        except AttributeError:
            return


_MEASURES: Final = {w: f"how {w}" for w in ("many", "much", "long", "far", "old", "often", "big")} | {
    "frequently": "how often"
}
_HOW: Final = ("how", "how's")
_WH: Final = {w: w.removesuffix("'s") for w in (
    *(w + s for w in ("who", "whose", "what", "when", "where", "why", "which", "how") for s in ("", "'s")),
)} | {"whom": "who", "whom's": "who"}  # fmt: skip
_YES_NO: Final = AUXILIARIES - {"had"}
_TIMES: Final = frozenset(
    "time times day days date dates year month case cases situation situations circumstances".split()
)
_NOUNS: Final = dict.fromkeys("cost costs price fee fees value".split(), "price") | {
    "reason": "why",
    "way": "how",
}
_TOLD: Final = (
    dict.fromkeys("rent salary wage wages fare fine toll premium deductible tuition deposit".split(), "price")
    | dict.fromkeys(("period", "duration", "length"), "how long")
    | {"distance": "how far", "age": "how old"}
)
"""'What is the rent' is 'how much is the rent'; 'what is rent' is not."""
_NAMED: Final = _NOUNS | _TOLD
_DEFINITE: Final = frozenset("the my your our his her their this that its".split())
_NO_NOUNS: Final = _YES_NO.union(("one", "ones", "of", "way"))
_PRICED: Final = frozenset("is are was were do does did would will".split())
_PLURAL: Final = frozenset("people children men women".split())
_RELATIVE: Final = ("who", "whose", "which")
QUESTION_WORDS: Final = frozenset(_WH)
ASKING: Final = _YES_NO.union(_WH)
"""Words that may begin a question."""


def several(word: str) -> bool:
    """Whether it is a noun in the plural, by its ending if it is no common one without."""
    if word in _PLURAL:
        return True
    return word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is", "'s"))


def asks(words: Sequence[str]) -> bool:
    """Whether words ask, without a mark that says so."""
    return any(word in _WH for word in words[:6]) or (len(words) > 0 and words[0] in _YES_NO)


def _question(words: list[str], text: str) -> str:
    relative = False
    for i, word in enumerate(words[:6]):
        if word in _WH:
            if i and word in _RELATIVE and several(words[i - 1]):
                relative = True  # 'users who signed up'
                continue
            after = words[i + 1 : i + 8]
            return _of_how(after) if word in _HOW else _of_what(_WH[word], after)
    if words and words[0] in _YES_NO:
        return "yesno"
    return "other" if relative or text.rstrip().endswith("?") else ""


def _of_how(after: list[str]) -> str:
    """'How much is it' asks for a price, 'how much salt' is 'how many grains'."""
    asked = _MEASURES.get(after[0], "how") if after else "how"
    if asked == "how many" and after[1:2] == ["times"]:
        return "how often"
    if asked == "how much" and not _PRICED.isdisjoint(after[1:2]) and after[2:3] != ["there"]:
        return "price"
    return "how many" if asked == "how much" else asked


def _of_what(asked: str, after: list[str]) -> str:
    """'What time' asks when, 'what does it cost' for a price, 'what must I do to' how, 'what makes it' why."""
    if asked not in ("what", "which") or not after:
        return asked
    if after[0] in _TIMES:
        return "when" if after[1:2] != ["of"] else after[0]  # 'what day of the week'
    if asked == "which" and after[0] in _NO_NOUNS:
        return asked
    if after[0] == "makes":
        return "why"
    if ("do", "to") in pairwise(after):
        return "how"
    said = after[0] not in _YES_NO  # 'what's the', 'what the ... is'
    definite = not _DEFINITE.isdisjoint(after[:1] if said else after[1:2]) and after[-1] != "for"
    nouns = _NAMED if definite else _NOUNS
    return next((nouns[word] for word in after if word in nouns), "what")


_PLAIN: Final = Lexemes({})


def signature(text: str, lexemes: Lexemes = _PLAIN) -> Signature:
    """Read `text` once. Pure; about 2 us a word that `lexemes` knows."""
    scan = Scan()
    words, content, against = scan.words, scan.content, scan.against
    for match in tokens(written(joined(parted(faceless(text))))):
        kind = match.lastgroup
        raw = match[0]
        if kind != "word" and kind != "mixed":
            if raw != "&":
                scan.mark(kind, match)
                continue
            raw = "and"
        lexeme = lexemes[raw.lower()]
        words.append(lexeme.word)
        if lexeme.against:
            against += lexeme.against
        if not lexeme.plain or scan.pending is not None:
            scan.word(raw, lexeme)
            continue
        if lexeme.function:
            scan.balance += 1
        else:
            if raw != lexeme.word and named(raw, scan.opening):
                scan.names.add(lexeme.stem)
            content.append(lexeme.stem)
            if scan.direction:
                scan.role(lexeme.stem)
        scan.opening = False
    scan.flush_number()
    scan.ids.update(odd(text))
    return Signature(
        words=tuple(words),
        content=tuple(content),
        numbers=tuple(sorted(scan.numbers)),
        dates=frozenset(scan.dates) if scan.dates else NONE,
        ids=frozenset(scan.ids) if scan.ids else NONE,
        names=frozenset(scan.names) if scan.names else NONE,
        negations=scan.negations,
        against=tuple(against),
        joins=scan.joins,
        quantifiers=scan.quantifiers,
        modals=scan.modals,
        question=_question(words, text),
        roles=tuple(scan.roles),
        english=scan.balance >= 0,
        formal=formal(text) or (rows(text) if scan.numbers and (scan.ids or len(scan.numbers) > 2) else ""),
        capitals=capitals(text, words),
    )
