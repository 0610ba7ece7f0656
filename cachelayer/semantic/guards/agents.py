"""Guard: what I do in one text, you or others do in the other.

'What happens to my data if I cancel' / 'if you cancel', 'can I sell my data' / 'do you sell my data', 'can I see my
location' / 'can someone see my location', 'can my wife use my card' / 'can I use my wife's card'. 'You' may be anybody
('how do you cook rice'), but not beside 'my'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text.lexemes import PREPOSITIONS, stem
from ..text.lexicon import FUNCTION_WORDS
from ..text.signature import Signature
from .doers import EVEN

_ME: Final = frozenset(("i", "we"))
_THEM: Final = frozenset(
    "you u they someone somebody anyone anybody everyone everybody others people hackers users".split()
)
_BESIDE: Final = _ME.union("me my mine us our ours myself i'm i've i'd i'll".split())
"""Words by which a text speaks of who asks."""
_MINE: Final = frozenset(("me", "my", "us", "our"))
_PASSIVE: Final = frozenset("am is are was were be been being get got".split())
_ABLE: Final = frozenset("allowed able permitted required going".split())
_SKIPPED: Final = _PASSIVE.union(
    _ABLE,
    """do does did have has had will would can could may might must should shall not never just also already still ever
    really even then else to""".split(),
)
"""What may stand between who acts and the verb."""
_NO_DEEDS: Final = FUNCTION_WORDS.difference(("tell", "show", "help", "give"))
_OFFERS: Final = frozenset(("do", "will", "would"))
_LEAVE: Final = frozenset(("can", "could", "may"))
_EITHER: Final = frozenset(map(stem, "rent lease hire exchange have get need want eat".split()))
"""'Do you rent bikes' is 'can I rent bikes'."""


def agents(a: Signature, b: Signature) -> bool:
    """The same verb, and another one acts."""
    return _apart(a, b) or _apart(b, a) or _exchanged(a, b) or _exchanged(b, a)


def _exchanged(mine: Signature, theirs: Signature) -> bool:
    """I do it to somebody or with what is theirs in `mine`, and they to me in `theirs`: 'Can I use my wife's card?' /
    'can my wife use my card?'."""
    if len(mine.stems ^ theirs.stems) > 1 or mine.content == theirs.content:
        return False
    if _ME.isdisjoint(mine.vocabulary):
        return False
    if "by" in mine.vocabulary or "by" in theirs.vocabulary:
        return False
    deeds = _deeds(mine, _ME, _THEM) - frozenset(_done(theirs.words, _ME)) - EVEN
    alone = _ME.isdisjoint(theirs.vocabulary)
    return any(
        deed in deeds and who in _done_to(mine.words, deed) and _to_me(theirs.words, at, anywhere=alone)
        for who, deed, at in _acting(theirs)
    )


def _to_me(words: Sequence[str], at: int, *, anywhere: bool) -> bool:
    """Whether who asks is named behind what is done there; right behind it, if I do something else in that text."""
    if anywhere:
        return not _BESIDE.isdisjoint(words[at:])
    linked = words[at + 1 : at + 2] != ("of",) and not PREPOSITIONS.isdisjoint(words[at + 1 : at + 2])
    return not _MINE.isdisjoint(words[at + 1 + linked : at + 2 + linked])


def _acting(s: Signature) -> Iterator[tuple[str, str, int]]:
    """Who is named right before what may be done, helping words aside, that, and its place; both as stems."""
    for at in range(1, len(s.words)):
        first = at - 1
        while first > 0 and _skipped(s.words[first]):
            first -= 1
        if FUNCTION_WORDS.isdisjoint((s.words[first], s.words[at])):
            yield stem(s.words[first]), stem(s.words[at]), at


def _done_to(words: Sequence[str], deed: str) -> frozenset[str]:
    """Stems of what follows a deed, but for whom it is done together with: 'travel with my dog'."""
    stems = [stem(word) for word in words]
    at = stems.index(deed) + 1
    return frozenset(stems[at:]) if words[at : at + 1] != ("with",) else frozenset()


def _apart(mine: Signature, theirs: Signature) -> bool:
    """I do it in `mine`, you or others in `theirs`."""
    if _ME.isdisjoint(mine.vocabulary) or _THEM.isdisjoint(theirs.vocabulary):
        return False
    deeds = _deeds(mine, _ME, _THEM) & _deeds(theirs, _THEM, _ME)
    if not deeds:
        return False
    if not _BESIDE.isdisjoint(theirs.vocabulary):
        return True
    offered = theirs.words[0] in _OFFERS and theirs.words[1] == "you"
    return offered and mine.words[0] in _LEAVE and deeds.isdisjoint(_EITHER)


def _deeds(s: Signature, who: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Stems of what is done by somebody of `who` alone."""
    return frozenset(_done(s.words, who)) - frozenset(_done(s.words, other))


def _done(words: Sequence[str], who: frozenset[str]) -> Iterator[str]:
    """What they do, not what is done to them, nor what they are wanted to do."""
    for i, word in enumerate(words):
        if word not in who or words[i + 1 : i + 2] == ("to",):
            continue
        asked = i > 0 and words[i - 1] == "do"  # 'do I need to call'; 'I need to call' is a wish
        at = next(
            (
                k
                for k in range(i + 1, len(words))
                if not (_skipped(words[k]) or (asked and words[k] == "need"))
            ),
            0,
        )
        between = words[max(i - 1, 0) : at]
        passive = not _PASSIVE.isdisjoint(between) and _ABLE.isdisjoint(between)
        if at and not passive and words[at] not in _NO_DEEDS:
            yield stem(words[at])


def _skipped(word: str) -> bool:
    return word in _SKIPPED or word.endswith("ly")
