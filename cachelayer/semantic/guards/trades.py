"""Guard: two words have traded places, and everything else stays where it is.

'old friends in new houses' / 'new friends in old houses'. A rewording moves parts of a text; exchanging two words means
something else by each.
"""

from __future__ import annotations

from typing import Final

from ..text.lexemes import PREPOSITIONS
from ..text.signature import Signature

_EVEN: Final = frozenset(
    """and or vs versus between difference differ different compare compared comparison same similar equal equals far
    distance near close married relation relationship""".split()
)
"""What is so from either side, with words that join."""


def trades(a: Signature, b: Signature) -> bool:
    """Of the words of content two that are no neighbours have traded places, and as many small words link them."""
    if len(a.content) < 3 or len(a.content) != len(b.content) or a.content == b.content or a.joins or b.joins:
        return False
    apart = [i for i, (x, y) in enumerate(zip(a.content, b.content, strict=True)) if x != y]
    if len(apart) != 2 or apart[1] - apart[0] < 2:
        return False
    i, k = apart
    if a.content[i] != b.content[k] or a.content[k] != b.content[i]:
        return False
    if not _EVEN.isdisjoint(a.vocabulary | b.vocabulary) or ("by" in a.vocabulary) != ("by" in b.vocabulary):
        return False
    return _links(a) == _links(b)


def _links(s: Signature) -> int:
    return sum(word in PREPOSITIONS for word in s.words)


def lettered(a: Signature, b: Signature) -> bool:
    """A single letter, or two, stand in the place of others: 'is group a full' / 'is group b full', 'from a to b'."""
    if len(a.words) != len(b.words):
        return False
    differ = [(x, y) for x, y in zip(a.words, b.words, strict=True) if x != y]
    return 1 <= len(differ) <= 2 and all(len(x) == len(y) == 1 for x, y in differ)
