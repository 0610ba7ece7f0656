"""Entries on disk, for one process: an append-only file of what was kept, each part checksummed.

What is gone is struck out where it stands (see `entry_parts`), and left behind when the file is written anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from ...types import Findable, Record
from . import entry_parts as parts
from .entry_body import Kept, body_of, kept_of

_LEAST = 16 * 2**20
"""A file this long, and more than half dead, is worth writing anew."""


class EntryLog:
    """One file. `put` and `drop` collect in memory; `flush` makes them survive. Thread-safe; raises OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lost = 0
        """Bytes that did not check, when it was opened."""
        self.aside = ""
        """The name under which another version's file, or another program's, was put out of the way then."""
        self._pending: dict[int, bytes] = {}
        """Bodies to be written, by id."""
        self._doomed: list[parts.Span] = []
        """Parts that are to be struck out."""
        self._places: dict[int, parts.Span] = {}
        """The parts that are in the file, or on their way into it, by id."""
        self._size = 0
        self._alive = 0  # bytes of the bodies in `_places`
        self._mark = b""
        self._torn = False  # whether what could not be written may stand behind what counts
        self._file = -1
        self._lock = threading.Lock()
        """Held to collect; never while the disk is waited for."""
        self._writing = threading.Lock()

    def reset(self) -> None:
        """Let the file be: after a fork the parent writes it."""
        self._release()
        self._pending, self._doomed = {}, []
        self._lock, self._writing = threading.Lock(), threading.Lock()

    def load(self) -> list[Kept]:
        """Open the file, cut what is torn, and read what is alive, oldest first. Blocks."""
        self.close()
        kept: list[Kept] = []
        held = parts.Scan()
        self.lost, self.aside = 0, ""
        if self.path.exists():
            with self.path.open("rb", parts.AT_ONCE) as data:
                held = parts.scan(data)
                kept = [
                    e for key, span in held.alive.items() if (e := kept_of(key, parts.body_at(data, span)))
                ]
                self.lost = data.seek(0, os.SEEK_END) - held.whole + held.damaged
                data.seek(0)
                torn = parts.MAGIC.startswith(data.read(len(parts.MAGIC)))
            if not (held.whole or torn):
                self._set_aside()
        self._file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        if held.whole < parts.HEAD:
            os.ftruncate(self._file, 0)
            held.mark = parts.new_mark()
            held.whole = os.write(self._file, parts.MAGIC + held.mark)
        os.ftruncate(self._file, held.whole)
        self._mark, self._size, self._torn = held.mark, held.whole, False
        self._places = held.alive
        self._alive = sum(span.length for span in held.alive.values())
        self._pending, self._doomed = {}, held.doubled
        if held.damaged:  # it might be read another time, when it was declared invalid meanwhile
            with suppress(OSError):
                self.rewrite()
        return kept

    def _set_aside(self) -> None:
        """Another program's file, or a newer format's, goes out of the way and stays whole."""
        place = (self.path.with_name(f"{self.path.name}.unread-{n}") for n in count(1))
        free = next(path for path in place if not path.exists())
        self.path.rename(free)
        self.aside = free.name

    def erase_unread(self) -> None:
        """Remove what was set aside of ours, newer or without a beginning: nobody can tell whose it is. Blocks."""
        for path in self.path.parent.glob(f"{self.path.name}.unread-*"):
            with path.open("rb") as data:
                begins = data.read(len(parts.KIND))
            if begins == parts.KIND or not any(begins):
                path.unlink()

    def put(self, key: int, findable: Findable, record: Record) -> None:
        """Keep an entry under `key`, from the next flush on."""
        body = body_of(findable, record)
        with self._lock:
            self._bury(key)
            self._pending[key] = body

    def drop(self, key: int) -> None:
        """An entry is gone; nothing where it is not here."""
        with self._lock:
            self._bury(key)

    def _bury(self, key: int) -> None:
        self._pending.pop(key, None)
        if (span := self._places.pop(key, None)) is not None:
            self._alive -= span.length
            self._doomed.append(span)

    def __contains__(self, key: int) -> bool:
        return key in self._pending or key in self._places

    def ids(self) -> list[int]:
        """The ids of all entries that are kept, or were kept when the file was closed."""
        with self._lock:
            return [*self._places, *self._pending]

    @property
    def astray(self) -> bool:
        """Whether the file was deleted under its writer. Blocks: it may be about to be closed, or replaced."""
        with self._writing:
            return self._deleted()

    def _deleted(self) -> bool:
        return self._file >= 0 and os.fstat(self._file).st_nlink == 0

    @property
    def due(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._pending or self._doomed)

    @property
    def owes(self) -> bool:
        """Whether the file may still have something that is gone."""
        return self._torn or bool(self._doomed)

    @property
    def wasteful(self) -> bool:
        """Whether writing the file anew would pay."""
        return self._size > _LEAST and self._alive * 2 < self._size

    def flush(self) -> None:
        """Write and sync what was collected. Blocks; on OSError what could not be written is not kept.

        What is gone is gone from a full disk, too: see `owes`.
        """
        with self._writing:
            if self._file < 0:
                return
            with self._lock:
                pending, doomed, made = self._pending, self._doomed, self._placed(self._pending)
                self._pending, self._doomed = {}, []
            try:
                if made or doomed or self._torn:
                    self._write(made, doomed)
            except OSError:
                self._give_up(pending)
                self._strike_out(doomed)
                raise

    def _placed(self, pending: dict[int, bytes]) -> list[bytes]:
        """Parts one behind the other, from where the file ends."""
        made, at = [], self._size
        for key, body in pending.items():
            span = self._places[key] = parts.Span(key, at, len(body))
            made.append(parts.part_of(self._mark, key, body, at))
            self._alive += span.length
            at = span.end
        return made

    def _give_up(self, pending: dict[int, bytes]) -> None:
        """Entries that could not be written are not kept."""
        with self._lock:
            for key in pending:
                span = self._places.pop(key, None)
                if span is not None:  # else it went meanwhile, or is another by now
                    self._alive -= span.length
            self._doomed = [span for span in self._doomed if span.at < self._size]

    def _strike_out(self, doomed: list[parts.Span]) -> None:
        """Overwrite entries in place, since the disk takes nothing more; if that fails, too, it is done later."""
        if doomed:
            try:
                self._write([], doomed)
            except OSError:
                with self._lock:
                    self._doomed = doomed + self._doomed

    def clear(self) -> None:
        """Forget everything; needs no room on the disk. Blocks; on OSError what was collected still waits."""
        with self._writing, self._lock:
            if self._file >= 0:
                try:
                    os.ftruncate(self._file, parts.HEAD)
                    os.fsync(self._file)
                except OSError:
                    self._begin_anew()
                self._size, self._torn = parts.HEAD, False
            self._pending, self._places, self._alive, self._doomed = {}, {}, 0, []

    def _begin_anew(self) -> None:
        """Replace a file that cannot even be truncated by a new one; a file that is another process's by now stays."""
        if not self._deleted():
            self.path.unlink()
        file, mark = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), parts.new_mark()
        try:
            os.write(file, parts.MAGIC + mark)
            os.fsync(file)
        except OSError:
            os.close(file)
            self.path.unlink()
            raise
        os.close(self._file)
        self._file, self._mark = file, mark
        self._keep_name()

    def _write(self, made: Sequence[bytes], doomed: Sequence[parts.Span]) -> None:
        """Write and sync, or leave the file as long as it was."""
        at, view = self._size, memoryview(b"".join(made))
        try:
            if self._torn:
                self._cut()
            for span in doomed:
                os.pwrite(self._file, parts.death_of(self._mark, span), span.at)
            while view:
                written = os.pwrite(self._file, view, at)
                at, view = at + written, view[written:]
            os.fsync(self._file)
        except OSError:
            self._torn = True
            with suppress(OSError):
                self._cut()
            raise
        self._size = at

    def _cut(self) -> None:
        os.ftruncate(self._file, self._size)
        self._torn = False

    def rewrite(self) -> None:
        """Leave the dead behind, physically: the new file takes the old one's name when it is whole. Blocks."""
        self.flush()
        with self._writing:
            if self._file < 0:
                return  # closed meanwhile: the file may be another process's by now
            aside, mark = self.path.with_name(self.path.name + ".new"), parts.new_mark()
            aside.unlink(missing_ok=True)  # of a process that ended, or a link that leads elsewhere
            file = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            try:
                with open(os.dup(self._file), "rb", parts.AT_ONCE) as data:  # by the name it may be gone
                    spans = parts.copy_alive(data, file, mark)
                os.fsync(file)
                aside.rename(self.path)
            except OSError:
                os.close(file)
                aside.unlink(missing_ok=True)
                raise
            os.close(self._file)
            self._file, self._mark, self._torn = file, mark, False
            self._moved(spans)
            self._keep_name()

    def _moved(self, spans: dict[int, parts.Span]) -> None:
        """Everything stands elsewhere; what went meanwhile is to be struck out there."""
        with self._lock:
            self._size = max((span.end for span in spans.values()), default=parts.HEAD)
            self._doomed = [span for key, span in spans.items() if key not in self._places]
            self._places = {key: span for key, span in spans.items() if key in self._places}
            self._alive = sum(span.length for span in self._places.values())

    def _keep_name(self) -> None:
        """Else a machine that fails now comes back with the file that had the name before."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # not every file system can
                os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Release the file; what was not flushed is lost. Blocks: a thread may be writing still, for nobody."""
        with self._writing:
            self._release()

    def _release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
