"""What happens to the directory of a `Persistence`: damage is reported, removed files are made anew."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..exact.wire.entry_log import EntryLog
from ..flow import forks
from ..keep.invalidation import Invalidation
from ..keep.keeper import Keeper
from ..semantic.index.files import IndexFiles
from ..semantic.pair_log import PairLog
from .arrivals import Arrival

_log = logging.getLogger("cachelayer")
FORKED = "only the process that this one was forked from writes there: make a layer in each, with its own directory"
MOST = 256
"""Declarations that a disk may have refused; of more, everything is invalid there."""


def tell(log: EntryLog, reports: PairLog | None = None) -> None:
    """Log, once per opening, what was found there and is not read."""
    if reports is not None and reports.unlike:
        _log.warning("%s and its twin are not alike: what either holds counts", reports.path)
    if log.aside:
        words = "%s holds what this version does not read: it was renamed to %s, and nothing of it is served"
        _log.warning(words, log.path, log.aside)
    elif log.lost:
        words = "%s: %d bytes are torn or damaged, and nothing of them is served"
        _log.warning(words, log.path, log.lost)


def parents(place: Path) -> ConfigurationError:
    """What to tell the owner of a layer that was forked while it had the directory open."""
    return ConfigurationError("index", str(place), FORKED)


def keep(log: EntryLog, index: Any, write: Callable[[], None]) -> None:
    """Call `write`, a method of the log; if files were removed meanwhile, make them all anew first. Blocks.

    Raises OSError, also if another process has the directory by now.
    """
    if log.astray or getattr(index, "astray", False):
        index.snapshot()
        if index.fault is not None:
            raise index.fault
        log.rewrite()
    write()


def drop(keeper: Keeper, ids: set[int]) -> None:
    """Drop from memory what another process removed from the disk."""
    for memory in keeper.memories if ids else ():
        with keeper.lock:
            for slot in [slot for slot in memory if slot.id in ids]:
                keeper.drop(memory, slot)


class Unopened:
    """A directory that is not open, because no model could be loaded, say, and what was declared invalid there."""

    def __init__(self, place: Path) -> None:
        self._place, self._turn = place, forks.lock()
        self.left: list[Invalidation] = []
        """What the disk refused to remove."""

    def __bool__(self) -> bool:
        return bool(self.left)

    @property
    def failure(self) -> str:
        """What to tell the owner."""
        return "the disk refused what was declared invalid" if self.left else ""

    def forget(self, declared: Invalidation) -> int:
        """Remove entries, and those that the disk refused to remove before. Blocks; raises OSError."""
        with self._turn:
            whole = replace(declared, everything=declared.everything or len(self.left) >= MOST)
            self.left = [whole] if whole.everything else [*self.left, declared]
        return self.catch_up()

    def catch_up(self) -> int:
        """Remove what was left. Blocks; raises OSError."""
        found = 0
        with self._turn:
            while self.left:
                found += _forget(self._place, self.left[0])
                del self.left[0]
        return found


def _forget(place: Path, declared: Invalidation) -> int:
    """A directory that another process has open is left to that process."""
    files, log = IndexFiles(place / "vectors", "", 0), EntryLog(place / "entries")
    if log.path.exists():
        try:
            files.take()
            kept = [Arrival(entry.findable, entry.record, 0, 0.0, entry.id) for entry in log.load()]
            doomed = [entry.id for entry in kept if declared.covers(*entry.marks)]
            tell(log)
            for key in doomed:
                log.drop(key)
            try:
                log.flush()
            except OSError:
                log.clear()
            return len(doomed)
        except BlockingIOError:
            return 0
        finally:
            log.close()
            files.release()
    return 0
