"""A text's words and marks, one by one: words, numbers, signs, code, links, and where files are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .marks import AND_MARKS

_FOREIGN_STOPS: Final = (
    r"\u055a-\u055f\u0589\u05be\u05f3\u05f4\u060c\u061b\u061f\u06d4\u0964\u0965\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb"
    r"\uff01\uff02\uff07-\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b\uff5d\uff61-\uff65"
)
"""Punctuation of Armenian, Hebrew, Arabic, Hindi, Chinese and Japanese."""
_NUMBERS: Final = (
    r"(?P<minus>(?<![\w)\]])-(?=\.?\d)|(?<=\d )-(?= \d))"
    r"|(?P<num>\d+(?:[.,:/-]\d+)*)(?P<tail>[a-zA-Z%\u0130\u0131\u017f\u212a]*)(?![\w])"
)
_SIGNS: Final = (
    r"(?P<sym>[€£¥%]|\$(?![^\W\d]))"
    r"|(?P<sign>!=+|!(?=\w)|!(?<=\b\d!)|!(?<=\b\d\d!)|-(?<=[A-Z]-)(?![\w-])|[^\w\s.,;:!?'\"()\[\]{}`\u2026\u2018-\u201f\u2039\u203a\u2010-\u2015\u2022\u2122\u200b-\u200f\ufe0f\xa1\xa9\xab\xae\xb0\xb4\xb7\xbb\xbf"
    f"{_FOREIGN_STOPS}-]+)"
    r"|(?P<stop>[.!?\n])"
)
_LINKS: Final = (
    r"(?P<code>`[^`]+`)|(?P<link>(?:[hH][tT][tT][pP][sS\u017f]?://|[wW]{3}\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)|"
    r"(?P<path>(?<![\w/.~)\]])(?:~|\.\.?)?/(?=[^\W\d]|\.)[\w.+-]+(?:/[\w.+-]*)*)|"
)
"""Code, links, addresses, and where files are: '/tmp/new', '~/notes', '../a', but not 'km/h' nor '5 /10'."""


def _patterns(more: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of all marks, and with code and links. `more`: what the letters of a word go on with."""
    after = f"{more}(?:['\u2019._/+#-][^\\W_]+{more})*[+#]*"
    marks = f"(?P<word>[^\\W\\d_][^\\W_]*{after})|{_NUMBERS}|(?P<mixed>[^\\W_]+{after})|{_SIGNS}"
    return re.compile(marks), re.compile(_LINKS + marks)


_ASCII: Final = _patterns("")
_ANY: Final = _patterns(AND_MARKS)


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Words and marks; the group that matched says which. Code and links are looked for where one may be."""
    link = "/" in text or "@" in text or "`" in text or "w." in text or "W." in text
    return (_ASCII if text.isascii() else _ANY)[link].finditer(text)
