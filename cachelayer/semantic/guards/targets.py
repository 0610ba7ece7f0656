"""Guard: of the same things, something else is asked for.

'The capital of the largest state' / 'the largest state', 'how many rivers are in Texas' / 'which rivers are in Texas',
'how long is the longest river' / 'what is the longest river', 'where is Kansas' / 'what is the capital of Kansas'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ..text import lexicon as lx
from ..text.lexemes import PREPOSITIONS, stem
from ..text.signature import QUESTION_WORDS, Signature

WHAT: Final = frozenset("what what's which whats".split())
_LISTING: Final = frozenset("list name give show tell find get".split())
_BEING: Final = frozenset("is are was were be".split())
_SKIPPED: Final = frozenset(
    """me us a an the all any some every each other my your our its their his her this that these those please
    top best worst most least major main biggest largest smallest longest shortest highest lowest greatest tallest
    first last next current total many much different distinct unique various possible common popular new old great
    good""".split()
)
LIGHT: Final = frozenset(
    map(
        stem,
        """name names kind kinds type types sort sorts list identity title meaning definition concept example examples
        part parts set group way ways thing things reason reasons difference differences limit maximum minimum process
        procedure steps step method idea problem issue matter chance chances use rule rules
        meant mean means like going happen happened happening wrong about place places time tip tips advice""".split(),
    )
)
"""What one asks for only to get at what follows."""
COUNTING: Final = frozenset(map(stem, "number count amount total quantity content sum".split()))
_NUMBER: Final = frozenset(("number", "count"))
POPULATION: Final = stem("population")
PEOPLE: Final = frozenset(map(stem, "people persons inhabitants residents citizens live".split()))
_MEASURES: Final = frozenset("long tall big large high old far deep wide heavy fast small populous".split())
MEASURED: Final = frozenset(
    map(
        stem,
        """length height size area elevation age distance depth width weight speed population time duration altitude
        extent dimension dimensions""".split(),
    )
)
_PLACES: Final = frozenset(
    map(
        stem,
        "location address place directions position site spot country city town region continent street".split(),
    )
)
_EXTREME: Final = frozenset(
    "biggest largest smallest longest shortest highest lowest tallest deepest oldest widest heaviest fastest".split()
)
_ENDING: Final = frozenset(
    """that who whose whom which where when why how do does did has have had can could will would should may might must
    if while because than as per i you we they he she it there""".split()
).union(PREPOSITIONS, _BEING)
"""What ends the phrase that says what is asked for."""
_OTHERS: Final = frozenset(("yesno", "why", "when", "who", "whose"))
"""Kinds of question that ask for no thing."""
_DONE: Final = frozenset("written made held sold given known born taken".split())
_SINGLE: Final = frozenset("is was what's".split())


class _Target(NamedTuple):
    kind: str
    """'thing', 'count', 'measure' or 'where'."""
    words: frozenset[str]
    """Stems of the phrase that names it."""


def targets(a: Signature, b: Signature) -> bool:
    """The one asks for something that the other only mentions, for how many there are, or for a measure of it."""
    if a.stems.isdisjoint(b.stems) or not _may_name(a) or not _may_name(b):
        return False
    mine, theirs = _target(a), _target(b)
    if mine is None or theirs is None:
        return False
    if mine.kind == theirs.kind:
        return _disjoint(mine, theirs, a, b)
    return _of_another_kind(mine, theirs, a, b) or _of_another_kind(theirs, mine, b, a)


def _may_name(s: Signature) -> bool:
    """A look that costs less than `_target`: most texts are no question for a thing."""
    return s.question not in _OTHERS if s.question else s.words[0] in _LISTING or _plural(s.words)


def _disjoint(mine: _Target, theirs: _Target, a: Signature, b: Signature) -> bool:
    if not mine.words or not theirs.words or not mine.words.isdisjoint(theirs.words):
        return False
    return mine.words <= b.stems or theirs.words <= a.stems


def _of_another_kind(thing: _Target, other: _Target, a: Signature, b: Signature) -> bool:
    if thing.kind != "thing" or not thing.words:
        return False
    if other.kind == "count":
        return _counted(thing, other, a, b)
    if other.kind == "measure":
        if not MEASURED.isdisjoint(thing.words):
            return _of_its_own(a.words, b)
        extreme = not _EXTREME.isdisjoint(a.vocabulary)  # 'what is my limit' is 'how high is my limit'
        return extreme and thing.words <= b.stems
    return b.stems < a.stems and _PLACES.isdisjoint(thing.words) and thing.words.isdisjoint(b.stems)


def _counted(thing: _Target, count: _Target, a: Signature, b: Signature) -> bool:
    """Which they are, or something else of them, and how many."""
    if not (COUNTING - count.words).isdisjoint(a.stems):  # 'how many prime numbers are there' counts numbers
        return False
    if POPULATION in thing.words:
        return PEOPLE.isdisjoint(b.stems)
    return not thing.words.isdisjoint(count.words) or (
        bool(count.words) and thing.words <= b.stems and _SINGLE.isdisjoint(a.vocabulary)
    )


def _of_its_own(words: Sequence[str], measured: Signature) -> bool:
    """'The size of the capital of Texas' / 'how large is Texas'."""
    ofs = [i for i, word in enumerate(words) if word == "of"][:2]
    if len(ofs) < 2:
        return False
    owner = frozenset(map(stem, words[ofs[0] + 1 : ofs[1]])) - {"the"}
    return owner.isdisjoint(measured.stems) and _PLACES.isdisjoint(owner)


def _target(s: Signature) -> _Target | None:
    """What a text with one question asks for; None if that is not seen."""
    words = s.words
    asked = [i for i, word in enumerate(words) if word in QUESTION_WORDS or word in WHAT]
    if words[0] in _LISTING and (not asked or asked[0] > 2):
        return _thing(words, 1) if words[1:2] != ("out",) else None
    if not asked:
        return _thing(words, 0) if not s.question else None  # what `_may_name` let pass
    if len(asked) > 1 or asked[0] > 2:
        return None
    at, word = asked[0], words[asked[0]]
    after = words[at + 1] if at + 1 < len(words) else ""
    if word == "how" and after == "many":
        return _Target("count", phrase(words, at + 2))
    if word == "how" and after in _MEASURES:
        return _Target("measure", frozenset())
    if word == "where" and after in _BEING:
        return _Target("where", frozenset())
    if word not in WHAT or (after in _ENDING and after not in _BEING):
        return None
    if after in _BEING:
        return _thing(words, at + 2)
    end = next((i for i in range(at + 1, len(words)) if words[i] in _ENDING), len(words))
    named = end + 1 < len(words) and words[end] in _BEING and words[end + 1] not in PREPOSITIONS
    is_what = phrase(words, end + 1) if named else frozenset[str]()
    return _Target("thing", phrase(words, at + 1) | is_what)  # 'which city is the capital'


def _plural(words: Sequence[str]) -> bool:
    """'Rivers in Texas', 'top ten customers by revenue'."""
    end = next((i for i, word in enumerate(words) if word in _ENDING), len(words))
    return end < len(words) and any(
        w.endswith("s") and not w.endswith(("ss", "us", "'s")) for w in words[:end]
    )


def _thing(words: Sequence[str], start: int) -> _Target:
    """What a phrase names, or that it is counted: 'the total number of rivers'."""
    for i in range(start, len(words) - 1):
        if words[i] in _NUMBER and words[i + 1] == "of":
            return _Target("count", phrase(words, i + 2))
        if words[i] not in _SKIPPED:
            break
    return _Target("thing", phrase(words, start))


def phrase(words: Sequence[str], start: int) -> frozenset[str]:
    """Stems of the words from `start` to where the phrase ends; none where it is a light one, as 'the best way'."""
    found = set[str]()
    for i in range(start, len(words)):
        word = words[i]
        if word in _ENDING:
            if found or word in _BEING:
                break
        elif found and words[i - 1].endswith("s") and _participle(word):
            break
        elif (root := stem(word.removesuffix("'s"))) in LIGHT:
            return phrase(words, i + 2) if words[i + 1 : i + 2] == ("of",) else frozenset()
        elif word not in _SKIPPED and word not in lx.FUNCTION_WORDS:
            found.add(root)
    return frozenset(found)


def _participle(word: str) -> bool:
    """'Papers published by', 'papers written by'."""
    return word in _DONE or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))
