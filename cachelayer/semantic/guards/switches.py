"""Guard: something is on, or to be turned on, in one text, and off in the other, wherever these words stand.

'Lights on' / 'turn the lights in here off', 'is the heating off' / 'is the kitchen heating on'.
"""

from __future__ import annotations

from typing import Final

from ..text.signature import Signature

_SWITCHING: Final = frozenset(
    """turn turns turned turning switch switches switched switching put puts putting power powers powered flip flips
    flipped shut keep keeps kept leave leaves left set sets is are was were be stay stays""".split()
)
_ON: Final = "on"
_OFF: Final = "off"
_NEAR: Final = 6
"""Words behind the verb among which what belongs to it stands."""


def switches(a: Signature, b: Signature) -> bool:
    """On in one, off in the other, and each but one of them."""
    if _OFF in a.vocabulary:
        return _OFF not in b.vocabulary and _ON not in a.vocabulary and _is(a, _OFF) and _is(b, _ON)
    return _OFF in b.vocabulary and _ON not in b.vocabulary and _is(b, _OFF) and _is(a, _ON)


def _is(s: Signature, state: str) -> bool:
    """Whether the word stands last, or behind a verb of switching."""
    if state not in s.vocabulary:
        return False
    words = s.words
    at = len(words) - 1 - words[::-1].index(state)
    return at == len(words) - 1 or not _SWITCHING.isdisjoint(words[max(at - _NEAR, 0) : at])
