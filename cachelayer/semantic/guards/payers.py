"""Guard: who asks has to pay in one text, and is paid in the other.

'I owe 120, when is it due' / 'I have a credit of 120, when do I get it', 'do I have to pay for the course' / 'will I
be paid for the course'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text.signature import Signature

_ME: Final = frozenset(("i", "we"))
_PAYING: Final = frozenset(("pay", "owe", "owed"))
_GETTING: Final = frozenset(("receive", "get", "earn"))
_MONEY: Final = frozenset(
    """bonus cashback commission compensation deposit interest money pay payment payout rebate refund reimbursement
    salary wage wages""".split()
)
_PAID: Final = frozenset("i'm/paid owe/me owes/me pay/me".split())
_CREDITED: Final = frozenset(("a", "in"))
_OF_CREDIT: Final = frozenset("card cards score check limit union report rating line note".split())
_BEING: Final = frozenset(("be", "am", "get"))
_CHARGED: Final = frozenset("am/charged be/charged i'm/charged".split())
_BETWEEN: Final = frozenset("do did will would can could should must have need to still also then".split())
_NEAR: Final = 4
"""Words after 'get' among which money is what is got."""
_HINTS: Final = _PAYING | {"charged"}
_RECEIVING: Final = _GETTING.union(("paid", "credit", "me"))


def payers(a: Signature, b: Signature) -> bool:
    """One pays and gets nothing, the other gets and pays nothing."""
    return _paid(a, b) or _paid(b, a)


def _paid(one: Signature, other: Signature) -> bool:
    if _HINTS.isdisjoint(one.vocabulary) or _RECEIVING.isdisjoint(other.vocabulary):
        return False
    if "charged" in other.vocabulary or not (_pays(one) and _gets(other)):
        return False
    return not (_gets(one) or _pays(other))


def _pays(s: Signature) -> bool:
    return _said(s, _CHARGED) or any(s.words[i] in _PAYING for i in _done(s))


def _gets(s: Signature) -> bool:
    return (
        _said(s, _PAID)
        or _credited(s.words)
        or any(
            (word in _GETTING and not _MONEY.isdisjoint(after)) or (word in _BEING and after[:1] == ("paid",))
            for word, after in ((s.words[i], s.words[i + 1 : i + 1 + _NEAR]) for i in _done(s))
        )
    )


def _credited(words: Sequence[str]) -> bool:
    """'A credit of 120', 'I'm in credit', but no 'credit card'."""
    return any(
        one in _CREDITED and two == "credit" and after not in _OF_CREDIT
        for one, two, after in zip(words, words[1:], (*words[2:], ""), strict=False)
    )


def _said(s: Signature, pairs: frozenset[str]) -> bool:
    return any(f"{one}/{two}" in pairs for one, two in pairwise(s.words))


def _done(s: Signature) -> list[int]:
    """Where the verbs stand of which 'I' or 'we' are the subject."""
    found = []
    for i, word in enumerate(s.words):
        if word in _ME:
            at = i + 1
            while at < len(s.words) and s.words[at] in _BETWEEN:
                at += 1
            if at < len(s.words):
                found.append(at)
    return found
