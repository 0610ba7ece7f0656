"""What stands before a question or an order, put behind it: 'If I move, can I keep it?' is 'can I keep it if I move'.

Of two sentences the question comes last: 'Should I come in? I have a fever' says what 'I have a fever. Should I come
in?' does. Word for word, so that a text gains no words by it.
"""

from __future__ import annotations

import re
from typing import Final

_VAGUE: Final = "case|general|short|addition|fact|that|this|order|other|average"
_FRONTED: Final = re.compile(
    r"((?:(?:if|when|while|once|before|after|until|unless) "
    rf"|(?:in|on|at|by|for|with|using|without|during|since) (?!(?:{_VAGUE})\b))[^,.;:?!]+), "
    r"(?!(?:and|or|but|not|so|which|who|where|that) )([^,.;:?!]+)([?.!]*)$",
    re.IGNORECASE,
)
"""'In Outlook, how do I set it?', 'in two hours, start the fan'; with one comma, so that it is no list."""
_ASKS_FIRST: Final = re.compile(r"([^.;:?!]+)\? ([^.;:?!]+)[.!]?$")
_LINKED: Final = re.compile(
    r"(?:and|or|but|if|so|because|since|not|also|then|why|when|how|what|where)\b", re.IGNORECASE
)
"""A second sentence that begins so goes on with the question."""


def behind(text: str) -> str:
    """`text` with what is fronted behind the rest, and its question last; as it is where neither is so."""
    if found := _FRONTED.match(text):
        return f"{found[2]} {found[1]}{found[3]}"
    if (found := _ASKS_FIRST.match(text)) and not _LINKED.match(found[2]):
        return f"{found[2]}. {found[1]}?"
    return text
