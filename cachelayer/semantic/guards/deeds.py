"""Guards: one wants a thing ended, the other begun, changed, used or blocked; or to talk to somebody about it.

However that is put: 'change my booking' / 'I need to cancel my booking', 'how do I open an account' / 'can I use my
account', 'I'd like to book an appointment' / 'could I move the appointment'.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.manners import CIVIL, earnest
from ..text.signature import Signature

_BY_VERB: Final = lx.by_first(
    """cancel close end terminate delete deactivate discontinue|open create start make set book reserve schedule
    arrange order|change update modify amend edit reschedule alter adjust|use|block freeze lock|increase raise|
    decrease reduce lower|extend renew|transfer send|withdraw|deposit|
    remove lift strip undo disable|protect write-protect password-protect encrypt restrict limit hide mute pin pair add
    insert enable"""
)
_VERBS: Final = frozenset(_BY_VERB).union(("take", "rid"))
_MADE: Final = {
    "change": "change", "changes": "change", "update": "change", "cancellation": "cancel", "transfer": "transfer",
    "withdrawal": "withdraw", "deposit": "deposit", "appointment": "open", "booking": "open", "reservation": "open",
    "order": "open", "alarm": "open", "timer": "open", "reminder": "open", "up": "open",
}  # fmt: skip
"""'Make a change to it' is 'change it', 'set an alarm' begins one; 'make it big' and 'set it to five' do neither."""
_MAKING: Final = ("make", "set")
_NOUNS: Final = {
    stem(noun): verb
    for noun, verb in (
        pair.split("/")
        for pair in """cancellation/cancel closure/cancel termination/cancel deletion/cancel removal/cancel
        reservation/open booking/open order/open creation/open modification/change amendment/change update/change
        usage/use blocking/block increase/increase rise/increase reduction/decrease extension/extend renewal/extend
        transfer/transfer withdrawal/withdraw deposit/deposit""".split()
    )
}
_BEFORE: Final = frozenset("to i we you please just also now me us could can kindly not".split())
"""Words before a verb that is wished for."""

_PROTECTING: Final = (("password", "protect"), ("write", "protect"))
_OFF: Final = frozenset(("off", "out"))
_NEAR: Final = 4
"""Words behind 'take it', among which 'off' or 'out' belongs to it."""

_TALKING: Final = frozenset(("speak", "talk", "chat"))
_SOMEBODY: Final = _TALKING.union(
    """speaking talking chatting contact contacting reach call calling phone phoning connect transfer human agent person
    representative someone somebody anyone anybody advisor adviser operator manager specialist expert people number
    conversation support staff team email write message mail ask tell""".split()
)
"""Of these one speaks who wants to talk to somebody."""
_SAME: Final = (frozenset(("cancel", "block")), frozenset(("open", "extend")))
"""What may come to the same: to cancel a card is to block it."""
_UNDONE: Final = {"remove": frozenset(("protect", "open")), "protect": frozenset(("remove", "cancel"))}
"""What these are told from; to remove a thing may be to change another."""


def deeds(a: Signature, b: Signature) -> bool:
    """Other things are wanted done with what both name."""
    if _VERBS.isdisjoint(a.vocabulary) or _VERBS.isdisjoint(b.vocabulary) or a.stems.isdisjoint(b.stems):
        return False
    mine, theirs = _wanted(a), _wanted(b)
    if len(mine) != 1 or len(theirs) != 1 or mine == theirs or mine | theirs in _SAME:
        return False
    wanted = mine | theirs
    if any(not wanted & others for deed, others in _UNDONE.items() if deed in wanted):
        return False
    told = [
        _mentions(s, other) for s, other, own in ((a, theirs, mine), (b, mine, theirs)) if "remove" not in own
    ]
    return not any(told) and _one_thing(a, b, wanted)


def talks(a: Signature, b: Signature) -> bool:
    """One wants to talk to somebody, and the other speaks of nobody: 'I need room service', 'talk to room service'."""
    if _TALKING.isdisjoint(a.vocabulary) and _TALKING.isdisjoint(b.vocabulary):
        return False
    return any(_talks(x.words) and _SOMEBODY.isdisjoint(y.vocabulary) for x, y in ((a, b), (b, a)))


def _talks(words: tuple[str, ...]) -> bool:
    return any(word in _TALKING and to in ("to", "with") for word, to in pairwise(words))


def _wanted(s: Signature) -> frozenset[str]:
    return frozenset(_deeds(s.words))


def _deeds(words: tuple[str, ...]) -> Iterator[str]:
    start = earnest(words, CIVIL)
    for i, (before, word) in enumerate(pairwise(("", *words))):
        if word not in _BY_VERB or not (i == start or before in _BEFORE or (before, word) in _PROTECTING):
            off = word == "take" and not _OFF.isdisjoint(words[i + 2 : i + 2 + _NEAR])
            if off or (before, word) == ("get", "rid"):
                yield "remove"
            continue
        if word not in _MAKING:
            yield _BY_VERB[word]
        elif made := [_MADE[noun] for noun in words[i + 1 : i + 4] if noun in _MADE]:
            yield made[0]


def _mentions(s: Signature, deeds: frozenset[str]) -> bool:
    """Whether it speaks of these in any other form."""
    return any(_ROOTS.get(one) in deeds for one in s.stems)


def _one_thing(a: Signature, b: Signature, deeds: frozenset[str]) -> bool:
    """Whether both name something besides what is done."""
    return any(_ROOTS.get(one) not in deeds for one in a.stems & b.stems)


_ROOTS: Final = {stem(verb): deed for verb, deed in _BY_VERB.items()} | _NOUNS
