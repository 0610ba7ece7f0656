"""What is heard and not written: 'i wanna um cancel my uh order' is 'i want to cancel my order'.

Transcripts of speech keep every sound. Of a text that speaks of words these may be what is asked about.
"""

from __future__ import annotations

import re
from typing import Final

from .courtesies import OF_WORDS
from .lexicon import FOREIGN, FUNCTION_WORDS

_HEARD: Final = re.compile(r"\b(?:[Uu]+[hm]+|[Uu]hm|[Ee]rm|wanna|gonna|gimme|lemme|dunno)\b", re.IGNORECASE)
_SOUND: Final = re.compile(r"(?<![\w'-])(?:[Uu]h+|[Uu]h*m+|[Ee]rm+)(?![\w'-])[,.]* *")
"""In capitals it is an abbreviation."""
_SHORT: Final = {
    "wanna": "want to", "gonna": "going to", "gimme": "give me", "lemme": "let me", "dunno": "do not know",
}  # fmt: skip
_SHORTENED: Final = re.compile(
    r"\b((?:i|you|we|they|i'm|im|you're|we're|they're|do|does|did|not|to|am|are|is|just|really|also) )"
    r"(wanna|gonna|dunno)\b"
    r"|((?:^|[,.;:!?] |\bplease |\bcan you |\band )(?:please )?)(gimme|lemme)\b",
    re.IGNORECASE,
)
"""Where it is no name: 'Gimme Shelter' may be one at a beginning alone."""
_ABROAD: Final = FOREIGN - FUNCTION_WORDS - {"um"}
_SHOWING: Final = re.compile(r"[\"\u201c\u201d\u2018:`\n<>{}\[\]]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def fluent(text: str) -> str:
    """`text` without sounds, and with the words that are drawn together apart; 'um' is a word in other languages."""
    if not _HEARD.search(text) or _SHOWING.search(text):
        return text
    words = frozenset(_WORD.findall(text.lower()))
    if not OF_WORDS.isdisjoint(words):
        return text
    if text.isascii() and not FUNCTION_WORDS.isdisjoint(words - {"um"}) and _ABROAD.isdisjoint(words):
        text = _SOUND.sub("", text)
    return _SHORTENED.sub(_apart, text)


def _apart(found: re.Match[str]) -> str:
    before, short = (found[1], found[2]) if found[2] else (found[3], found[4])
    return f"{before}{_SHORT[short.lower()]}"
