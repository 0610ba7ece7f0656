"""An index that survives its process: a snapshot, and a journal of what came after it."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigurationError
from ...types import Vectors
from .files import TAKEN, IndexFiles, Left, Loaded
from .journal import Event, Journal
from .packed import Found, PackedIndex

_log = logging.getLogger("cachelayer")
_PENDING = 32 * 2**20
"""Bytes collected in memory before an add writes them itself."""
_LEAST_JOURNAL = 64 * 2**20
"""A journal this long, and half as long as the snapshot, is folded into a new one."""
_RETRY = 30.0
"""Seconds after a fault of the disk before `maintain` begins anew."""


class PersistentIndex:
    """`inner` with everything that happens to it written to `directory`, for one process at a time.

    `load` first. Adds and removes reach the disk with `flush` (or by themselves every 32 MiB); kill -9 at any point
    loses at most what came after the last flush, in order. `maintain` also flushes, and folds a long journal into
    a snapshot. Vectors of another `identity`, and files that fail their checksums, are set aside, never read. A
    fault of the disk ends persistence, not service: `failure` says why, and the next `maintain` begins anew.
    Neighbours whose entries are gone are the owner's to drop: `remove(everything in ids() that it does not know)`.
    `setting`: the name and the value by which the owner was given the directory, for errors.
    """

    def __init__(
        self, inner: PackedIndex, directory: str | Path, identity: str,
        setting: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.inner, self.dimension = inner, inner.dimension
        self.fault: OSError | None = None
        """Why nothing is written, since the last attempt."""
        self._files = IndexFiles(Path(directory), identity, inner.dimension)
        self._setting = setting or ("directory", str(directory))
        self._journal: Journal | None = None
        self._whole = False  # was all of it read once
        self._left: Left | None = None
        """Where the files stood when they were closed, if nothing changed here since."""
        self._retry_at = 0.0
        self._make_locks()

    def _make_locks(self) -> None:
        self._folding = threading.Lock()
        """Held to write a snapshot; taken before the others."""
        self._writing = threading.Lock()
        """Held to write the journal; taken before `_lock`."""
        self._lock = threading.RLock()
        """Held to change the index and append; not while the disk is waited for, but where too much is pending."""

    def reset(self) -> None:
        """Let the files be: after a fork the parent writes them."""
        self._make_locks()
        self._journal, self._left, self.fault = None, None, None
        self._files.release()

    def __len__(self) -> int:
        return len(self.inner)

    def size(self, partition: bytes) -> int:
        return self.inner.size(partition)

    def search(self, partition: bytes, queries: Vectors, k: int) -> Found:
        return self.inner.search(partition, queries, k)

    def work(self, partition: bytes) -> int:
        return self.inner.work(partition)

    def on_device(self, partition: bytes) -> bool:
        return self.inner.on_device(partition)

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """Why a GPU is not used, and how often that was found."""
        return getattr(self.inner, "fallbacks", {})

    def vector(self, key: int) -> NDArray[np.float32] | None:
        """The row of id `key`, or None."""
        return self.inner.vector(key)

    def ids(self) -> NDArray[np.int64]:
        """All ids, for the owner to compare with its entries after `load`."""
        return self.inner.ids()

    def add(self, partition: bytes, ids: NDArray[np.int64], vectors: Vectors) -> None:
        with self._lock:
            self.inner.add(partition, ids, vectors)
            self._log(Event(partition, ids, vectors))

    def remove(self, ids: NDArray[np.int64]) -> int:
        with self._lock:
            removed = self.inner.remove(ids)
            if removed:
                self._log(Event(b"", ids, None))
            return removed

    def load(self) -> Loaded:
        """Read what is there and begin to write. Blocks; call it off the loop, before anything else.

        After `close` it goes on with what is held: the files follow it, whoever wrote to them meanwhile. Raises
        ConfigurationError where another process or layer holds the directory or it cannot be read or written.
        """
        if self._files.taken:
            return Loaded(len(self.inner), 0, "")
        try:
            self._files.take()
            return self._rejoin() if self._whole and len(self.inner) else self._read()
        except BlockingIOError as fault:
            remedy = f"{TAKEN}: close that one first (await layer.aclose()), or give each a directory"
            raise ConfigurationError(*self._setting, remedy) from fault
        except OSError as fault:
            self._files.release()
            remedy = f"cannot be read and written ({fault.strerror or fault}): name a directory that can"
            raise ConfigurationError(*self._setting, remedy) from fault

    def _read(self) -> Loaded:
        with self._writing, self._lock:
            self.inner.remove(self.inner.ids())  # what an attempt that failed had read
            loaded, self._journal = self._files.restore(self.inner)
            self._whole = True
            if loaded.lost:
                words = "%s: %d bytes of vectors are torn or damaged, and are made anew where their texts are kept"
                _log.warning(words, self._files.directory, loaded.lost)
            return loaded

    def _rejoin(self) -> Loaded:
        with self._writing, self._lock:
            left, self._left = self._left, None
            self._journal = self._files.rejoin(left)
        if self._journal is None:
            self.snapshot()
        return Loaded(len(self.inner), 0, "")

    def flush(self) -> None:
        """Make what was added and removed survive; blocks for the disk, but holds up no add."""
        with self._writing:
            try:
                with self._lock:
                    journal = self._journal
                    data = journal.take() if journal else b""
                if journal and data:
                    if self._files.astray:
                        raise OSError(errno.ENOENT, "the directory was removed")
                    journal.write(data, sync=True)
            except OSError as fault:
                self._fail(fault)

    @property
    def failure(self) -> str:
        """Why nothing is written; '' if all is well."""
        return "" if self.fault is None else self.fault.strerror or str(self.fault)

    @property
    def astray(self) -> bool:
        """Whether the directory was removed or replaced while it was in use; `snapshot` makes it anew."""
        return self._files.astray

    @property
    def due(self) -> bool:
        """Whether `maintain` has something to do."""
        waiting = self._journal is not None and self._journal.pending > 0
        return waiting or self.inner.due or self._retry_now()

    def maintain(self) -> int:
        """Flush, fold a long journal, and what the inner index has to do. Blocks; call it in a thread."""
        self.flush()
        journal = self._journal
        long = journal is not None and journal.size > max(_LEAST_JOURNAL, self._files.snapshot_size // 2)
        if long or self._retry_now():
            self.snapshot()
        return self.inner.maintain()

    def snapshot(self) -> None:
        """Fold the journal into a new snapshot; reads and writes go on meanwhile."""
        with self._folding:
            try:
                with self._writing:
                    self._files.reclaim()
                    self._turn_over()
                self._files.fold(self.inner)
            except OSError as fault:
                with self._writing:
                    self._fail(fault)

    def scrub(self) -> None:
        """Leave nothing on the disk of what was removed: write a new snapshot; where that fails, delete all files.

        Raises OSError if that fails, too.
        """
        self.snapshot()
        if self.fault is not None:
            with self._folding, self._writing:
                self._files.clear()

    def _turn_over(self) -> None:
        """Go on in a new journal."""
        with self._lock:
            old = self._journal
            data = old.take() if old else b""
            self._journal = self._files.next_journal(gap=old is None)
            self.fault = None
        if old:  # before the new journal's first write: order is what a reader relies on
            try:
                old.write(data, sync=True)
            finally:
                old.close()

    def close(self) -> None:
        """End maintenance, flush, and let the directory go."""
        self.inner.close()
        self.flush()
        with self._folding, self._writing, self._lock:
            if self._journal is not None:
                self._left = self._files.left(self._journal)
                self._journal.close()
                self._journal = None
            self._files.release()

    def _log(self, event: Event) -> None:
        journal = self._journal
        if journal is None:
            self._left = None
            return
        journal.append(event)
        if journal.pending > _PENDING and self._writing.acquire(blocking=False):
            try:
                journal.write(journal.take(), sync=False)
            except OSError as fault:
                self._fail(fault)
            finally:
                self._writing.release()

    def _fail(self, fault: OSError) -> None:
        """Stop writing: an event is missing, and what follows a gap would be believed. Called under `_writing`."""
        with self._lock:
            self.fault = fault.with_traceback(None)  # whose frames hold what was to be written
            self._retry_at = time.monotonic() + _RETRY
            if self._journal is not None:
                self._journal.close()
                self._journal = None

    def _retry_now(self) -> bool:
        return self.fault is not None and time.monotonic() >= self._retry_at
