"""Guard: of the same thing, something else is asked: what it is, all there is to tell, an example, its causes or costs.

'What is a webhook?' / 'How do I set up a webhook?', 'Give me an example of a lease' / 'When do I need a lease?', 'the
benefits of fasting' / 'the risks of fasting', 'Can I use soda instead of baking powder?' / 'What is the difference
between soda and baking powder?'. Where the thing makes up most of both texts, little else tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import NONE, stem
from ..text.signature import ASKING, Signature
from .inquiries import MEASURED, WHATS, behind_what

_DEFINING: Final = frozenset(("explain", "define", "describe"))
_TELLING: Final = frozenset("tell show know learn hear information".split())
_TELLING_ME: Final = _TELLING.union(
    """can could would will you please give me us i we want need like to a bit
    more some something anything everything all""".split()
)
_PREAMBLE: Final = 8
"""Words within which 'about' comes in 'I would like to know more about'."""
_OPENING: Final = WHATS.union(_DEFINING, ("what",))
_ORDERING: Final = _DEFINING.union("give show tell write make create list name describe compare".split())
_ASKED: Final = ASKING.union(_ORDERING, WHATS)
_ARTICLES: Final = frozenset(("a", "an"))
_DEFINITE: Final = _ARTICLES.union("the my our your".split())
_LONGEST: Final = 3
"""Words of a thing that is asked to be defined."""
_MEANT: Final = frozenset(
    map(
        stem,
        """name title meaning mean means meant definition concept idea thing things like about explain define describe
        explanation description tell understand details detail simple simply short term terms word words exactly
        actually basically briefly called know just work works use used purpose role function process
        overview introduction summary basics information facts available""".split(),
    )
)
"""With these, too, one may ask what a thing is."""
_KINDS: Final = frozenset(("when", "where", "yesno"))
"""Questions that ask for no thing, whatever their words."""
_LEARNING: Final = frozenset("calculate check convert measure find view show achieve improve contact".split())
_DOING: Final = lx.OWN_ACTS.union("make use practice learn teach become".split()) - _LEARNING
"""'How do I calculate the area?' asks what it is."""
_WAYS: Final = frozenset("like way ways good best command code process procedure formula".split())
_PERSONS: Final = frozenset("i we you one to".split())
_TOLD: Final = frozenset("what explain define describe tell mean means meaning definition".split())
_FACETS: Final = lx.by_first(
    """example examples|advantage advantages benefit benefits pros upside upsides perks|
    disadvantage disadvantages drawback drawbacks cons downside downsides|
    alternative alternatives substitute substitutes replacement replacements|
    risk risks danger dangers|mistakes pitfalls"""
)
"""Words of one meaning, by the first of them."""
_ASPECTS: Final = lx.by_first(
    """cause causes caused causing reason reasons|cure cures cured treat treated treating treatment treatments remedy
    remedies|symptom symptoms|prevent prevents prevented preventing prevention|types kinds sorts varieties|
    cost costs|safety|history origin origins|requirements prerequisites|size dimensions"""
)
"""Sides of a thing that may be asked for by a noun or a verb, each word by the first of its meaning."""
_NAMED: Final = frozenset(_FACETS).union(("instead",))
_LINKS: Final = frozenset("of to for in with from on and or".split())
_BESIDE: Final = frozenset(map(stem, _NAMED.union(("common", "good"))))
_FRAMING: Final = frozenset(map(stem, "use using used good idea case cases need explain define".split()))
_WEIGHED: Final = frozenset(("advantage", "disadvantage"))
_APART: Final = frozenset(("example", "alternative"))
_COURSES: Final = frozenset(("how", "when", "where", "who"))
_OWNING: Final = frozenset("of for with to behind".split())
_ARE: Final = ("what", "are")
_INSTANCES: Final = {stem("example")}
_LISTS: Final = frozenset("list name give show tell".split())
_DIFFERENCES: Final = frozenset(("difference", "differences"))
_COMPARING: Final = frozenset(
    """distinguish distinction distinct same similar similarities unlike vs versus
    compare compares compared comparison comparing contrast contrasts contrasted contrasting better or
    tell separates""".split()
)


def facets(a: Signature, b: Signature) -> bool:
    """Something else of one thing, or the difference of two and something else of them."""
    if not a.words or not b.words:
        return False
    if _named(a) or _named(b):
        mine, theirs = _facets(a), _facets(b)
        if mine and theirs:
            return mine.isdisjoint(theirs)
        if _alone(mine, a, b) or _alone(theirs, b, a):
            return True
    if (mine := _aspects(a)) and (theirs := _aspects(b)) and mine.isdisjoint(theirs):
        return True
    return _defines(a, b) or _defines(b, a) or _differ(a, b) or _differ(b, a)


def _aspects(s: Signature) -> set[str]:
    return {_ASPECTS[word] for word in _ASPECTS.keys() & s.vocabulary}


def _named(s: Signature) -> bool:
    return not _NAMED.isdisjoint(s.vocabulary)


def _facets(s: Signature) -> set[str]:
    """What is asked of a thing by a noun: 'an example of', 'what can I use instead of'."""
    linked = pairwise(s.words)
    found = {_FACETS[what] for what, of in linked if what in _FACETS and of in _LINKS}
    if s.question == "what" and ("instead", "of") in pairwise(s.words):
        found.add("alternative")
    return found


def _alone(asked: set[str], one: Signature, other: Signature) -> bool:
    """`one` asks so of a thing, and `other` names the thing alone, or asks how, when or where it is."""
    if not asked or _named(other):
        return False
    said, thing = one.stems - _BESIDE - _FRAMING, other.stems - _FRAMING
    if other.question in _COURSES and asked <= _APART:
        return said <= other.stems
    if not thing or not thing <= said or other.question in MEASURED or other.question == "why":
        return False
    if asked <= _WEIGHED and other.question == "yesno":
        return False  # 'Should I lease it?' may ask for the advantages
    listed = other.words[:2] == _ARE or other.words[0] in _LISTS or other.question == "which"
    return not (listed and asked == {"example"})


def _defines(one: Signature, other: Signature) -> bool:
    """`one` asks what a thing is, `other` asks or orders something of it."""
    if other.words[0] not in _ASKED:
        return False
    thing = _thing(one)
    if not thing:
        return one.words[0] in _OPENING and other.question == "how" and _does(one, other)
    thing -= _MEANT
    if not thing or not thing <= other.stems or (_told_of(one.words) and _told_of(other.words)):
        return False
    if other.question in _KINDS:
        return _TOLD.isdisjoint(other.vocabulary)
    extra = other.stems - thing
    if not extra:
        return other.question == "how" and not _PERSONS.isdisjoint(other.words[1:4])
    if one.words[:2] == _ARE and extra == _INSTANCES:
        return False  # 'What are fossil fuels?' may be 'Give examples of fossil fuels'
    if behind_what(other.words) and _OWNING.isdisjoint(other.vocabulary):
        return False  # 'What is considered a fever?' may be 'What is a fever?'
    return extra.isdisjoint(_MEANT)


def _does(one: Signature, other: Signature) -> bool:
    """'What is the latest version?' / 'How do I update to the latest version?'."""
    if not behind_what(one.words):
        return False
    verb = other.words[2:3] if other.words[:2] == ("how", "to") else other.words[3:4]
    if _DOING.isdisjoint(verb) or _PERSONS.isdisjoint(other.words[1:3]):
        return False
    return one.stems < other.stems and stem(verb[0]) not in one.stems and _WAYS.isdisjoint(one.vocabulary)


def _thing(s: Signature) -> frozenset[str]:
    """The stems of the thing of which it asks what it is, or to be told; of 'the' thing one may ask the value."""
    words = s.words
    told = _told_of(words)
    start = told or behind_what(words)
    if start and not (_DEFINITE if told else _ARTICLES).isdisjoint(words[start : start + 1]):
        start += 1
    if not start or len(words) - start > _LONGEST:
        return NONE
    named = frozenset(map(stem, words[start:]))
    return named if named <= s.stems else NONE


def _told_of(words: Sequence[str]) -> int:
    """How many words ask for all that there is to tell: 'explain', 'can you tell me more about'; 0 if they do not."""
    if words[0] in _DEFINING:
        return 1
    at = words.index("about") if "about" in words[:_PREAMBLE] else 0
    told = words[:at]
    return at + 1 if not _TELLING.isdisjoint(told) and _TELLING_ME.issuperset(told) else 0


def _differ(one: Signature, other: Signature) -> bool:
    """`one` asks for the difference between things, `other` for nothing like it."""
    if _DIFFERENCES.isdisjoint(one.vocabulary) or "between" not in one.vocabulary:
        return False
    return _COMPARING.isdisjoint(other.vocabulary) and not any(word.startswith("dif") for word in other.words)
