"""Guards: what is to be written does something else to its reader, or takes the other side.

'Apologize to the hotel for the lamp' / 'complain to the hotel about the lamp', 'argue that homework is harmful' /
'defend homework as useful'.
"""

from __future__ import annotations

from typing import Final

from ..text.lexicon import by_first
from ..text.signature import Signature

_DOING: Final = by_first(
    """apologize apologise apologizing apologising apology apologetic sorry|complain complaining complains complaint
    complaints|thank thanking gratitude|invite inviting invitation|decline declining refuse refusing refusal reject
    rejecting rejection|accept accepting acceptance|congratulate congratulating congratulations|remind reminding
    reminder|resign resigning resignation|farewell goodbye|welcome welcoming|condolence condolences sympathy|recommend
    recommending recommendation|praise praising"""
)
_WORDS: Final = frozenset(_DOING)
_WRITING: Final = frozenset(
    """write writing draft compose letter email mail message note text speech card review apology complaint
    invitation resignation""".split()
)
_INVITED: Final = frozenset(("invite", "accept", "decline"))
"""Who declines an invitation does not invite, and may not speak of one."""

_ARGUING: Final = frozenset(
    """argue argues arguing argument arguments debate debating defend defending convince persuade essay speech case
    reasons speaks critique prove""".split()
)
_PRO: Final = frozenset(
    """for defend defending defense defence favor favour benefit benefits beneficial good useful helpful advantage
    advantages pros supporting""".split()
)
_CON: Final = frozenset(
    """against oppose opposing opposes opponents harm harms harmful hurt hurts bad damage damages drawback drawbacks
    disadvantage disadvantages cons cruel critique criticize criticizing criticism""".split()
)
_FOR: Final = frozenset("argue argues argument arguments case reasons speech speaks".split())
"""Behind these 'for' takes a side."""


def letters(a: Signature, b: Signature) -> bool:
    """Both are to be written, and what they do has nothing in common."""
    if _WORDS.isdisjoint(a.vocabulary) or _WORDS.isdisjoint(b.vocabulary):
        return False
    if _WRITING.isdisjoint(a.vocabulary) or _WRITING.isdisjoint(b.vocabulary):
        return False
    mine, theirs = ({_DOING[word] for word in _WORDS & s.vocabulary} for s in (a, b))
    if not mine.isdisjoint(theirs):
        return False
    return "invite" not in mine | theirs or not mine | theirs <= _INVITED


def stances(a: Signature, b: Signature) -> bool:
    """Both argue, one for it and the other against it."""
    if _ARGUING.isdisjoint(a.vocabulary) or _ARGUING.isdisjoint(b.vocabulary):
        return False
    mine, theirs = _stance(a), _stance(b)
    return bool(mine and theirs) and mine != theirs


def _stance(s: Signature) -> str:
    """'con', 'pro', or '' if it is neither or both; 'more harm than good' is against it."""
    pro, con = s.vocabulary & _PRO, s.vocabulary & _CON
    if "for" in pro and not any(
        word in _FOR and after == "for" for word, after in zip(s.words, s.words[1:], strict=False)
    ):
        pro -= {"for"}
    if pro and con and "than" in s.vocabulary:
        at = s.words.index("than")
        pro, con = pro.intersection(s.words[:at]), con.intersection(s.words[:at])
    return "" if bool(pro) is bool(con) else "pro" if pro else "con"
