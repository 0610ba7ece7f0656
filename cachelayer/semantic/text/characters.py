"""Characters of other keyboards and programs, replaced by those of a plain one.

Full-width letters, a soft hyphen, a no-break space, a true minus. What is asked stays the same, unless the text asks
about characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

ABOUT_FORM: Final = frozenset(
    """convert converts converted converting conversion format formats formatted formatting notation notations decimal
    decimals fraction fractions numeral numerals roman digit digits parse parses parsed parsing regex regexp string
    strings timestamp timestamps iso utc unix strftime strptime strtotime datetime military abbreviation abbreviations
    abbreviate symbol symbols character characters unicode ascii codepoint encode encoding escape escapes hyphen hyphens
    dash dashes accent accents umlaut umlauts diacritic diacritics font fonts keyboard fullwidth halfwidth invisible say
    says saying said translate translated translation mean means meaning meant word words spell spelled spelling
    pronounce pronounced write writes writing written wrote rewrite simplify simplified schreibt schreiben schreibweise
    umwandeln umrechnen écrire écrit convertir escribe escribir""".split()
)
"""With one of these the form may be what is asked about: "write 14:05 in 12-hour form"."""
LONGEST: Final = 1000
"""Characters up to which a text is looked at."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_DAY: Final = re.compile(r"\b(?:12|24)[ -]?h(?:our)?\b", re.IGNORECASE)
"""'in 24-hour form'."""
_COMPOSE: Final = re.compile(r"\bwrite (?:me |us )?(?:an?|some|the) [^\W\d]{2}", re.IGNORECASE)
"""'Write a query' wants one, in whatever form."""
_SHOWN: Final = re.compile(r"[\"`\u201c-\u201f\xab\xbb{}\[\]<>\\=_;]|(?<!\w)['\u2018]")

_GONE: Final = dict.fromkeys((0xAD, 0xFEFF, 0x2060, 0x200E, 0x200F, *range(0x2066, 0x206A)))
"""Soft hyphen, byte order mark, word joiner, marks of direction."""
_WIDE: Final = {
    0xFEE0 + c: c for c in (*b"0123456789%", *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1))
}
_LIGATURES: Final = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_DASHES: Final = {0x2010: "-", 0x2011: "-", 0x2212: "-", 0xB5: "\u03bc", 0x2103: "\xb0C", 0x2109: "\xb0F"}
_TABLE: Final = _GONE | _WIDE | _LIGATURES | _DASHES
_ANY: Final = re.compile(
    "[" + "".join(map(re.escape, map(chr, _TABLE))) + "\xa0\xba\u2007\u2009\u202f\u2013\u3000]"
)
_GROUPED: Final = re.compile(r"(?<![\d.,])(\d{1,3}(?:[\xa0\u2007\u2009\u202f]\d{3})+)(?!\d)")
_SPACES: Final = re.compile("[\xa0\u2007\u2009\u202f]")
_RANGE: Final = re.compile(r"(?<=\d)\u2013(?=\d)|(?<![\w)\u2013])(?<!\d )\u2013(?=\d)")
"""An en dash between two numbers, or as a sign before one."""
_DEGREE: Final = re.compile(r"\xba(?= ?[CF]\b)")


def about_form(text: str, said: Collection[str]) -> bool:
    """Whether how something is written may be what is asked about, or something is shown. `said`: its words."""
    form = ABOUT_FORM.intersection(said)
    return (form != set() and not (form == {"write"} and _COMPOSE.search(text))) or bool(
        _SHOWN.search(text) or _DAY.search(text)
    )


def plain_characters(text: str) -> str:
    """`text` in the characters of a plain keyboard; `text` itself where there is nothing of the kind."""
    if (
        text.isascii()
        or len(text) > LONGEST
        or not _ANY.search(text)
        or about_form(text, _WORD.findall(text.lower()))
    ):
        return text
    text = text.translate(_TABLE).replace("\u3000", " ")
    text = _GROUPED.sub(lambda found: _SPACES.sub("", found[1]), text)
    return _DEGREE.sub("\xb0", _RANGE.sub("-", _SPACES.sub(" ", text)))
