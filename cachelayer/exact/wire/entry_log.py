"""Entries on disk, for one process: an append-only file of what was kept and what is gone, each part checksummed.

A part that does not check is never believed: at the end it is torn, and cut; before others it is damaged, and passed
over, since what is gone may stand behind it. What is dead is left behind when the file is written anew.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from struct import Struct
from typing import BinaryIO

import xxhash

from ...types import Findable, Record
from .entry_body import Kept, body_of, kept_of

_KIND = b"CLENTR"
_MAGIC = _KIND + b"01"
_PART = Struct("<IQ")
"""Length of the body, id of the entry; a body of length 0 says that it is gone."""
_SUM = Struct("<Q")
_AT_ONCE = 2**20
"""Bytes read and written at once: a whole file in memory would be twice as much again as all that is kept there."""
Spans = dict[int, tuple[int, int]]
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
        self._live: dict[int, int] = {}
        """Bytes of what is alive, by id."""
        self._size = self._alive = 0
        self._latest = 0  # the highest id in the file
        self._torn = False  # whether what could not be written may stand behind what counts
        self._file = -1
        self._lock = threading.Lock()
        """Held to collect; never while the disk is waited for."""
        self._writing = threading.Lock()

    def reset(self) -> None:
        """Let the file be: after a fork the parent writes it."""
        self._release()
        self._pending, self._lock, self._writing = {}, threading.Lock(), threading.Lock()

    def load(self) -> list[Kept]:
        """Open the file, cut what is torn, and read what is alive, oldest first. Blocks."""
        self.close()
        kept: list[Kept] = []
        alive: Spans = {}
        whole = self.lost = 0
        self.aside = ""
        if self.path.exists():
            with self.path.open("rb", _AT_ONCE) as data:
                whole, alive, damaged = _scan(data)
                kept = [entry for key, span in alive.items() if (entry := kept_of(key, _read(data, span)))]
                self.lost = data.seek(0, os.SEEK_END) - whole + damaged
                data.seek(0)
                ours = _MAGIC.startswith(data.read(len(_MAGIC)))
            if not ours:
                self._set_aside()
        self._file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        if whole < len(_MAGIC):
            os.ftruncate(self._file, 0)
            whole = os.write(self._file, _MAGIC)
        os.ftruncate(self._file, whole)
        self._size = whole
        self._live = {key: end - start for key, (start, end) in alive.items()}
        self._alive, self._latest, self._torn = sum(self._live.values()), max(alive, default=0), False
        return kept

    def _set_aside(self) -> None:
        """Another program's file, or a newer format's, goes out of the way and stays whole."""
        place = (self.path.with_name(f"{self.path.name}.unread-{n}") for n in count(1))
        free = next(path for path in place if not path.exists())
        self.path.rename(free)
        self.aside = free.name

    def erase_unread(self) -> None:
        """Remove what was set aside of other versions of ours: nobody here can tell whose it is. Blocks."""
        for path in self.path.parent.glob(f"{self.path.name}.unread-*"):
            with path.open("rb") as data:
                ours = data.read(len(_KIND)) == _KIND
            if ours:
                path.unlink()

    def put(self, key: int, findable: Findable, record: Record) -> None:
        """Keep an entry under `key`, from the next flush on."""
        body = body_of(findable, record)
        with self._lock:
            self._pending[key] = _part(key, body)
            self._alive += len(body) - self._live.get(key, 0)
            self._live[key] = len(body)

    def drop(self, key: int) -> None:
        """An entry is gone; nothing where it is not here."""
        with self._lock:
            size = self._live.pop(key, None)
            if size is not None:
                self._alive -= size
                self._pending[key] = _part(key, b"")

    def ids(self) -> list[int]:
        """Of all entries that are kept, or were when the file was closed."""
        with self._lock:
            return list(self._live)

    @property
    def astray(self) -> bool:
        """Whether the file was deleted under its writer."""
        return self._file >= 0 and os.fstat(self._file).st_nlink == 0

    @property
    def due(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._pending)

    @property
    def wasteful(self) -> bool:
        """Whether writing the file anew would pay."""
        return self._size > _LEAST and self._alive * 2 < self._size

    def flush(self) -> None:
        """Write and sync what was collected. Blocks; on OSError the file is as before, and what it lost is not kept."""
        with self._writing:
            with self._lock:
                pending, self._pending = self._pending, {}
            if not (pending or self._torn) or self._file < 0:
                return
            try:
                if self._torn:
                    self._cut()
                self._append(b"".join(pending.values()))
            except OSError:
                self._give_up(pending)
                raise
            self._latest = max(self._latest, *pending, 0)

    def _give_up(self, pending: dict[int, bytes]) -> None:
        """Entries that could not be written are not kept; deaths must be written sooner or later."""
        with self._lock:
            for key, part in pending.items():
                if len(part) != _PART.size + _SUM.size and key not in self._pending:
                    self._alive -= self._live.pop(key, 0)
                if key <= self._latest:  # it, or an older version of it, may be in the file
                    self._pending.setdefault(key, _part(key, b""))

    def clear(self) -> None:
        """Forget everything; needs no room on the disk. Blocks; on OSError what was collected still waits."""
        with self._writing, self._lock:
            if self._file >= 0:
                try:
                    os.ftruncate(self._file, len(_MAGIC))
                    os.fsync(self._file)
                except OSError:
                    self._begin_anew()
                self._size, self._torn = len(_MAGIC), False
            self._pending, self._live, self._alive = {}, {}, 0

    def _begin_anew(self) -> None:
        """In the place of a file that cannot even be cut; one that is another process's by now stays."""
        if not self.astray:
            self.path.unlink()
        file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            os.write(file, _MAGIC)
            os.fsync(file)
        except OSError:
            os.close(file)
            self.path.unlink()
            raise
        os.close(self._file)
        self._file = file
        self._keep_name()

    def _append(self, data: bytes) -> None:
        """Write and sync, or leave the file as it was."""
        at, view = self._size, memoryview(data)
        try:
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
            aside = self.path.with_name(self.path.name + ".new")
            file = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)
            try:
                with open(os.dup(self._file), "rb", _AT_ONCE) as data:  # by the name it may be gone
                    size = _write_alive(file, data)
                os.fsync(file)
                aside.rename(self.path)
            except OSError:
                os.close(file)
                aside.unlink(missing_ok=True)
                raise
            os.close(self._file)
            self._file, self._size, self._torn = file, size, False
            self._keep_name()

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


def _part(key: int, body: bytes) -> bytes:
    head = _PART.pack(len(body), key) + body
    return head + _SUM.pack(xxhash.xxh3_64_intdigest(head))


def _scan(data: BinaryIO) -> tuple[int, Spans, int]:
    """Where the last part that checks ends; where the bodies of what is alive lie, by id, oldest first; and how many
    bytes before that end do not check."""
    alive: Spans = {}
    size = data.seek(0, os.SEEK_END)
    data.seek(0)
    if data.read(len(_MAGIC)) != _MAGIC:
        return 0, alive, 0
    at = whole = len(_MAGIC)
    damaged = 0
    while size >= at + _PART.size + _SUM.size:
        head = data.read(_PART.size)
        length, key = _PART.unpack(head)
        start, end = at + _PART.size, at + _PART.size + length
        if size < end + _SUM.size:
            break
        found = xxhash.xxh3_64(head)
        found.update(data.read(length))
        at = end + _SUM.size
        alive.pop(key, None)
        if _SUM.unpack(data.read(_SUM.size))[0] != found.intdigest():
            continue
        damaged += start - _PART.size - whole
        whole = at
        if length:
            alive[key] = start, end
    return whole, alive, damaged


def _write_alive(file: int, data: BinaryIO) -> int:
    """Write what is alive in `data`; how many bytes that are."""
    with open(file, "wb", _AT_ONCE, closefd=False) as out:
        size = out.write(_MAGIC)
        for start, end in _scan(data)[1].values():
            data.seek(start - _PART.size)
            size += out.write(data.read(_PART.size + end - start + _SUM.size))
    return size


def _read(data: BinaryIO, span: tuple[int, int]) -> bytes:
    start, end = span
    data.seek(start)
    return data.read(end - start)
