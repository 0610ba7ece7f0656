"""Guard: what is the most of its kind in one way, in another way in the other text.

'The largest lake' / 'the oldest lake', 'the cheapest plan' / 'the most popular plan', 'which is faster' / 'which is
safer'. The adjectives are those of English that are compared by endings (Quirk et al. 1985, 7.81), with what WordNet
3.0 has beside them in one sense; any other is known by 'most' or 'least' before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text.lexemes import stem
from ..text.signature import Signature

_ALIKE: Final = """
    big large great huge high vast : expensive populous extensive
    long far lengthy great : distant remote
    tall high large big
    old early : ancient
    new late : recent modern
    young late new
    fast quick speedy swift early soon : rapid
    slow
    small little tiny low short few : minor
    short brief quick small low
    cheap low : affordable economical
    costly pricy dear high : expensive
    hot warm high
    cold cool low chilly
    heavy great large big
    light low
    strong mighty tough high : powerful potent
    weak
    hard tough : difficult challenging complicated
    easy simple
    safe : secure
    risky : dangerous hazardous
    near close short
    deep great low far
    shallow
    wide broad large
    narrow
    thick fat
    thin slim
    bright clever smart : intelligent
    dark
    loud noisy
    quiet calm
    clean pure
    dirty
    rich wealthy : prosperous
    poor
    busy : crowded
    happy
    sad
    funny
    pretty nice : beautiful attractive
    ugly
    kind gentle mild soft
    sweet
    sour
    healthy
    sick
    dry
    wet rainy
    fresh
    bad grave : serious severe
    rare scarce : unusual
    dense : populous
    steep
    sharp
    smooth
    rough
    windy
    sunny
    spicy
    tasty : delicious
    lazy
    brave
    wise
    lucky
    friendly
    angry
    scary
    creepy
    noble
    lively
    lonely
    : common frequent popular widespread typical
    : famous popular notable
"""
"""Adjectives of one line may say the same, behind the colon such as are compared by 'more' and 'most'."""
_IRREGULAR: Final = {"bad": "worse worst", "far": "farther farthest further furthest", "old": "elder eldest"}
_UNSURE: Final = frozenset("later earlier sooner further lower longer".split())
"""These compare times or mean no more than 'any more', or are verbs."""
_MORE: Final = ("more", "most")
_FEWER: Final = ("less", "least")
_CHEAP: Final = "expensive"
"""What is less so is cheap; of others that is another adjective, which is not known."""
_ADJECTIVES: Final = ("ive", "ous", "ful", "ble", "ant", "ent", "al", "ular", "ted", "ern", "ult")
"""How adjectives end that are compared by 'most'; few nouns that stand behind it do."""
_MEASURES: Final = frozenset(
    map(
        stem,
        """number amount count price cost fee rate salary income revenue sales gdp population length height size area
        elevation age distance depth width weight speed duration altitude temperature share percentage score level
        quality capacity value volume power""".split(),
    )
)
"""'The highest price' is that of what is most expensive."""


def _endings(word: str) -> Iterator[str]:
    """Its comparative and its superlative."""
    root = word
    if word.endswith("e"):
        root = word[:-1]
    elif word.endswith("y") and word[-2] not in "aeo":
        root = word[:-1] + "i"
    elif word[-1] in "bdgmnpt" and word[-2] in "aeiou" and word[-3] not in "aeiou":
        root = word + word[-1]
    yield from (root + "er", root + "est", *_IRREGULAR.get(word, "").split())


def _lines(*, long: bool) -> dict[str, frozenset[str]]:
    """Forms, or what stands behind 'most', each with the first words of the lines that it is of."""
    found: dict[str, frozenset[str]] = {}
    for line in _ALIKE.strip().splitlines():
        short, _, more = line.partition(":")
        first = frozenset((*short.split(), *more.split())[:1])
        forms = more.split() if long else [form for word in short.split() for form in _endings(word)]
        for form in forms:
            found[form] = found.get(form, first) | first
    return found


_FORMS: Final = {form: lines for form, lines in _lines(long=False).items() if form not in _UNSURE}
_LONG: Final = _lines(long=True)
_TELLING: Final = frozenset(_FORMS).union(_MORE, _FEWER)


def superlatives(a: Signature, b: Signature) -> bool:
    """Each compares by something by which the other does not."""
    if _TELLING.isdisjoint(a.vocabulary) or _TELLING.isdisjoint(b.vocabulary):
        return False
    mine, theirs = list(_compared(a)), list(_compared(b))
    return _alone(mine, theirs) and _alone(theirs, mine)


def _alone(some: list[frozenset[str]], others: list[frozenset[str]]) -> bool:
    return any(all(one.isdisjoint(other) for other in others) for one in some)


def _compared(s: Signature) -> Iterator[frozenset[str]]:
    """What may be said in the place of each adjective that is compared."""
    for word, after in pairwise((*s.words, "")):
        if word in _FORMS:
            if stem(after) not in _MEASURES:
                yield _FORMS[word]
        elif word in _MORE and (after in _LONG or after.endswith(_ADJECTIVES)):
            yield _LONG.get(after, frozenset((after,)))
        elif word in _FEWER and after == _CHEAP:
            yield _FORMS["cheapest"]
