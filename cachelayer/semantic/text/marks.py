"""Punctuation marks that carry meaning.

In prose a bracket is a habit of writing; in code, formulas, patterns and data it may be the only difference. What is
written that way is kept as it stands, in order and in its own case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Final
from unicodedata import category

from .lexemes import NONE

_LETTERED: Final = "".join(
    f"{run[0]}-{run[-1]}"  # one by one they take two milliseconds more to compile
    for is_mark, marks in groupby(map(chr, range(0x300, 0x1E00)), lambda c: category(c) in ("Mn", "Mc"))
    if is_mark and (run := [*marks])
)
"""Vowels of Hindi, Bengali and Tamil, tones of Thai, points of Hebrew and Arabic. Emoji have marks further on."""
AND_MARKS: Final = f"(?:[{_LETTERED}][^\\W_]*)*"
"""What goes on a word of `[^\\W_]*`: to a pattern these are no letters, and 'boy' and 'girl' differ in one alone."""
_HINTS: Final = ("(", "[", "{", "\\", " -", "--", " .", "\n ", "\n\t", ")", "]", "}", ".*", "*.", "/*")
_FORMAL: Final = re.compile(
    r"[\[\]{}\\]"  # lists, patterns, objects, escapes
    r"|[\w)]\((?!e?s\))|\(\)"  # a call, but not "item(s)"
    r"|^-{1,2}[^\W\d]"  # an option
    r"|^\(*[^\W\d]\w*--[;)]*$"  # one less
    r"|^\.\.(?!\.)|^\.[^\W\d]|\*\.[\w*]|[./]\*"  # a folder or a file, or many: '*.o' is not '* .o'
    r"|^[^\w\s]*[:;=]['-]?[(/|]+[^\w\s]*$"  # a sad face
)
_FORMULA: Final = re.compile(r"[+*^=<>]| / |(?<!\w)\w\)* - \(*\w(?!\w)")
_ROW: Final = re.compile(
    r"(?<!\S)(?!\d+ \* \d+(?! ?[\d*]))(?:[\d*?/,.:#-]*[\d*][\d*?/,.:#-]* +){2,}[\d*?/,.:#-]*[\d*](?![^\s.,;:!?`])"
)
_ROUND: Final = re.compile(r"[()]")
_PLACED: Final = re.compile(r"[/*~]")
"""In a command it matters which word these stand at: 'rm -r build/' is not 'rm -r build /'."""
_QUOTES: Final = "\"'\u2018\u2019\u201c\u201d"
_ENDS: Final = f".,;:!?{_QUOTES}"


_HYPHENED: Final = re.compile(
    r"(?i)\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|\d+)-([a-z]+)(?:-(old|long)\b)?"
)


def parted(text: str) -> str:
    """'A two-year-old' as 'a two year old'."""
    return _HYPHENED.sub(r"\1 \2 \3", text) if "-" in text else text


_STRUCK: Final = re.compile(r"[\u0334-\u0338]")
_UNSEEN: Final = re.compile(r"(?<!\w)[\u200b-\u200f]|[\u200b\u200e\u200f]|[\u200c\u200d](?!\w)")
FEW_UNSEEN: Final = 8
"""Invisible characters that come with copied text; as many as make up a message are seen by whoever answers."""


def odd(text: str) -> list[str]:
    """Words that are struck out, and the invisible characters that scripts do not write within words, where they are
    more than a few: what a vector does not show."""
    if text.isascii():
        return []
    hidden = _UNSEEN.findall(text)
    found = ["".join(hidden)] if len(hidden) > FEW_UNSEEN else []
    if _STRUCK.search(text):
        found += [chunk for chunk in text.split() if _STRUCK.search(chunk)]
    return found


_FACES: Final = "\U0001f642\U0001f60a\U0001f600\U0001f604\U0001f603\U0001f609\U0001f64f\U0001f44b"
_SMILE: Final = re.compile(
    rf"(?i)([.!?,]|\b(?:thanks|thank you|thx|please|hi|hello|hey|bye))\s*[{_FACES}\ufe0f]{{1,8}}"
)


def faceless(text: str) -> str:
    """Without smiles and waves after a greeting, thanks or a sentence: elsewhere they may be what is asked."""
    return text if text.isascii() else _SMILE.sub(r"\1 ", text)


_CAPITAL: Final = re.compile(
    r"\b(?:US|IT|WHO)\b|(?<=[\w,;:] )(?:Polish|Turkey|China|March|August|Reading|Nice|Bath|Cork|Mercury)\b"
)
_HOMONYMS: Final = frozenset(
    "us it who polish turkey china march august reading nice bath cork mercury".split()
)


def capitals(text: str, words: Iterable[str]) -> frozenset[str] | None:
    """Which `words` are another word without their capitals, and have them; None if all or none are capitals."""
    if _HOMONYMS.isdisjoint(words):
        return NONE
    if text.islower() or text.isupper():
        return None
    return frozenset(map(str.lower, found)) if (found := _CAPITAL.findall(text)) else NONE


def formal(text: str) -> str:
    """All of `text` that is written formally, with how its lines are indented; '' for prose."""
    if not any(map(text.__contains__, _HINTS)):
        return ""
    sums = ("(" in text or ")" in text) and _FORMULA.search(text)
    kept = [
        _bare(chunk) for chunk in text.split() if _FORMAL.search(chunk) or (sums and _ROUND.search(chunk))
    ]
    if kept and _PLACED.search(text):
        kept += [_bare(chunk) for chunk in text.split() if _PLACED.search(chunk)]
    if "\n " in text or "\n\t" in text:
        kept.append(_indents(text))
    return " ".join(kept)


def rows(text: str) -> str:
    """Numbers and stars in a row, as in a table of times: which stands where is what they say."""
    return " ".join(_ROW.findall(text))


def _bare(chunk: str) -> str:
    """Without the marks of the sentence around it."""
    return chunk.rstrip(_ENDS).lstrip(_QUOTES) or chunk


def _indents(text: str) -> str:
    """How deep each line stands."""
    lines = [line.expandtabs() for line in text.split("\n") if line.strip()]
    return ",".join(str(len(line) - len(line.lstrip())) for line in lines)
