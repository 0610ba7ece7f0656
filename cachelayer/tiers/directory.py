"""What happens to the directory of a `Persistence`: damage is reported, removed files are made anew."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from ..exact.wire.entry_log import EntryLog
from ..keep.invalidation import Invalidation
from ..keep.keeper import Keeper
from ..semantic.index.files import IndexFiles
from ..semantic.pair_log import PairLog
from .arrivals import Arrival

_log = logging.getLogger("cachelayer")


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


def forget(place: Path, turn: Lock, declared: Invalidation) -> int:
    """Remove entries from a directory that is not open, because no model could be loaded, say. Blocks; raises OSError.

    A directory that another process has open is left to that process.
    """
    files, log = IndexFiles(place / "vectors", "", 0), EntryLog(place / "entries")
    with turn:
        if not log.path.exists():
            return 0
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
