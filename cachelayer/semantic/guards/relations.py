"""Guard: the texts name the same things in another relation.

Relations are expressed by small words, which hardly move a vector: 'an email to the bank' / 'from the bank',
'over 5 kg' / 'up to 5 kg'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import NONE, POSSESSORS, stem
from ..text.signature import Signature
from .acts import acts
from .bounds import both, bounds
from .causes import causes
from .conditions import conditions, mirrored
from .degrees import degrees
from .demands import demands
from .doers import doers, heads
from .duties import duties
from .exchanges import ADDED, exchanges, opposed, owners, selves
from .habits import habits
from .inquiries import inquiries
from .moods import moods
from .permissions import permissions
from .phrases import apart
from .plain import modality
from .rates import rates
from .spans import spans
from .tenses import rooted, tenses
from .trades import lettered, trades
from .units import units
from .voices import voices
from .wishes import wishes

_PLACES: Final = {
    "behind": "behind", "under": "under", "underneath": "under", "beneath": "under", "below": "under", "above": "above",
    "against": "against", "around": "around", "between": "between", "before": "before", "after": "after",
    "since": "after", "until": "until", "till": "until", "despite": "despite", "ago": "ago", "instead": "instead",
}  # fmt: skip
_FLOORS: Final = frozenset("over above from after since".split())
_CEILINGS: Final = frozenset("under below until till before by within".split())
_MORE, _LESS = (
    frozenset("more greater higher longer older".split()),
    frozenset("less fewer lower shorter younger".split()),
)
_DEGREES: Final = _MORE | _LESS
_NEARLY: Final = frozenset("almost nearly virtually practically".split())
_SURELY: Final = frozenset("sure surely certainly definitely guaranteed necessarily inevitably".split())
_MAYBE: Final = frozenset("possibly perhaps maybe potentially probably likely presumably".split())
_PLACING: Final = frozenset().union(
    _PLACES, _FLOORS, _CEILINGS, _NEARLY, "than least most to too even few".split()
)
"""Of which one at least is there where `_places` finds anything."""
_COMPARED: Final = frozenset(
    map(
        stem, frozenset().union(_PLACING, _MORE, _LESS, _SURELY, _MAYBE, ADDED) - {"than", "to", "too", "few"}
    )
)
_TO: Final = "to something"
_POINTING: Final = frozenset("a an the this that these those me him us them".split()).union(POSSESSORS)
_SUBJECTS, _OBJECTS = frozenset("i he she we they".split()), frozenset("me him her us them".split())
_BEING: Final = frozenset("am is are was were be been being got".split())
"""'I was called': what is said of a subject beside these was done to it."""
_HELPING: Final = _BEING.union(
    lx.MODALS, "get do does did have has had will would not never just also already still".split()
)
_POLES: Final = (
    (frozenset("was were did had wasn't weren't didn't hadn't".split()), frozenset(("will", "shall", "won't"))),
    (frozenset(("about",)), frozenset(("by",))), (_SURELY, _MAYBE),
    (frozenset(("from",)), frozenset((_TO,))), (frozenset(("from",)), frozenset(("for",))),
)  # fmt: skip
_POLAR: Final = frozenset().union(*(side for pole in _POLES for side in pole))


_ANYWHERE: Final = (
    inquiries,
    permissions,
    demands,
    moods,
    acts,
    opposed,
    owners,
    selves,
    conditions,
    mirrored,
    apart,
    causes,
    duties,
    units,
    doers,
    heads,
    rates,
    spans,
    bounds,
    both,
    wishes,
    habits,
    degrees,
    trades,
    lettered,
)
"""What tells two texts apart though they share few words."""


def relations(a: Signature, b: Signature) -> bool:
    """The same things in another relation: 'up to 5 kg' / 'over 5 kg', 'I owe you money' / 'you owe me money'."""
    if a.words == b.words:
        return False
    for guard in _ANYWHERE:
        if guard(a, b):
            return True
    if not (a.stems ^ b.stems) <= _COMPARED and not rooted(a.stems) ^ rooted(b.stems) <= _COMPARED:
        return voices(a, b)
    left, right = frozenset(_places(a)), frozenset(_places(b))
    if left != right or modality(a, b) or _turned(a.words, b.words) or _asks_else(a, b):
        return True
    if _rearranged(a, b) or tenses(a, b) or exchanges(a, b) or voices(a, b):
        return True
    return _contrary(a.vocabulary | _aims(a), b.vocabulary | _aims(b))


def _rearranged(a: Signature, b: Signature) -> bool:
    """'If x then y, and y?' / 'if x then y, and x?', '3 out of 4' / '4 out of 3', 'rinse, then wash'."""
    if a.content == b.content or a.stems != b.stems:
        return False
    if len(a.content) == len(b.content) and sorted(a.content) != sorted(b.content):
        return True
    (things, numbers), (others, theirs) = _parted(a), _parted(b)
    if things == others and numbers != theirs:
        return True
    return "then" in a.vocabulary and "then" in b.vocabulary and _first_of(a) != _first_of(b)


def _parted(s: Signature) -> tuple[list[str], list[str]]:
    """Its words without its numbers, and its numbers, in order."""
    numbers = [w for w in s.content if w[0].isdigit()]
    return [w for w in s.content if not w[0].isdigit()], numbers


def _first_of(s: Signature) -> frozenset[str]:
    """What is said before 'then'."""
    return s.stems.intersection(map(stem, s.words[: s.words.index("then")]))


def _places(s: Signature) -> Iterator[str]:
    """Where and when, and on which side of a number."""
    words = s.words
    if s.vocabulary.isdisjoint(_PLACING):
        return
    for i, word in enumerate(words):
        before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
        pair = (before, word)
        if word == "around" and _counts(after):
            continue  # 'around 5', 'about 5', '5'
        if _counts(after) and (bound := _bound(*pair)):
            denied = i > 1 and words[i - 2] in ("no", "not") and before in _DEGREES
            yield bound if not denied else "ceiling" if bound == "floor" else "floor"
        elif word in _PLACES:
            yield _PLACES[word]
        elif word in _NEARLY or (word == "too" and after):
            yield "too" if word == "too" else "nearly"
        elif pair == ("even", "if") or (word == "few" and before not in ("a", "the", "these", "those", "my")):
            yield word


def _aims(s: Signature) -> frozenset[str]:
    """Whether something goes 'to' someone or some place; 'to' before a verb says nothing."""
    if "to" not in s.vocabulary:
        return NONE
    return frozenset(
        _TO for to, what in pairwise(s.words) if to == "to" and (what in _POINTING or stem(what) in s.names)
    )


def _bound(before: str, word: str) -> str:
    if word in _FLOORS or _compared(before, word, _MORE) or (before, word) == ("at", "least"):
        return "floor"
    if (
        word in _CEILINGS
        or _compared(before, word, _LESS)
        or (before, word) in (("at", "most"), ("up", "to"))
    ):
        return "ceiling"
    return ""


def _compared(before: str, word: str, than: frozenset[str]) -> bool:
    return word == "than" and before in than


def _counts(word: str) -> bool:
    """Whether it is a number or a day."""
    return word[:1].isdigit() or word in lx.CARDINALS or word in lx.WEEKDAYS or word in lx.MONTHS


def _contrary(left: frozenset[str], right: frozenset[str]) -> bool:
    """What one side is on, the other side is on the far end of: past and future, author and subject."""
    if _POLAR.isdisjoint(left ^ right):
        return False
    return any(
        not x.isdisjoint(one) and x.isdisjoint(other) and not y.isdisjoint(other) and y.isdisjoint(one)
        for one, other in _POLES
        for x, y in ((left, right), (right, left))
    )


_MAY: Final = {
    "can": "may", "could": "may", "may": "may", "might": "may", "should": "should", "ought": "should",
    "shall": "should", "will": "will", "must": "must",
}  # fmt: skip


_LEAVING: Final = {"yesno": 0, "when": 1, "who": 1}
"""Questions that ask for leave, advice or duty, and where: 'how can I' is 'how should I'."""
_DONE: Final = frozenset("has had did was were".split())
"""'Must it be signed?' / 'Has it been signed?'"""
_DUTIES: Final = frozenset((("have", "to"), ("need", "to")))


def _asks_else(a: Signature, b: Signature) -> bool:
    """'Can I refuse?' asks for leave, 'Should I refuse?' for advice; but 'Can you help?' is 'Will you help?'."""
    at = _LEAVING.get(a.question, -1)
    if at < 0 or a.question != b.question or "you" in (a.words[1:2] + b.words[1:2]):
        return False
    left, right = _leave(a.words[at:]), _leave(b.words[at:])
    if "" in (left, right) and left != right and not at:
        return not _DONE.isdisjoint((b.words if left else a.words)[:1])
    return left != "" != right != left and not (at and "will" in (left, right))


def _leave(words: Sequence[str]) -> str:
    """What a question asks for by its first words: leave, advice, duty or what is to come."""
    if not words:
        return ""
    if words[0] in ("do", "does", "did") and not _DUTIES.isdisjoint(pairwise(words[2:6])):
        return "must"
    return _MAY.get(words[0], "")


def _turned(left: Sequence[str], right: Sequence[str]) -> bool:
    """Who acts on one side is acted upon on the other."""
    (does, suffers), (acts, bears) = _parts(left), _parts(right)
    return not does.isdisjoint(bears) or not acts.isdisjoint(suffers)


def _parts(words: Sequence[str]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(person, what is done) of who does it, and of whom it is done to."""
    does: set[tuple[str, str]] = set()
    suffers: set[tuple[str, str]] = set()
    for i, word in enumerate(words):
        if word in _SUBJECTS:
            at = next((k for k in range(i + 1, len(words)) if words[k] not in _HELPING), 0)
            if at and words[at] not in lx.FUNCTION_WORDS:
                between = words[max(i - 1, 0) : at]
                passive = not _BEING.isdisjoint(between) and not words[at].endswith("ing")
                passive = passive or ("get" in between and words[at].endswith("ed"))
                (suffers if passive else does).add((POSSESSORS[word], stem(words[at])))
        elif word in _OBJECTS and i and words[i - 1] not in lx.FUNCTION_WORDS:
            suffers.add((POSSESSORS[word], stem(words[i - 1])))
    return does, suffers
