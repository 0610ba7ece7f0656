"""Guards: one compound, name of code or rare word stands in the place of another.

'left-handed' / 'right-handed', 'startsWith' / 'endsWith', 'dose of celebrex' / 'dose of celexa'. Words that the table
of words does not have are mostly names of things: the nearer in letters, the easier to confuse. Only a typing error is
not another word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from ..text.lexemes import stem
from ..text.reading import Reading
from ..text.words import KIN, OPPOSITE, SAME, Words, slip
from .slots import shared

_AGAIN: Final = frozenset(
    map(
        stem,
        "sign cover lease form creation sort serve mark present count lay treat press sent store".split(),
    )
)
"""What 're-' before it does anew, and 're' without a hyphen makes another word of."""
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_HUMPED: Final = re.compile(r"\b[A-Za-z]+[a-z][A-Z][A-Za-z]*\b")


def compounds(a: Reading, b: Reading, table: Words) -> bool:
    """Each has a compound that the other has not, alike but for one part; or a word of code or a brand of its own."""
    left, right = a.signature.vocabulary, b.signature.vocabulary
    lone, other = left - right, right - left
    if not lone or not other:
        return False
    if "-" in a.text or "-" in b.text:
        if _redone(lone, other) or _redone(other, lone):
            return True
        mine, theirs = list(_hyphened(lone)), list(_hyphened(other))
        if any(_apart(x, y, table) for y in theirs for x in mine):
            return True
        if any(_against(x, other, right, table) for x in mine):
            return True
        if any(_against(y, lone, left, table) for y in theirs):
            return True
    return bool(_HUMP.search(a.text) and _HUMP.search(b.text)) and _humps_differ(a.text, b.text, lone, other)


def _hyphened(words: frozenset[str]) -> Iterator[list[str]]:
    """The parts of each that has several."""
    return (parts for word in words if "-" in word and len(parts := word.replace("-", " ").split()) > 1)


def _apart(x: list[str], y: list[str], table: Words) -> bool:
    """They begin or end alike, and the rest of both is no other word for the same."""
    first, last = shared([*map(stem, x)], [*map(stem, y)])
    rest, other = x[first : len(x) - last], y[first : len(y) - last]
    if not (first or last) or not (rest or other):
        return False
    if len(rest) == len(other) == 1:
        return not slip(*rest, *other) and table.relation(*rest, *other) not in (SAME, KIN)
    return True


def _redone(lone: frozenset[str], other: frozenset[str]) -> bool:
    """'re-sign' a contract is to sign it again, 'resign' to leave."""
    return any(
        word.startswith("re-") and stem(word[3:]) in _AGAIN and f"re{word[3:]}" in other for word in lone
    )


def _against(parts: list[str], other: frozenset[str], said: frozenset[str], table: Words) -> bool:
    """The other text has the compound in words, but for the opposite of one: 'left-handed' / 'right handed'."""
    rest = [part for part in parts if part not in said]
    return len(rest) == 1 < len(parts) and any(table.relation(rest[0], word) == OPPOSITE for word in other)


def _humps_differ(a: str, b: str, lone: frozenset[str], other: frozenset[str]) -> bool:
    """'MySQL' may be 'mysql' to the other; 'getUserById' is not 'getUserByName', nor 'GitHub' 'GitLab'."""
    mine, theirs = _humped(a) & lone, _humped(b) & other
    return bool(mine and theirs) and not all(
        any(stem(x) == stem(y) or slip(x, y) for y in theirs) for x in mine
    )


def _humped(text: str) -> set[str]:
    return set(map(str.lower, _HUMPED.findall(text)))


def strangers(a: Reading, b: Reading, table: Words) -> bool:
    """All that differs is one word each, neither is in the table, and they are not one word."""
    if all(a.known) or all(b.known):
        return False
    mine, theirs = _lone(a, b), _lone(b, a)
    if len(mine) != 1 or len(theirs) != 1:
        return False
    one, other = _plain(mine.pop()), _plain(theirs.pop())
    if one == other or one in table.ids or other in table.ids or not (one.isalpha() and other.isalpha()):
        return False
    spelling = table.spelling
    if spelling.forms.get(one, one) == spelling.forms.get(other, other):
        return False
    return not slip(one, other) or (spelling.known(one) and spelling.known(other))


def _plain(word: str) -> str:
    """Without hyphens and accents."""
    word = word.replace("-", "")
    return word if word.isascii() else "".join(c for c in unicodedata.normalize("NFD", word) if c.isalpha())


def _lone(r: Reading, other: Reading) -> set[str]:
    """Words of content that the other has in no form."""
    return {word for word, short in zip(r.content, r.stems, strict=True) if short not in other.stems}
