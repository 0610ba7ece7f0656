"""Which phrase stands for which, which sentence says what another one does: phrasebook.txt, read when it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Final, NamedTuple

from .lexicon import FUNCTION_WORDS

BEGIN, END, ANY = "^", "$", "*"
"""Where a text begins and ends; whatever is said."""
Words = tuple[str, ...]


class Beside(NamedTuple):
    """What a line asks of the rest of the text."""

    one: frozenset[str]
    """Words of which it has one; any text will do where there are none."""
    none: frozenset[str]

    def here(self, words: frozenset[str]) -> bool:
        return self.none.isdisjoint(words) and not (self.one and self.one.isdisjoint(words))


class Phrase(NamedTuple):
    said: Words
    plain: Words
    """What stands for it."""
    beside: Beside


class Sentence(NamedTuple):
    said: re.Pattern[str]
    plain: Words
    """With the names of slots in braces."""
    beside: Beside


_WORD: Final = re.compile(r"[a-z0-9']+")
_SLOT: Final = re.compile(r"\{(\w+)(?::([^}]+))?\}")
_SOME: Final = r"[^ ]+(?: [^ ]+){0,7}?"
_KINDS: Final = {
    "": rf"(?P<NAME>{_SOME})",
    "noun": r"(?P<NAME>[^ ]+(?: [^ ]+)?)",
    "number": r"(?P<NAME>[\d.]+)",
    "most": r"(?P<NAME>[a-z]+est|(?:most|least) [a-z]+)",
    "place": r"(?P<NAME>(?:in|of|on) .+?)",
    "rest": r"(?: (?P<NAME>.+))?",
}
"""What may stand in a slot: some words, one or two of a noun, 'largest', 'in the world', or whatever follows."""


def _pattern(sentence: str, kinds: dict[str, str]) -> re.Pattern[str]:
    """`kinds`: what may stand in each slot, by name; a name comes with its kind where it stands first."""

    def slot(found: re.Match[str]) -> str:
        kind = kinds.setdefault(found[1], found[2] or "")
        one_of = "|".join(re.escape(each.replace("_", " ")) for each in kind.split("/"))
        return _KINDS.get(kind, f"(?P<NAME>{one_of})").replace("NAME", found[1])

    said = " ".join(_SLOT.sub(slot, word) if "{" in word else re.escape(word) for word in sentence.split())
    return re.compile(said.replace(" (?: ", "(?: "))


def lines(text: str) -> Iterator[tuple[list[str], Beside]]:
    """What each line says is the same, the plainest first, and what it asks of the rest of a text."""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        phrases, _, beside = line.partition("|")
        said, _, each = phrases.partition(" : ")
        signs = beside.split()
        none = frozenset(sign[1:] for sign in signs if sign.startswith("-"))
        needs = Beside(frozenset(sign for sign in signs if not sign.startswith("-")), none)
        for what in each.split("/"):
            yield [one.replace("~", what.strip()).strip() for one in said.split(",")], needs


class Phrasebook:
    """The lines of `text`. Raises ValueError if a sentence lacks a slot of its line."""

    def __init__(self, text: str) -> None:
        self._phrases: dict[Words, list[Phrase]] = {}
        self._sentences: dict[Words, list[Sentence]] = {}
        """Both by their first two words, or by the one that they have, or that no slot follows; long phrases first."""
        found = list(lines(text))
        for (plain, *others), beside in found:
            self._take(plain, others, beside)
        for same in self._phrases.values():
            same.sort(key=lambda phrase: (len(phrase.said), bool(phrase.beside.one)), reverse=True)
        self.counterparts = _counterparts([said for said, _ in found])
        """By a word of a phrase that carries meaning, the like words of what is said instead, through two lines at
        most; ANY, if that may have none."""

    def _take(self, plain: str, others: list[str], beside: Beside) -> None:
        slots = dict(_SLOT.findall(plain))
        stands = tuple(_SLOT.sub(r"{\1}", plain).split())
        if not slots and any(f" {said} " in f" {plain} " for said in others):
            others = [*others, plain]  # so that of 'web browser' no 'browser' is replaced
        for said in others:
            words = tuple(said.split())
            if missing := slots.keys() - {name for name, _ in _SLOT.findall(said)}:
                raise ValueError(f"phrasebook: {said!r} has no slot {min(missing)!r}, which its line has")
            if "{" in said:
                pattern = _pattern(said, {name: kind for name, kind in slots.items() if kind})
                first = () if "{" in words[0] else words[:1] if "{" in words[1] else words[:2]
                self._sentences.setdefault(first, []).append(Sentence(pattern, stands, beside))
            else:
                self._phrases.setdefault(words[:2], []).append(Phrase(words, stands, beside))

    def replaced(self, words: list[str]) -> list[str]:
        """`words`, with what begins and ends them, and each phrase replaced once, from left to right."""
        known = frozenset(words)
        out: list[str] = []
        at = 0
        while at < len(words):
            phrase = self._phrase(words, at, known)
            if phrase is None:
                out.append(words[at])
                at += 1
            else:
                out += phrase.plain
                at += len(phrase.said)
        return out

    def _phrase(self, words: list[str], at: int, known: frozenset[str]) -> Phrase | None:
        """The longest that begins there."""
        for phrase in self._phrases.get(tuple(words[at : at + 2]), ()):
            if tuple(words[at : at + len(phrase.said)]) == phrase.said and phrase.beside.here(known):
                return phrase
        return next((one for one in self._phrases.get((words[at],), ()) if one.beside.here(known)), None)

    def restated(self, words: list[str]) -> list[str]:
        """The sentence that says most plainly what `words` do, or `words` if none is known."""
        known, text = frozenset(words), " ".join(words)
        for sentence in chain.from_iterable(self._sentences.get(tuple(words[:n]), ()) for n in (2, 1, 0)):
            if sentence.beside.here(known) and (found := sentence.said.fullmatch(text)):
                slots = {name: said or "" for name, said in found.groupdict().items()}
                if "other" in slots:
                    slots["one"], slots["other"] = sorted((slots["one"], slots["other"]))
                return " ".join(sentence.plain).format_map(slots).split()
        return words


def _choices(slot: re.Match[str]) -> str:
    return "" if (slot[2] or "") in _KINDS else slot[2].replace("/", " ").replace("_", " ")


def _counterparts(found: list[list[str]]) -> dict[str, frozenset[str]]:
    met: dict[str, set[str]] = {}
    for said in found:
        sides = [frozenset(_WORD.findall(_SLOT.sub(_choices, one))) for one in said]
        for side in sides:
            beyond = [other - FUNCTION_WORDS for other in sides if other is not side]
            for word in side - FUNCTION_WORDS:
                met.setdefault(word, set()).update(*beyond, {ANY} if not all(beyond) else ())
    return {word: frozenset(others.union(*(met.get(o, ()) for o in others))) for word, others in met.items()}


def phrases() -> str:
    """What ships with the package."""
    return files(__package__).joinpath("phrasebook.txt").read_text("utf-8")


@cache
def phrasebook() -> Phrasebook:
    """The same, read once; takes some tens of milliseconds."""
    return Phrasebook(phrases())
