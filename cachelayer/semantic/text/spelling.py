"""Which word somebody meant who slipped: 'pasword', 'rseet', 'accomodation', 'diffrence'.

Only words that are in no list are taken for slips, and only where an error that people make leads to a single word:
two neighbours swapped; a letter doubled, or one of two alike missing; then, in longer words, a letter left out or put
in, or one written for another that sounds like it. The first letter is never touched, the last only where it is
doubled: 'iphone' is not 'phone', nor 'crypto' 'crypt'. Nor is a word one that is written as names are, within the
text ('Allison') or by itself ('Flickr', 'Fiverr', 'Nodejs').

Kinds of errors after Damerau, "A technique for computer detection and correction of spelling errors", 1964.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import xxhash
from numpy.typing import NDArray

LEAST, LONG, MOST = 5, 6, 20
"""Letters from which a word may be a slip at all, from which by a letter left out, put in or changed; and the most."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ALIKE: Final = {letter: "aeiou".replace(letter, "") for letter in "aeiou"} | {"c": "s", "s": "cz", "z": "s"}
"""Letters that are written for one another by ear."""
_NAMED: Final = re.compile(r"[^aeiou]r$|js$|([^aeioulsy])\1$")
_TESTS: Final = 7


class Rare:
    """Words that there are, in 10 to 11 bits each; one in a hundred others is taken for one, too, and so left as it is.

    Source: Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970. `bits`: uint8, eight bits each.
    """

    def __init__(self, bits: NDArray[np.uint8]) -> None:
        self._bits = bits.tobytes()

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and all(
            self._bits[at >> 3] >> (at & 7) & 1 for at in _places(word, 8 * len(self._bits))
        )

    @staticmethod
    def of(words: Iterable[str], size: int) -> NDArray[np.uint8]:
        """`size` bytes."""
        bits = bytearray(size)
        for word in words:
            for at in _places(word, 8 * size):
                bits[at >> 3] |= 1 << (at & 7)
        return np.frombuffer(bytes(bits), np.uint8)


def _places(word: str, bits: int) -> Iterator[int]:
    start = xxhash.xxh3_64_intdigest(word.encode())
    step = start >> 32 | 1
    return ((start + i * step) % bits for i in range(_TESTS))


class Spelling:
    """`common`: words that may have been meant, no names among them; `table`: more that may be where two neighbours
    are swapped; `rare`: more words that there are; `forms`: another form of one word, 'color' by 'colour'.
    """

    def __init__(
        self,
        common: Container[str],
        table: Container[str],
        rare: Container[str] = (),
        forms: Mapping[str, str] | None = None,
    ) -> None:
        self.common, self._table, self._rare = common, table, rare
        self.forms: Mapping[str, str] = forms or {}

    def strange(self, words: Sequence[str]) -> list[int]:
        """Places of the words that are in no list and long enough to be slips."""
        table, common, rare = self._table, self.common, self._rare
        return [
            i for i, w in enumerate(words)
            if w not in table and len(w) >= LEAST and w not in common and w not in rare
        ]  # fmt: skip

    def known(self, word: str) -> bool:
        """Whether a word is in a list of such that are written so; the table has words of people, slips among them."""
        return word in self.common or word in self._rare

    def meant(self, word: str, *, name: bool) -> str:
        """The one word that an unknown, lower-case word was meant to be, or ''. `name`: it is written as names are."""
        if name or not LEAST <= len(word) <= MOST or not word.isalpha() or not word.isascii():
            return ""
        found = {other for other in _swapped(word) if other in self.common or other in self._table}
        if not found and not _NAMED.search(word):
            found = {other for other in _doubled(word) if other in self.common}
            if not found and len(word) >= LONG:
                found = {other for other in _changed(word) if other in self.common}
        if len(found) > 1:
            found = {self.forms.get(other, other) for other in found}
        return found.pop() if len(found) == 1 else ""


def _swapped(word: str) -> Iterator[str]:
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def _doubled(word: str) -> Iterator[str]:
    """With one of two equal neighbours, and with any letter twice."""
    for i, letter in enumerate(word):
        if i and letter == word[i - 1]:
            yield word[:i] + word[i + 1 :]
        yield word[:i] + letter + word[i:]


def _changed(word: str) -> Iterator[str]:
    """With one letter inside left out, put in, or written as it sounds."""
    for i in range(1, len(word) - 1):
        yield word[:i] + word[i + 1 :]
        for letter in _ALIKE.get(word[i], ""):
            yield word[:i] + letter + word[i + 1 :]
    for i in range(1, len(word)):
        for letter in _LETTERS:
            yield word[:i] + letter + word[i:]
