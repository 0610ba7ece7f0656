"""Guards: when it happens, told by the forms of verbs.

'Has the parcel been sent' / 'will it be sent', 'who is the mayor' / 'who was the mayor', 'I'm moving' / 'I moved'; and,
however they are worded, 'I'd like to close my account' / 'I closed my account'.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

_FUTURE: Final = frozenset(("will", "shall"))
"""Without "won't": 'it won't start' is how it is."""
_OWNED: Final = frozenset("a an the my your his her our their no of living".split())
_IS: Final = frozenset(
    """is are am isn't aren't i'm it's he's she's we're they're that's there's what's who's where's when's
    how's""".split()
)
_BEING: Final = frozenset("am is are be being isn't aren't".split())
"""Beside these a participle tells of no past: 'is made by'."""
_WAS: Final = frozenset("was were wasn't weren't".split())
_DOES: Final = frozenset("do does don't doesn't".split())
_DID: Final = frozenset("did didn't".split())
_HAS: Final = frozenset("have has haven't hasn't i've".split())
_HAD: Final = frozenset(("had", "hadn't"))
_DONE: Final = frozenset(
    """lost stolen broken frozen sent paid sold made done gone written shown known born built held cut hit set put
    found shut given taken seen sworn torn worn left kept caught""".split()
)
_IRREGULAR: Final = """
    came/come went/go began/begin became/become chose/choose flew/fly drew/draw fell/fall grew/grow knew/know
    rose/rise spoke/speak took/take threw/throw wore/wear wrote/write ran/run gave/give won/win bought/buy
    brought/bring built/build held/hold kept/keep left/leave lost/lose made/make met/meet paid/pay said/say sold/sell
    sent/send spent/spend taught/teach thought/think drove/drive ate/eat drank/drink sang/sing swam/swim broke/break
    froze/freeze stole/steal shook/shake led/lead felt/feel slept/sleep stood/stand understood/understand
"""
_ROOTS: Final = {stem(was): stem(base) for was, base in (pair.split("/") for pair in _IRREGULAR.split())}
_CONTRACTED: Final = _IS - {"isn't", "aren't"}


def tenses(a: Signature, b: Signature) -> bool:
    """The same, now or to come in one text and past in the other; or what could have been and what is or can be."""
    if "have" in a.vocabulary ^ b.vocabulary and (_might_have(a, b) or _might_have(b, a)):
        return True
    if (_will_be(a) and _has_been(b, a)) or (_will_be(b) and _has_been(a, b)):
        return True
    left, right = a.vocabulary - b.vocabulary, b.vocabulary - a.vocabulary
    return _past(left, right, a, b) or _past(right, left, b, a)


_MODAL: Final = frozenset("should could would might must shouldn't couldn't wouldn't".split())
_HAVING: Final = _HAS | _HAD
_NAMING: Final = ("what", "why", "how", "who", "which")
"""'What could have caused it' is 'what could cause it'."""


def _might_have(unreal: Signature, other: Signature) -> bool:
    """'Could he have hurt it' / 'could he hurt it', 'I should have called' / 'I called'; not called is as well."""
    words = unreal.words
    if _MODAL.isdisjoint(words) or not _HAVING.isdisjoint(other.vocabulary) or other.negations:
        return False
    return unreal.question not in _NAMING and any(
        word == "have" and not _MODAL.isdisjoint(words[max(i - 4, 0) : i]) and _participle(done)
        for i, (word, done) in enumerate(pairwise(words))
    )


def _participle(word: str) -> bool:
    return word.endswith(("ed", "en")) or word in _DONE or stem(word) in _ROOTS


def rooted(stems: frozenset[str]) -> frozenset[str]:
    """With the plain form of a verb for its irregular past: 'came' is 'come'."""
    if stems.isdisjoint(_ROOTS):
        return stems
    return frozenset(_ROOTS.get(one, one) for one in stems)


def _will_be(s: Signature) -> bool:
    """By 'will', where that is no last will, or 'going to'."""
    if s.vocabulary.isdisjoint(_FUTURE):
        return "going" in s.vocabulary and any(
            word == "going" and _verb(s.words[i + 1 : i + 3]) for i, word in enumerate(s.words)
        )
    return any(w in _FUTURE and (not i or s.words[i - 1] not in _OWNED) for i, w in enumerate(s.words))


def _verb(words: tuple[str, ...]) -> bool:
    """'to direct', but not 'to Rome': what no article or name follows 'to'."""
    return len(words) == 2 and words[0] == "to" and words[1] not in _OWNED


def _has_been(s: Signature, other: Signature) -> bool:
    """Whether it tells of the past: by 'has been', or by an ending that the same verb lacks on the other side."""
    if _will_be(s):
        return False
    if "been" in s.vocabulary and "been" not in other.vocabulary:
        return True
    if not s.vocabulary.isdisjoint(_DID) and other.vocabulary.isdisjoint(_DID):
        return True
    over = ended(s.vocabulary - other.vocabulary) if s.vocabulary.isdisjoint(_BEING) else set()
    return any(not w.endswith("ed") and stem(w) in over for w in other.vocabulary - s.vocabulary)


def _past(now: frozenset[str], then: frozenset[str], a: Signature, b: Signature) -> bool:
    """`now` and `then`: words of `a` alone, and of `b` alone."""
    was = not then.isdisjoint(_WAS) and not now.isdisjoint(_IS)
    if was or (not then.isdisjoint(_HAD) and not now.isdisjoint(_HAS)):
        return not _resulting(a) and not _resulting(b)
    if not then.isdisjoint(_DID) and not now.isdisjoint(_DOES):
        return a.question != "why"
    over = ended(then) if b.vocabulary.isdisjoint(_BEING) else None
    if not over:
        return False
    goes_on = not a.vocabulary.isdisjoint(_CONTRACTED)
    return any(stem(w) in over for w in now if _does(w) or (goes_on and w.endswith("ing")))


def _does(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")  # 'misses', not 'miss'


def ended(words: frozenset[str]) -> set[str]:
    """Plain forms of the verbs whose past is there."""
    past = {w: stem(w) for w in words}
    found = {_ROOTS.get(root, root) for w, root in past.items() if w.endswith("ed") or root in _ROOTS}
    return found.union(root[:-1] for root in found if root.endswith("ll"))  # 'cancelled'


def _resulting(s: Signature) -> bool:
    """What was done holds still: 'my card was blocked' / 'is blocked'."""
    return not _DONE.isdisjoint(s.vocabulary) or any(w.endswith("ed") for w in s.words)


_WISHING: Final = frozenset(
    "want wants wanna need needs like love wish plan plans planning going about intend hoping thinking".split()
)
_OPEN: Final = _WISHING.union("be get gets getting can could may should would must will if wanted".split())
"""A text with one of these does not tell what was done: 'Can my order be cancelled?', 'I need it cancelled'."""


_PASSIVE: Final = frozenset("was were got".split())


def wishes(a: Signature, b: Signature) -> bool:
    """What is wanted in one text is over in the other."""
    return _apart(a, b) or _apart(b, a)


def _apart(wish: Signature, told: Signature) -> bool:
    if told.negations or _WISHING.isdisjoint(wish.vocabulary) or not _OPEN.isdisjoint(told.vocabulary):
        return False
    wanted = frozenset(_wanted(wish))
    if not wanted:
        return False
    was = not _PASSIVE.isdisjoint(told.vocabulary) and _PASSIVE.isdisjoint(wish.vocabulary)  # 'I was fired'
    return not wanted.isdisjoint(ended(told.vocabulary if was else told.vocabulary - wish.vocabulary))


def _wanted(s: Signature) -> Iterator[str]:
    """Stems of the verbs behind 'want to', 'about to', 'thinking of'."""
    for i in range(len(s.words) - 2):
        word, small, verb = s.words[i : i + 3]
        if verb == "be":  # 'about to be fired'
            verb = (*s.words[i + 3 : i + 4], verb)[0]
        if word in _WISHING and small in ("to", "of") and verb not in lx.FUNCTION_WORDS:
            yield stem(verb)
