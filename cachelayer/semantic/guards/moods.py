"""Guard: one text asks about a thing, the other orders something to be done with it.

'Is the door locked?' / 'Lock the door', 'Who deleted the cluster?' / 'Delete the cluster', 'Can you speak Spanish?' /
'Please speak Spanish'. A question that asks how to do it may have the same answer as the order, so the guard
says nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import CONDITIONS, POSSESSORS, PREPOSITIONS, stem
from ..text.manners import CIVIL, PLEASE, REQUESTS, earnest, speaks_of_languages, told
from ..text.signature import ASKING, Signature
from .tenses import ended, rooted

_OBJECTS: Final = frozenset(
    "a an the this that these those all every both any another it up on off down out in".split()
).union(POSSESSORS)
"""What follows a verb that orders: 'lock the', 'set up', 'delete all'."""
TELLING: Final = frozenset(
    """list name explain describe define summarize calculate compute compare recommend suggest check verify confirm
    identify determine count see look track locate estimate convert translate solve read state outline illustrate
    discuss suppose imagine consider remind think guess search predict evaluate display view provide answer""".split()
)
"""What these order is told, as the answer to a question is."""
_DONE: Final = frozenset(
    "is are was were has have had did isn't aren't wasn't weren't hasn't haven't didn't doesn't".split()
)
_FACTS: Final = _DONE.union(("do", "does", "should", "must", "shall"))
"""What a question begins with that wants to know; 'can I' may want it done."""
_WONDERING: Final = frozenset(
    "is are was were do does did has have who when where why isn't aren't wasn't didn't doesn't".split()
)
_LATELY: Final = frozenset(map(stem, ("last", "first", "ever", "already", "yet", "recently", "just")))
_ENDINGS: Final = ("ing", "ed", "s")
_POLITE: Final = (("is", "it"), ("is", "there"), ("are", "there"), ("do", "you"), ("would", "you"))
_OFFERED: Final = REQUESTS.union(("do",))
_WAYS: Final = frozenset("way ways chance possible possibility option ok okay mind".split())
_ASKS: Final = frozenset("why who who's when where".split())
_ASKED: Final = frozenset("why who what how where whether who's what's how's where's".split())
_ME: Final = ("i", "i'd")
_MINE: Final = frozenset("my our me us".split())
NO_VERBS: Final = frozenset("wheres whats hows whos whens whys".split()).union(
    lx.FUNCTION_WORDS, TELLING, ASKING, CONDITIONS, PREPOSITIONS
)
_SURE: Final = NO_VERBS - TELLING
_NEVER: Final = _SURE.difference(CIVIL, REQUESTS, _ME)
"""No text begins with these that wants something done."""
_DEFINED: Final = (("what", "is", "a"), ("what", "is", "an"), ("what's", "a"), ("what's", "an"))
_BEING: Final = (("what", "is"), ("what", "are"))
_SHOWING: Final = frozenset(("show", "display"))
_SHORT: Final = 3
"""Words of content of a thing that is asked to be explained."""
_SAYS_WHICH: Final = frozenset("of for with from between".split())
_WISHING: Final = frozenset("want need like".split())
_TONGUES: Final = frozenset("speak understand read write".split())
"""With these and a language 'can you' asks whether you are able to."""
_SERVICES: Final = frozenset("deliver ship see hear browse learn".split())
"""With these it does where no thing is pointed at."""
_MAKING: Final = frozenset("write draft compose create make generate prove".split())
_MADE: Final = frozenset(
    map(
        stem,
        """recipe definition explanation description example examples answer list summary overview guide tutorial
        instructions steps plan query code command formula regex regexp expression statement function script macro
        program table name names number comparison review budget itinerary schedule""".split(),
    )
)
"""Who asks for one of these may be given it, without the word."""
_GIVING: Final = frozenset(
    """suggest recommend list outline summarize translate solve rewrite write draft define describe give show name
    create generate""".split()
)
"""What these order is no answer to whether something is so."""
_GIVEN: Final = _OBJECTS.union(("me", "us", "some"))
_ANY: Final = frozenset("any anyone anything some you".split())
_YOURS: Final = frozenset(("you", "please"))
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")
"""'Eurovision 1998 winner' orders nothing."""


def moods(a: Signature, b: Signature) -> bool:
    """One text wants it done and the other wants to know of it, or one asks whether it is so as the other says."""
    if not a.words or not b.words or a.words[0] == b.words[0]:
        return False
    if {a.question, b.question} == {"yesno", ""} and sorted(a.words) == sorted(b.words):
        return True  # 'Should it come soon?' / 'It should come soon.'
    return _wants(a, b) or _wants(b, a)


def _wants(a: Signature, b: Signature) -> bool:
    if _shown(a, b) or _plainly(a, b):
        return True
    return a.words[0] not in _NEVER and (_apart(a, b) or _able(a, b) or _makes(a, b))


def _apart(orders: Signature, other: Signature) -> bool:
    """`orders` wants it done, `other` wants to know."""
    asks, *rest = other.words
    if asks in _FACTS:
        polite = other.words[:2] in _POLITE and not _WAYS.isdisjoint(rest[1:5])
        return not polite and (
            ordered(orders) != "" or _told(orders, other) or _gives(orders.words, other.words)
        )
    if asks in _ASKS:
        return ordered(orders) != ""
    if asks == "how" and rest and rest[0] in _DONE:  # 'How was it graded?', but not 'How do I grade it?'
        return stem(ordered(orders)) in rooted(other.stems)
    return _wished(orders, other) or (asks in REQUESTS and _of_any(orders, other))


def _plainly(orders: Signature, other: Signature) -> bool:
    """'Call mum' / 'Did mum call?', 'Put tea on the list' / 'Is tea on the list?': with no other word of content."""
    asks, words = other.words[0], orders.words
    if orders.question or asks not in _WONDERING or other.words[:2] in _POLITE:
        return False
    if (at := told(words)) >= len(words):
        return False
    verb, lately = words[at], other.stems - _LATELY
    root = stem(verb)
    if verb in NO_VERBS or verb.endswith(_ENDINGS) or not lately <= orders.stems:
        return False
    if root not in lately:
        return asks not in _ASKS and root in orders.stems
    return "did" in other.vocabulary or (verb not in other.vocabulary and asks in _DONE | _ASKS)


def _able(orders: Signature, other: Signature) -> bool:
    """'Please speak Spanish' / 'Can you speak Spanish?', 'Please keep my data' / 'Do you keep my data?'."""
    verb, (asks, *rest) = orders.words[earnest(orders.words, CIVIL) :][:1], other.words
    if asks not in _OFFERED or rest[:1] != ["you"] or tuple(rest[1:2]) != verb:
        return False
    if not PLEASE.isdisjoint(rest):
        return False
    if speaks_of_languages(rest[2:3]):
        return verb[0] in _TONGUES
    if PLEASE.isdisjoint(orders.vocabulary):
        return False  # 'ship to Norway?' may be short for the question
    return asks == "do" or (verb[0] in _SERVICES and _OBJECTS.isdisjoint(rest))


def _of_any(orders: Signature, other: Signature) -> bool:
    """'Cancel my order' / 'Can you cancel orders?'."""
    verb, words = ordered(orders), other.words
    if words[2:3] != (verb,) or not POSSESSORS.keys().isdisjoint(words[2:]):
        return False
    mine = {stem(thing) for whose, thing in pairwise(orders.words) if whose in _MINE}
    return any(stem(thing) in mine and thing not in orders.vocabulary for thing in words[3:5])


def _gives(orders: Sequence[str], other: Sequence[str]) -> bool:
    """'Suggest a name' / 'Is this a good name?'; but 'Are there vegan dishes?' may be 'List the vegan dishes'."""
    if orders[0] not in _GIVING or other[:2] in _POLITE or not _ANY.isdisjoint(other[1:3]):
        return False
    return not _GIVEN.isdisjoint(orders[1:2])


def _makes(orders: Signature, other: Signature) -> bool:
    """'Write an essay on leases', 'Prove the theorem' / 'What is a lease?', 'What is the theorem?'."""
    verb, *rest = orders.words
    if verb not in _MAKING or orders.question or not other.question or verb in other.vocabulary:
        return False
    if not _YOURS.isdisjoint(other.words[1:3]):
        return False
    if rest[:1] in (["me"], ["us"]):
        del rest[0]
    if verb == "prove" or rest[:1] == ["about"]:
        return True
    made = {stem(word) for word in takewhile(_naming, rest[1:5])}
    return rest[:1] in (["a"], ["an"]) and bool(made) and made.isdisjoint(_MADE | other.stems)


def _naming(word: str) -> bool:
    return word not in lx.FUNCTION_WORDS and word not in PREPOSITIONS


def _told(orders: Signature, other: Signature) -> bool:
    """'Check the invoice' / 'Has the invoice been checked?'; but 'Is it safe?' may be 'Check whether it is safe'."""
    verb = ordered(orders, _SURE)
    return verb != "" and verb not in other.vocabulary and stem(verb) in ended(other.vocabulary)


def _wished(wishes: Signature, other: Signature) -> bool:
    """'I want a refund' / 'What is a refund?'."""
    if len(other.content) != 1 or wishes.content != other.content or wishes.words[0] not in _ME:
        return False
    return any(other.words[: len(w)] == w for w in _DEFINED) and not _WISHING.isdisjoint(wishes.words[1:4])


def _shown(orders: Signature, other: Signature) -> bool:
    """'Show the taskbar' / 'What is the taskbar?'; but 'Show the prices' may be 'What are the prices?'."""
    words = other.words
    if words[:2] not in _BEING or _SHOWING.isdisjoint(orders.vocabulary):
        return False
    at = earnest(orders.words, CIVIL)
    if orders.words[at] not in _SHOWING or not _MINE.isdisjoint(orders.words[at + 1 : at + 2]):
        return False
    if len(other.content) > _SHORT or not _SAYS_WHICH.isdisjoint(words):
        return False
    return other.stems <= orders.stems and not (words[2:3] == ("the",) and words[-1].endswith("s"))


def ordered(s: Signature, never: frozenset[str] = NO_VERBS) -> str:
    """The verb of a text that wants something done, none of `never`, or ''."""
    words, at = s.words, told(s.words)
    objects = _OBJECTS if at == earnest(words, CIVIL) else _MINE  # 'can you drink the water?' orders nothing
    if at + 1 >= len(words) or words[at] in never or not _ASKED.isdisjoint(s.vocabulary):
        return ""
    if s.question == "other":  # 'Startups in Peru: is it wise to join one?'
        return ""
    after = words[at + 1]
    return words[at] if after in objects or (after[0].isdigit() and not _YEAR.fullmatch(after)) else ""
