"""Guards: two persons trade places, or another one acts.

'Can he drive my car' / 'can I drive his car', 'my wife works and I stay home' / 'I work and my wife stays home', 'did
you cancel' / 'did I cancel', 'can the police search my car' / 'can I search my car'. You and I, exchanged throughout
in whatever order, are compared in `conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ..text.lexemes import stem
from ..text.lexicon import FUNCTION_WORDS
from ..text.signature import Signature
from .doers import EVEN

_PRONOUNS: Final = {
    form: forms.split()[0]
    for forms in """i me my mine myself,we us our ours ourselves,you your yours yourself,he him his himself,
    she her hers herself,they them their theirs themselves,someone somebody someone's somebody's,
    anyone anybody anyone's anybody's,everyone everybody everyone's everybody's""".split(",")
    for form in forms.split()
}
_SHORT: Final = {
    f"{who}'{tail}": (who, verb)
    for who in ("i", "we", "you", "he", "she", "they")
    for tail, verb in (("m", "be"), ("re", "be"), ("s", "be"), ("ll", "will"), ("ve", "have"), ("d", "would"))
}
_OTHERS: Final = frozenset(("he", "she", "they"))
_AGREEING: Final = dict.fromkeys("am are is was were".split(), "be") | {"does": "do", "has": "have"}
"""Forms by which a verb agrees with who acts; other guards compare when."""
_PEOPLE: Final = frozenset(
    """landlord landlady tenant boss manager employer employee doctor nurse insurer airline police agent lawyer
    accountant seller buyer bank wife husband partner spouse ex fiance girlfriend boyfriend son daughter child kid baby
    toddler mother father mum mom dad parent brother sister uncle aunt grandmother grandfather friend neighbour neighbor
    roommate flatmate dog cat guest teacher student colleague court judge school hotel admin""".split()
)
"""Without 'user' and 'customer', who may be whoever asks."""
_MANY: Final = {f"{one}s": one for one in _PEOPLE} | {"children": "child"}
_WHOSE: Final = frozenset(("my", "our", "the", "a", "an"))
_JOINING: Final = frozenset(("and", "or", "but"))
_EVEN: Final = EVEN.union(("with",))
"""Beside these it is the same from either side: 'can I fly with my dog' / 'can my dog fly with me'."""
_PAST: Final = frozenset("did didn't was wasn't were weren't had hadn't".split())
PEOPLE: Final = _PEOPLE.union(_MANY)
_SOMEBODY: Final = frozenset(_PRONOUNS).union(_SHORT, PEOPLE, _WHOSE)
_ALIKE: Final = frozenset(map(stem, "someone somebody anyone anybody everyone everybody".split()))
"""Words in which the texts may differ that count as content in one of their forms."""
_Part = tuple[str, str]
"""Who, or ''; and the stem of a word that is nobody."""


def swapped(a: Signature, b: Signature) -> bool:
    """Two persons trade places and all else stands where it stood; or what I did in one text, you did in the other:
    'you' that is said of anybody is said of no past.
    """
    if not (a.stems ^ b.stems) <= _ALIKE or not _may_trade(a.words, b.words):
        return False
    named = _named(a.words) | _named(b.words)
    mine, theirs = list(_cast(a.words, named)), list(_cast(b.words, named))
    if len(mine) != len(theirs) or [what for _, what in mine] != [what for _, what in theirs]:
        return False
    apart = [
        (i, who, whom)
        for i, ((who, _), (whom, _)) in enumerate(zip(mine, theirs, strict=True))
        if who != whom
    ]
    trades = {(who, whom) for _, who, whom in apart}
    if len(apart) == 1:
        return {"i", "you"} == {*apart[0][1:]} and _past(a) and _past(b)
    if len(trades) != 2 or trades != {(whom, who) for who, whom in trades}:
        return False
    first, last = apart[0][0], apart[-1][0]
    if last - first == 2 and mine[first + 1][1] in _JOINING:
        return False  # 'my wife and I'
    around = {mine[k][1] for i, *_ in apart for k in (i - 1, i + 1) if 0 <= k < len(mine)}
    return around.isdisjoint(_EVEN) and _clauses(mine) != _clauses(theirs)


def _may_trade(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether somebody is where the texts first differ."""
    for one, other in zip(left, right, strict=False):
        if _AGREEING.get(one, one) != _AGREEING.get(other, other):
            return one in _SOMEBODY or other in _SOMEBODY or "'s" in one or "'s" in other
    return False


def _past(s: Signature) -> bool:
    """'Did I', 'were you'."""
    return any(did in _PAST and who in ("i", "you") for did, who in pairwise(s.words))


def _named(words: tuple[str, ...]) -> frozenset[str]:
    """Whose something is, by name: 'neighbour' of "neighbour's"."""
    return frozenset(
        [w[:-2] for w in words if w.endswith("'s") and w not in FUNCTION_WORDS and w not in _SHORT]
    )


def _cast(words: tuple[str, ...], named: frozenset[str]) -> list[_Part]:
    """Word for word, with who is meant in the place of 'my', 'mine', 'my wife', "my wife's"; she is the wife, where no
    other is named."""
    parts = list(_parts(words, named))
    people = {who for who, _ in parts}.difference(_PRONOUNS.values(), ("",))
    if len(people) != 1:
        return parts
    (one,) = people
    return [(one, what) if who in _OTHERS else (who, what) for who, what in parts]


def _parts(words: tuple[str, ...], named: frozenset[str]) -> Iterator[_Part]:
    for word, after in zip(words, (*words, "")[1:], strict=True):
        if word in _SHORT:
            yield _SHORT[word][0], ""
            yield "", stem(_SHORT[word][1])
        elif word not in _WHOSE or _person(after, named) in ("", *_PRONOUNS):  # of 'my wife', 'wife' alone
            who = _person(word, named)
            yield who, "" if who else stem(_AGREEING.get(word, word))


def _person(word: str, named: frozenset[str]) -> str:
    if word in _PRONOUNS:
        return _PRONOUNS[word]
    bare = word.removesuffix("'s")
    bare = _MANY.get(bare, bare)
    return bare if bare in _PEOPLE or bare in named else ""


def _clauses(parts: list[_Part]) -> list[list[_Part]]:
    """What is joined, in whatever order: 'they like me and I like them'."""
    clauses: list[list[_Part]] = [[]]
    for part in parts:
        if part[1] in _JOINING:
            clauses.append([])
        else:
            clauses[-1].append(part)
    return sorted(clauses)


_MAY: Final = frozenset("can could may must should will would do does".split())
_STATES: Final = frozenset("be get have need".split())
"""'Does my account have roaming' is 'do I have roaming'."""


def actors(a: Signature, b: Signature) -> bool:
    """'Can my landlord end the lease' / 'can I end the lease'."""
    if a.question != "yesno" or b.question != "yesno" or len(a.words) == len(b.words):
        return False
    one, other = (a.words, b.words) if len(a.words) < len(b.words) else (b.words, a.words)
    return (
        one[1:2] == ("i",)
        and one[2:] == other[3:] != ()
        and other[1] in _WHOSE
        and _MANY.get(other[2], other[2]) in _PEOPLE
        and {one[0], other[0]} <= _MAY
        and one[2] not in _STATES
    )
