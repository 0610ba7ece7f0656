"""Guard: one rare word stands in the place of another: 'dose of celebrex' / 'dose of celexa'.

Words that the table of words does not have are mostly names of things: the nearer in letters, the easier to confuse.
Only a typing error is not another word.
"""

from __future__ import annotations

import unicodedata

from ..text.reading import Reading
from ..text.words import Words, slip


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
