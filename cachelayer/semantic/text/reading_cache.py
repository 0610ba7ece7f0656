"""A bounded memory of texts that were read.

Of most texts only the signature is kept: the rest of a reading is five times as large, and is made again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from .asked import asked
from .lexemes import Lexemes
from .reading import Reading
from .signature import Signature, signature
from .words import Words

HOT: Final = 3000
"""Words of the last texts of which everything that was made stays, a third of a KiB each: about 250 questions."""
_OVERHEAD, _WORD, _STRANGE, _SET, _NAME, _PAIR = 490, 16, 80, 200, 40, 80
"""Bytes per text beside its characters: dictionary slot, headers; per word, more per word that is not shared; per set
that is not empty and its members; per pair. Measured with tracemalloc."""


class ReadingCache:
    """The last texts read, up to `most` bytes of signatures; the very last ones whole (`HOT`). Not thread-safe."""

    def __init__(self, most: int) -> None:
        self.most, self.bytes, self.hot = most, 0, 0
        self._kept: OrderedDict[str, Signature] = OrderedDict()
        self._hot: OrderedDict[str, Reading] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        self._kept.clear()
        self._hot.clear()
        self.bytes = self.hot = 0

    def get(self, text: str, table: Words) -> Reading:
        """What `read` says of the text."""
        found = self._hot.get(text)
        if found is not None:
            self._hot.move_to_end(text)
            self._kept.move_to_end(text)
            return found
        signed = self._kept.get(text)
        if signed is None:
            said = asked(text)
            signed = signature(said, table.lexemes)
            self._keep(text, signed, table.lexemes)
            found = Reading(text, signed, table)
            found.said = said
        else:
            self._kept.move_to_end(text)
            found = Reading(text, signed, table)
        if text in self._kept:
            self._hot[text] = found
            self.hot += len(signed.words)
            while self.hot > HOT:
                self._cool(self._hot.popitem(last=False)[1].signature)
        return found

    def signature(self, text: str, table: Words) -> Signature:
        """The signature of a text of which nothing else need become ready."""
        return self._kept.get(text) or self.get(text, table).signature

    def _cool(self, gone: Signature) -> None:
        self.hot -= len(gone.words)
        gone.cool()

    def _keep(self, text: str, signed: Signature, lexemes: Lexemes) -> None:
        self._kept[text] = signed
        self.bytes += _size(text, signed, lexemes)
        while self.bytes > self.most:
            gone, fields = self._kept.popitem(last=False)
            self.bytes -= _size(gone, fields, lexemes)
            if self._hot.pop(gone, None) is not None:
                self._cool(fields)


def _size(text: str, s: Signature, lexemes: Lexemes) -> int:
    strange = len(s.words) - sum(map(lexemes.__contains__, s.words))
    sets = bool(s.dates) + bool(s.ids) + bool(s.names)
    members = len(s.dates) + len(s.ids) + len(s.names)
    return (
        _OVERHEAD
        + (len(text) + len(s.formal)) * (1 if text.isascii() else 4)
        + len(s.words) * _WORD
        + strange * _STRANGE
        + sets * _SET
        + members * _NAME
        + (len(s.roles) + len(s.numbers)) * _PAIR
    )
