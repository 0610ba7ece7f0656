"""Finds entries with the same normalized words: requests that were only typed differently.

This needs no vector: it takes microseconds, where an embedder takes milliseconds. The decider then compares both texts
in full.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..types import Candidate
from .text.asked import asked
from .text.repeats import core
from .text.spoken import joined
from .text.words import words
from .text.written import written
from .types import Ask, Entry

LONGEST: Final = 400
"""Characters of a text that is looked up so."""
FEW: Final = 8
"""Entries under one key at most; the latest."""
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


class Retyped:
    """Ids of entries under a hash of their scope, earlier turns and words: some 90 bytes an entry."""

    def __init__(self) -> None:
        self._entries: dict[int, int | tuple[int, ...]] = {}

    def add(self, entry_id: int, entry: Entry) -> None:
        """Let it be found by its words; one with too few of them is not."""
        key = _key(entry)
        if not key:
            return
        entry.words = key
        held = self._entries.get(key)
        if held is None:
            self._entries[key] = entry_id
        elif entry_id not in (ids := held if isinstance(held, tuple) else (held,)):
            self._entries[key] = (*ids[1 - FEW :], entry_id)

    def drop(self, entry_id: int, entry: Entry) -> None:
        """The entry is gone."""
        held = self._entries.get(entry.words)
        if held is None:
            return
        left = tuple(i for i in (held if isinstance(held, tuple) else (held,)) if i != entry_id)
        if left:
            self._entries[entry.words] = left if len(left) > 1 else left[0]
        else:
            self._entries.pop(entry.words, None)  # another thread may have been first

    def near(self, ask: Ask, entries: Mapping[int, Entry]) -> list[Candidate]:
        """Entries of the same words, the latest first; similarity 1, as far as words tell."""
        key = _key(ask)
        held = self._entries.get(key) if key else None
        if held is None:
            return []
        ids = held[::-1] if isinstance(held, tuple) else (held,)
        live = ((i, e) for i in ids if (e := entries.get(i)) is not None and e.partition == ask.partition)
        return [Candidate(i, 1.0, e.text, e.answer, e.turns) for i, e in live if ask.fits(e.value)]


def _key(said: Ask | Entry) -> int:
    """0 if too little is left."""
    if len(said.text) > LONGEST:
        return 0
    text = asked(said.text)
    said_words = _WORD.findall(written(joined(text)).lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    left = core(text, tuple(said_words), words().spelling)
    return hash((said.partition, said.turns, left)) or 1 if left else 0
