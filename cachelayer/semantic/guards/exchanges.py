"""Guards: one word was exchanged, added or left out, or two have traded places, and everything else is the same.

'turn up' / 'turn off', 'a bus to the port' / 'at the port', 'a cheque and a card' / 'a cheque or a card', 'call back' /
'call', 'group a' / 'group b', 'old friends in new houses' / 'new friends in old houses'. A rewording moves parts of a
text; exchanging two words means something else by each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import PREPOSITIONS, stem
from ..text.opposites import ANTONYMS
from ..text.signature import Signature
from .moods import ordered
from .persons import PEOPLE

_APART: Final = {
    frozenset(pair.split("/"))
    for pair in """and/or as/to as/with as/for as/by as/from as/of as/at to/like for/like to/at to/about to/by to/of
    to/through by/for by/of by/until by/about about/at about/from until/from until/in until/at until/on
    into/from to/from past/to via/to via/from until/before""".split()
}
"""Prepositions of which one never says what the other does; 'in' / 'at', 'with' / 'by', 'to' / 'for' often do."""
_STRONG: Final = frozenset("up down off out away back".split())
_PARTICLES: Final = _STRONG.union(("in", "on", "over"))
_FILLED: Final = frozenset(("fill", "filled", "filling"))
"""'In' and 'out' alike."""
ADDED: Final = frozenset(("again", "away", "back", "else", "off"))
"""Words that are never there for nothing: 'who has it' / 'who else has it'."""
_DEALING: Final = frozenset("rent hire lease let lend loan sell sold".split())
"""Who gives when 'out' follows, and takes when not."""
_OWN: Final = frozenset(("my", "our"))
_REFLEXIVE: Final = {
    frozenset(pair.split("/"))
    for pair in "it/itself him/himself her/herself them/themselves me/myself you/yourself us/ourselves".split()
}
_SELVES: Final = frozenset(word for pair in _REFLEXIVE for word in pair if word.endswith(("self", "selves")))
_SENT: Final = frozenset(("for", "to"))
_PERSONAL: Final = {_SENT, frozenset(("about", "for")), frozenset(("for", "with")), frozenset(("by", "with"))}
"""Prepositions that say the same of things, and not of persons."""
_WRITING: Final = frozenset(
    "write draft compose letter email mail message note text speech poem song card".split()
)
_WHOSE: Final = frozenset("my our your the a an this that".split())
_THEIRS: Final = frozenset("his her their".split())
_SINGLE: Final = frozenset("where is are has have when".split())
_DOERS: Final = frozenset("i you we they to".split())
_SMALL: Final = frozenset().union(*_APART, _PARTICLES, ADDED)


def exchanges(a: Signature, b: Signature) -> bool:
    """The same words but for small ones that say another thing."""
    differ = a.vocabulary ^ b.vocabulary
    if differ.isdisjoint(_SMALL):
        return _several(a, b) or _several(b, a)
    if not differ.isdisjoint(ADDED):
        return True
    if frozenset(_only(a.words, b.words)) in _APART:
        return True
    if "out" in differ and not _DEALING.isdisjoint(a.vocabulary | b.vocabulary):
        return True
    return not differ.isdisjoint(_STRONG) and _phrased(a.words, b.words)


def selves(a: Signature, b: Signature) -> bool:
    """'Does it clean itself' / 'does it clean it', 'do I fit it myself' / 'do you fit it for me'."""
    if _SELVES.isdisjoint(a.vocabulary ^ b.vocabulary):
        return False
    return frozenset(_only(a.words, b.words)) in _REFLEXIVE or _for_me(a, b) or _for_me(b, a)


def addressed(a: Signature, b: Signature) -> bool:
    """'A poem for my mother' / 'about my mother', 'films with Tom Hanks' / 'by', 'a letter to my landlord' / 'for', 'an
    account for my son' / 'with my son'.
    """
    pair = frozenset(_only(a.words, b.words))
    if pair not in _PERSONAL or (pair == _SENT and _WRITING.isdisjoint(a.vocabulary)):
        return False
    (at,) = apart(a.words, b.words)
    who = next((word for word in a.words[at + 1 :] if word not in _WHOSE), "")
    return who in PEOPLE or stem(who) in a.names


def _for_me(own: Signature, yours: Signature) -> bool:
    """The same is done by who asks in `own`, and for them in `yours`."""
    if "myself" not in own.vocabulary or "you" in own.vocabulary or "you" not in yours.vocabulary:
        return False
    return own.stems == yours.stems and ("for", "me") in pairwise(yours.words)


def owners(a: Signature, b: Signature) -> bool:
    """'his house' and "Ruth's house", where both name two: which of them he is cannot be told."""
    if _THEIRS.isdisjoint(a.vocabulary ^ b.vocabulary) or len(a.names & b.names) < 2:
        return False
    pair = _only(a.words, b.words)
    whose = {stem(word.removesuffix("'s")) for word in pair if word.endswith("'s")}
    return not _THEIRS.isdisjoint(pair) and not whose.isdisjoint(a.names & b.names)


def opposed(a: Signature, b: Signature) -> bool:
    """The same words but for one, which is the opposite: 'zoom in in Word' / 'zoom out in Word'."""
    if len(a.words) != len(b.words) or b.vocabulary.isdisjoint(a.against):
        return False
    one, *other = _only(a.words, b.words) or ("",)
    return bool(other) and other[0] in ANTONYMS.get(one, ()) and _FILLED.isdisjoint(a.vocabulary)


def apart(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """The places where they differ; none if one is longer."""
    if len(left) != len(right):
        return []
    return [i for i, (x, y) in enumerate(zip(left, right, strict=True)) if x != y]


def _only(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """What stands in the one place where they differ; () where that is not one."""
    return (left[at[0]], right[at[0]]) if len(at := apart(left, right)) == 1 else ()


def _several(one: Signature, many: Signature) -> bool:
    """'Cancel my order' / 'Cancel my orders'; how to do it is the same for both."""
    if not one.words or (one.words[0] not in _SINGLE and not ordered(one)):
        return False
    return any(
        (owner, noun + "s") in pairwise(many.words)
        for owner, noun in pairwise(one.words)
        if owner in _OWN and noun + "s" in many.vocabulary
    )


def _phrased(left: Sequence[str], right: Sequence[str]) -> bool:
    """One verb with other particles is another verb."""
    mine, theirs = _verbs(left), _verbs(right)
    return any(
        theirs.get(verb, particle) != particle and not _STRONG.isdisjoint((particle, theirs[verb]))
        for verb, particle in mine.items()
    )


def _verbs(words: Sequence[str]) -> dict[str, str]:
    return {
        stem(verb): particle
        for verb, particle in pairwise(words)
        if particle in _PARTICLES and verb not in _FILLED and verb not in lx.CARDINALS
    }


_PLAIN: Final = lx.FUNCTION_WORDS.union(
    """want wants need needs like wish love got going go try trying manage able allowed supposed about begin start
    be prefer intend plan""".split()
)
"""Before 'to' these say no more than that it is to be done."""


def furthered(a: Signature, b: Signature) -> bool:
    """'Can I vote by mail' / 'can I register to vote by mail': another act comes before the one."""
    one, more = (a.words, b.words) if len(a.words) < len(b.words) else (b.words, a.words)
    if len(more) != len(one) + 2 or "to" not in more:
        return False
    at = next((i for i, word in enumerate(one) if word != more[i]), 0)
    before, act = more[at - 1], more[at]
    return (
        at > 0
        and more[at + 1] == "to"
        and more[at + 2 :] == one[at:]
        and before in _DOERS
        and act not in _PLAIN
    )


_EVEN: Final = frozenset(
    """vs versus between among difference differences differ different compare compared comparison same similar equal
    equals far distance near close married relation relationship compatible together""".split()
)
"""What is so from either side."""
_JOINING: Final = frozenset(("and", "or"))
_ARTICLES: Final = frozenset(("a", "an", "the"))
_ASKING: Final = frozenset("what who where when which how why whose whom".split())


def trades(a: Signature, b: Signature) -> bool:
    """Two words that are no neighbours have traded places, where it matters which of them stands where."""
    if a.stems != b.stems or not _EVEN.isdisjoint(a.vocabulary | b.vocabulary):
        return False
    return _words_trade(a, b) or _contents_trade(a, b)


def _words_trade(a: Signature, b: Signature) -> bool:
    """'Once a minute, twice a week' / 'twice a minute, once a week'; nothing else differs but articles."""
    left, right = ([word for word in s.words if word not in _ARTICLES] for s in (a, b))
    if (traded := _traded(left, right)) is None:
        return False
    i, k = traded
    joined = k == i + 2 and left[i + 1] in _JOINING
    return not joined and _ASKING.isdisjoint((left[i], left[k]))


def _contents_trade(a: Signature, b: Signature) -> bool:
    """The same of the words of content alone, where as many small words link them."""
    if len(a.content) < 3 or a.joins or b.joins or not _JOINING.isdisjoint(a.vocabulary | b.vocabulary):
        return False
    if ("by" in a.vocabulary) != ("by" in b.vocabulary) or _traded(a.content, b.content) is None:
        return False
    return _links(a) == _links(b)


def _traded(left: Sequence[str], right: Sequence[str]) -> tuple[int, int] | None:
    """The places, no neighbours, of the two words that stand in each other's place, if all others are equal."""
    at = apart(left, right)
    if len(at) != 2 or at[1] - at[0] < 2:
        return None
    i, k = at
    return (i, k) if (left[i], left[k]) == (right[k], right[i]) else None


def _links(s: Signature) -> int:
    return sum(word in PREPOSITIONS for word in s.words)


def lettered(a: Signature, b: Signature) -> bool:
    """A single letter, or two, stand in the place of others: 'is group a full' / 'is group b full', 'from a to b'."""
    at = apart(a.words, b.words)
    return 1 <= len(at) <= 2 and all(len(a.words[i]) == len(b.words[i]) == 1 for i in at)
