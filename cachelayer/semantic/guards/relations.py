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
from .agents import agents
from .amounts import both, degrees, spans, wholes
from .belongings import belongings
from .causes import causes
from .comparisons import comparisons
from .conditions import conditions, mirrored
from .contrasts import contrasts
from .counts import counts
from .deeds import deeds, talks
from .demands import demands, languages
from .diets import diets
from .doers import EVEN, doers, heads
from .exchanges import ADDED, addressed, exchanges, furthered, lettered, opposed, owners, selves, trades
from .facets import facets
from .figures import figures
from .fragments import fragments
from .habits import habits
from .inquiries import inquiries, questions
from .journeys import journeys
from .kinds import kinds
from .letters import letters, stances
from .moods import moods
from .payers import payers
from .permissions import duties, opening, permissions
from .persons import actors, swapped
from .phrases import phrases
from .plain import Guard
from .pointing import pointing
from .predicates import predicates
from .rates import rates
from .replacements import replacements
from .reports import reports
from .searches import searches
from .sides import sides
from .statements import statements
from .sums import sums
from .superlatives import superlatives
from .switches import levels, switches
from .targets import targets
from .tenses import rooted, tenses, wishes
from .thresholds import thresholds
from .units import units
from .voices import voices

_PLACES: Final = {
    "behind": "behind", "under": "under", "underneath": "under", "beneath": "under", "below": "under", "above": "above",
    "against": "against", "around": "around", "near": "around", "before": "before",
    "after": "after", "since": "after", "until": "until", "till": "until", "despite": "despite", "ago": "ago",
    "instead": "instead",
}  # fmt: skip
_FLOORS: Final = frozenset("over above from after since".split())
_CEILINGS: Final = frozenset("under below until till before by within".split())
_MORE, _LESS = (
    frozenset("more greater higher longer older".split()),
    frozenset("less fewer lower shorter younger".split()),
)
_DEGREES: Final = _MORE | _LESS
_MOST: Final = (("at", "most"), ("up", "to"))
_AHEAD: Final = frozenset("tomorrow next noon midnight".split())
_NEARLY: Final = frozenset("almost nearly virtually practically".split())
_SURELY: Final = frozenset("sure surely certainly definitely guaranteed necessarily inevitably".split())
_MAYBE: Final = frozenset("possibly perhaps maybe potentially probably likely presumably".split())
_PLACING: Final = frozenset().union(
    _PLACES, _FLOORS, _CEILINGS, _NEARLY, "than least most to too even few".split()
)
"""Of which one at least is there where `_places` finds anything."""
_COMPARED: Final = frozenset(
    map(
        stem,
        frozenset().union(_PLACING, _MORE, _LESS, _SURELY, _MAYBE, ADDED, ("via",))
        - {"than", "to", "too", "few"},
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
_OFFERING: Final = (("let", "me"), ("i", "will"))
_OFFERED: Final = frozenset(("let", "will", "i'll"))
_POLES: Final = (
    (frozenset("was were did had wasn't weren't didn't hadn't".split()), frozenset(("will", "shall", "won't"))),
    (frozenset(("about",)), frozenset(("by",))), (_SURELY, _MAYBE),
    (frozenset(("from",)), frozenset((_TO,))), (frozenset(("from",)), frozenset(("for",))),
)  # fmt: skip
_POLAR: Final = frozenset().union(*(side for pole in _POLES for side in pole))


def rearranged(a: Signature, b: Signature) -> bool:
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


def places(a: Signature, b: Signature) -> bool:
    """Something is elsewhere, at another time or on the other side of a number: 'up to 5 kg' / 'over 5 kg'."""
    if a.vocabulary.isdisjoint(_PLACING) and b.vocabulary.isdisjoint(_PLACING):
        return False
    return frozenset(_places(a)) != frozenset(_places(b))


def _places(s: Signature) -> Iterator[str]:
    """Where and when, and on which side of a number."""
    words = s.words
    for i, word in enumerate(words):
        before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
        pair = (before, word)
        if _counts(after) and (word == "around" or (word == "from" and "to" in words[i + 2 : i + 5])):
            continue  # 'around 5', 'about 5', '5'; 'from 9 to 5', '9 to 5'
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
    if word == "than":
        return "floor" if before in _MORE else "ceiling" if before in _LESS else ""
    if word in _FLOORS or (before, word) == ("at", "least"):
        return "floor"
    return "ceiling" if word in _CEILINGS or (before, word) in _MOST else ""


def _counts(word: str) -> bool:
    """Whether it is a number or a day, or begins one."""
    known = word in lx.CARDINALS or word in lx.WEEKDAYS or word in lx.MONTHS or word in _AHEAD
    return known or word[:1].isdigit()


def contrary(a: Signature, b: Signature) -> bool:
    """What one side is on, the other side is on the far end of: past and future, author and subject."""
    left, right = a.vocabulary | _aims(a), b.vocabulary | _aims(b)
    if _POLAR.isdisjoint(left ^ right):
        return False
    return any(
        not x.isdisjoint(one) and x.isdisjoint(other) and not y.isdisjoint(other) and y.isdisjoint(one)
        for one, other in _POLES
        for x, y in ((left, right), (right, left))
    )


_CAN: Final = frozenset("can could may might should must shall".split())
_DONE: Final = frozenset("has had did was were".split())


def openings(a: Signature, b: Signature) -> bool:
    """'Will I get in?' / 'Could I get in?', 'Must it be signed?' / 'Was it signed?'; but 'Will you' is 'Can you'."""
    if a.question != "yesno" or b.question != "yesno" or "you" in (a.words[1:2] + b.words[1:2]):
        return False
    mine, theirs = opening(a.words), opening(b.words)
    if mine and theirs:
        return mine != theirs
    return _opens_apart(a.words, b.words) or _opens_apart(b.words, a.words)


def _opens_apart(one: Sequence[str], other: Sequence[str]) -> bool:
    if one[0] == "will":
        return other[0] in _CAN or other[0] in _DONE
    return other[0] in _DONE and opening(one) != ""


def turned(a: Signature, b: Signature) -> bool:
    """Who acts on one side is acted upon on the other: 'I owe you money' / 'you owe me money'."""
    (does, suffers), (acts, bears) = _parts(a.words), _parts(b.words)
    if not does.isdisjoint(bears - acts) or not acts.isdisjoint(suffers - does):
        return True
    if _OFFERED.isdisjoint(a.vocabulary) and _OFFERED.isdisjoint(b.vocabulary):
        return False
    return _offers(a.words, b.words) or _offers(b.words, a.words)


def _offers(offer: Sequence[str], wish: Sequence[str]) -> bool:
    """'Let me teach you chess', 'I'll teach you chess' / 'teach me chess'."""
    deeds = [
        deed
        for who, will, deed in zip(("", *offer), offer, offer[1:], strict=False)
        if (who, will) in _OFFERING or will == "i'll"
    ]
    return any((deed, "me") in pairwise(wish) and (deed, "me") not in pairwise(offer) for deed in deeds)


def _parts(words: Sequence[str]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(person, what is done) of who does it, and of whom it is done to."""
    does: set[tuple[str, str]] = set()
    suffers: set[tuple[str, str]] = set()
    for i, word in enumerate(words):
        if word in _SUBJECTS:
            at = next((k for k in range(i + 1, len(words)) if words[k] not in _HELPING), 0)
            if at and words[at] not in lx.FUNCTION_WORDS and stem(words[at]) not in EVEN:
                between = words[max(i - 1, 0) : at]
                passive = not _BEING.isdisjoint(between) and not words[at].endswith("ing")
                passive = passive or ("get" in between and words[at].endswith("ed"))
                (suffers if passive else does).add((POSSESSORS[word], stem(words[at])))
        elif word in _OBJECTS and i and words[i - 1] not in lx.FUNCTION_WORDS:
            suffers.add((POSSESSORS[word], stem(words[i - 1])))
    return does, suffers


ANYWHERE: Final[tuple[Guard, ...]] = (
    inquiries, questions, permissions, demands, moods, acts, opposed, owners, selves, conditions, mirrored,
    phrases, causes, duties, units, doers, heads, rates, spans, sides, thresholds, comparisons, both, wishes,
    habits, degrees, deeds, talks, trades, lettered, actors, contrasts, swapped, journeys, statements, targets,
    agents, furthered, figures, facets, pointing, sums, reports, kinds, voices, diets, payers, letters, stances,
    superlatives, switches, levels, replacements, belongings, wholes,
)  # fmt: skip
"""What tells two texts apart though they share few words."""
NEARBY: Final[tuple[Guard, ...]] = (
    places, turned, openings, rearranged, tenses, exchanges, contrary, predicates, languages, addressed,
)  # fmt: skip
"""What does so where they differ in small words alone."""


def relations(a: Signature, b: Signature) -> bool:
    """Any of the guards above objects."""
    if a.words == b.words:
        return False
    for guard in ANYWHERE:  # no generator, which is called for each guard
        if guard(a, b):
            return True
    return nearby(a, b) and any(guard(a, b) for guard in NEARBY)


def requests(a: Signature, b: Signature) -> bool:
    """Any of the guards objects that are for requests without earlier turns: there one may answer in a word or more."""
    return a.words != b.words and (searches(a, b) or counts(a, b) or fragments(a, b))


def nearby(a: Signature, b: Signature) -> bool:
    """Whether the texts have the same words of content, but for those that guards of small words compare."""
    return (a.stems ^ b.stems) <= _COMPARED or rooted(a.stems) ^ rooted(b.stems) <= _COMPARED
