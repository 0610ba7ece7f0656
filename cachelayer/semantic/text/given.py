"""Orders to do something with a text that is given elsewhere, and for whom: 'Translate this letter for me, thanks'.

What stands at the end of such an order is manners, though it speaks of words; so is what stands before one about what
it shows: 'Please translate "good day"'.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from .lexicon import OWN_ACTS
from .manners import PLEASE, told

FOR_ME: Final = ("for", "me")
_THIS: Final = frozenset("this these my the following".split())
_TEXTS: Final = frozenset(
    """text texts article paragraph paragraphs sentence sentences email letter essay document documents code function
    class report story post message list table file page passage poem script query resume data presentation speech
    summary description""".split()
)
_SHOWN: Final = re.compile(r"[:\"\u201c\u201d\n`]")
_ORDERING: Final = OWN_ACTS.union(
    """summarize summarise translate explain describe write draft compose create generate list compare rewrite rephrase
    paraphrase shorten extract make give find tell show order reserve suggest recommend turn reply respond""".split()
)
"""With which an order may begin."""


def given(words: list[str], text: str) -> list[str]:
    """What `words`, those of `text`, order to be done with a text that is not shown, without 'could you please'."""
    order = words[told(words, PLEASE) :]
    if not order or order[0] not in _ORDERING or _SHOWN.search(text):
        return []
    return order if any(this in _THIS and what in _TEXTS for this, what in pairwise(order)) else []


def shown(words: list[str], text: str) -> list[str]:
    """What `words` order to be done with what the text shows behind the order, without 'could you please'."""
    at = told(words, PLEASE)
    if not 0 < at < len(words) or words[at] not in _ORDERING or (found := _SHOWN.search(text)) is None:
        return []
    return words[at:] if len(text[: found.start()].split()) > at else []


def for_me(words: list[str]) -> bool:
    """Whether they order something 'for me', as whoever orders does anyway."""
    return tuple(words[-2:]) == FOR_ME and words[0] in _ORDERING
