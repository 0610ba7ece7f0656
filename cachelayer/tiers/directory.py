"""The directory of a `Local`, whatever happens to it: what lies there unread is told, what is removed is made anew."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..exact.wire.entry_log import EntryLog
from ..semantic.pair_log import PairLog

_log = logging.getLogger("cachelayer")


def tell(log: EntryLog, reports: PairLog) -> None:
    """Once an opening, of what lay there and is not read."""
    if reports.unlike:
        _log.warning("%s and its twin are not alike: what either holds counts", reports.path)
    if log.aside:
        words = "%s holds what this version does not read: it was renamed to %s, and nothing of it is served"
        _log.warning(words, log.path, log.aside)
    elif log.lost:
        words = "%s: %d bytes are torn or damaged, and nothing of them is served"
        _log.warning(words, log.path, log.lost)


def keep(log: EntryLog, index: Any, write: Callable[[], None]) -> None:
    """Call `write`, a method of the log; where files were removed under it, have them all anew. Blocks.

    Raises OSError, also where another process has the directory by now.
    """
    if log.astray or getattr(index, "astray", False):
        index.snapshot()
        if index.fault is not None:
            raise index.fault
        log.rewrite()
    write()
