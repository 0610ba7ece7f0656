"""Numbers in order in one form each: '1st' as 'first', 'the second' as 'the 2nd', 'World War II' as 'World War 2'.

Left is what may be no number: 'a second', 'Malcolm X', 'an IV drip'.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from .lexicon import FUNCTION_WORDS, ORDINALS

_UNITS: Final = "first second third fourth fifth sixth seventh eighth ninth".split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_FIRST: Final = re.compile(r"\b1st\b", re.IGNORECASE)
_SECOND: Final = re.compile(
    r"\b(the|my|your|our|his|her|their|its|this) second (?!(?:is|are|was|were|hand|ago|later|per|and|or|before|after"
    r"|when|that|which|who|while|until|can|does|do|i|you|we|it|they|he|she|to|of|in|on|for|if)\b)(?=[a-z])",
    re.IGNORECASE,
)
_TH: Final = re.compile(
    rf"\b(?<!\bone )(?<!\ba )(?:({'|'.join(_TENS)})[ -]({'|'.join(_UNITS)})|({'|'.join(ORDINALS)}))\b",
    re.IGNORECASE,
)
_WAR: Final = re.compile(
    r"\b(?:(?i:ww) ?|(?i:world war) )(III?|iii?|I|[123]|(?i:one|two|three))\b"
    r"|\b(?i:(first|1st|second|2nd|third|3rd) world war)\b"
)
_FIGURES: Final = {
    word: str(n)
    for n, words in enumerate(
        ("i one first 1st", "ii two second 2nd", "iii three third 3rd", "fourth 4th"), 1
    )
    for word in (*words.split(), str(n))
}
_ROMANS: Final = {
    roman: i + 1
    for i, roman in enumerate(
        "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII XXIII".split()
    )
    if len(roman) > 1
}
_ROMAN: Final = re.compile(
    r"\b([A-Za-z]+) (II|III|IV|VI|VII|VIII|IX|XI|XII|XIII|XIV|XV|XVI|XVII|XVIII|XIX|XXI|XXII|XXIII)\b(?![/&+'-])",
    re.IGNORECASE,
)
_QUARTER: Final = re.compile(
    r"\b(?:the )?(first|1st|second|2nd|third|3rd|fourth|4th) quarter(?: of(?= \d{4}\b))?"
    r"(?! (?:of an?|mile|hour|pound|final)\b)",
    re.IGNORECASE,
)
_LOWER: Final = frozenset(map(str.lower, _ROMANS))
_ORDINALS: Final = frozenset(ORDINALS).union(_TENS)
_WARLIKE: Final = frozenset(("war", "ww", "wwi", "wwii", "wwiii"))
_COUNTED: Final = frozenset(
    """part type phase stage chapter class level act episode season volume title article section book grade tier war
    appendix category schedule""".split()
)


def figured(text: str, said: Set[str]) -> str:
    """'the twenty-fourth of May' as 'the 24th of May'. `said`: its words."""
    return text if _ORDINALS.isdisjoint(said) else _TH.sub(_figure, text)


def ordered(text: str, said: Set[str]) -> str:
    """`text` with its ordinal and Roman numbers in one form each."""
    if not _WARLIKE.isdisjoint(said):
        text = _WAR.sub(lambda m: f"World War {_FIGURES[(m[1] or m[2]).lower()]}", text)
    if not _LOWER.isdisjoint(said):
        text = _ROMAN.sub(_roman, text)
    if "quarter" in said:
        text = _QUARTER.sub(lambda m: f"Q{_FIGURES[m[1].lower()]}", text)
    if "st" in said:
        text = _FIRST.sub("first", text)
    return _SECOND.sub(r"\1 2nd ", text) if "second" in said else text


def _roman(found: re.Match[str]) -> str:
    """'Part IV', 'Louis XIV', 'louis xiv' of a text without capitals; 'IV' and 'VI' may be much else behind a name."""
    before, number = found.groups()
    counted, lower = before.lower() in _COUNTED, found.string.islower()
    if not (number.isupper() or lower) or not (counted or before[0].isupper() or lower):
        return found[0]
    named = before.lower() not in FUNCTION_WORDS and number not in ("IV", "VI", "iv", "vi")
    return f"{before} {_ROMANS[number.upper()]}" if named or counted else found[0]


def _figure(found: re.Match[str]) -> str:
    """'21st' of 'twenty-first', '19th' of 'nineteenth'."""
    if found[3]:
        value = ORDINALS[found[3].lower()]
    else:
        value = 20 + 10 * _TENS.index(found[1].lower()) + _UNITS.index(found[2].lower()) + 1
    tail = {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th") if value // 10 % 10 != 1 else "th"
    return f"{value}{tail}"
