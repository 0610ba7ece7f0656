"""The directory of a persistent index: a lock, a manifest, a snapshot, and journals.

The manifest names the generation that counts. Snapshot g holds what came before journal g; a journal g+1 beside
it belongs to a snapshot that was begun and never finished, and is read after journal g.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .journal import Journal, Replay
from .packed import PackedIndex
from .snapshot import Corrupt, read_snapshot, whole_file, write_snapshot

TAKEN = "another process, or another layer of this one, keeps its index there"
_NOTHING, _OTHER = "nothing there", "made for another model"


@dataclass(frozen=True, slots=True)
class Left:
    """Where a directory was left off: the generation, and the bytes and records of its journal."""

    generation: int
    size: int
    count: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found: entries kept, bytes that did not check, and why a start was empty ('' if not)."""

    entries: int
    lost: int
    reason: str


class IndexFiles:
    """The files of one index. Every method blocks for the disk and may raise OSError."""

    def __init__(self, directory: Path, identity: str, dimension: int) -> None:
        self.directory = directory
        self.snapshot_size = 0
        self._identity, self._dimension = identity, dimension
        self._generation = 0
        self._gap = False
        """Whether events were lost before this generation's journal."""
        self._guard: Any = None

    @property
    def taken(self) -> bool:
        """Whether the directory is ours."""
        return self._guard is not None

    @property
    def astray(self) -> bool:
        """Whether the directory was taken away while it was ours: by its name it is nobody's, or another's."""
        try:
            lock = os.stat(self.directory / "lock")
        except (FileNotFoundError, NotADirectoryError):
            return self.taken
        return self.taken and not os.path.samestat(os.fstat(self._guard.fileno()), lock)

    def reclaim(self) -> None:
        """Own what has the directory's name, where it was taken away; OSError where another process does."""
        if not self.astray:
            return
        guard, self._guard = self._guard, None
        try:
            self.take()
        except BlockingIOError as fault:
            self._guard = guard
            raise OSError(errno.EBUSY, TAKEN) from fault
        except OSError:
            self._guard = guard
            raise
        guard.close()
        self._generation = max([self._generation, *map(_number, self.directory.glob("*-*"))])

    def take(self) -> None:
        """Own the directory; BlockingIOError where another process does."""
        for folder in (self.directory.parent, self.directory):  # parents=True gives the last one the mode
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        guard = (self.directory / "lock").open("a")
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            guard.close()
            raise
        self._guard, self._gap = guard, False

    def release(self) -> None:
        """Let others own it."""
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    def restore(self, index: PackedIndex) -> tuple[Loaded, Journal]:
        """Fill `index` and give the journal to go on with."""
        reason = self._read_snapshot(index)
        if reason:
            lost = 0 if reason.startswith((_NOTHING, _OTHER)) else self._bytes()
            self._generation += 1
            for stale in self.directory.glob("journal-*"):
                stale.unlink()
            journal = self._new_journal()
            self._write_manifest("")
            self._sweep()
            return Loaded(0, lost, reason), journal
        lost, journal = self._replay(index)
        return Loaded(len(index), lost, ""), journal

    def _bytes(self) -> int:
        return sum(path.stat().st_size for path in self.directory.glob("*-*"))

    def left(self, journal: Journal) -> Left | None:
        """Where to go on after the directory was let go; None if not all is written."""
        return None if journal.pending else Left(self._generation, journal.size, journal.count)

    def rejoin(self, left: Left | None) -> Journal | None:
        """The journal to go on with, where nobody else wrote since; None if all is to be written anew."""
        self._generation = max([0, *map(_number, self.directory.glob("*-*"))])
        path = self._path("journal")
        if left is None or left.generation != self._generation or not path.exists():
            return None
        return Journal.reopen(path, left.size, left.count) if path.stat().st_size == left.size else None

    def next_journal(self, *, gap: bool) -> Journal:
        """The journal of the next generation, which `fold` makes the one that counts. `gap`: events before it are lost.

        While folding fails, each journal after a gap replaces the one before: a full disk is not filled with them.
        """
        self._generation += not (gap and self._gap)
        self._gap = gap
        return self._new_journal()

    def fold(self, index: PackedIndex) -> None:
        """Write all that `index` holds as the snapshot of this generation, and drop what came before."""
        path = self._path("snapshot")
        self._write_manifest(write_snapshot(path, list(index.export()), self._dimension))
        self.snapshot_size, self._gap = path.stat().st_size, False
        self._sweep()

    def clear(self) -> None:
        """Delete all of it; what is held is written with the next snapshot. What is another process's stays."""
        if self.astray:
            return
        (self.directory / "manifest.json").unlink(missing_ok=True)
        for path in self.directory.glob("*-*"):
            path.unlink(missing_ok=True)

    def _read_snapshot(self, index: PackedIndex) -> str:
        """Why nothing could be read, or ''."""
        try:
            manifest = json.loads((self.directory / "manifest.json").read_text())
            self._generation = int(manifest["generation"])
            identity, dimension = manifest["identity"], manifest["dimension"]
            digest = manifest["snapshot"]
        except FileNotFoundError:
            return _NOTHING
        except (ValueError, KeyError, TypeError) as fault:
            self._generation = max([0, *map(_number, self.directory.glob("*-*"))])
            return f"the manifest is damaged: {fault}"
        if (identity, dimension) != (self._identity, self._dimension):
            return f"{_OTHER}: {identity}, {dimension} dimensions"
        if not digest:
            return ""
        path = self._path("snapshot")
        try:
            for key, ids, vectors in read_snapshot(path, self._dimension, digest):
                index.adopt(key, ids, vectors)
        except (Corrupt, FileNotFoundError) as fault:
            return str(fault)
        self.snapshot_size = path.stat().st_size
        return ""

    def _replay(self, index: PackedIndex) -> tuple[int, Journal]:
        lost = 0
        while True:
            path = self._path("journal")
            replay = Replay(path, self._generation, self._dimension, self._identity)
            for partition, ids, vectors in replay:
                if vectors is None:
                    index.remove(ids)
                else:  # a snapshot is written while events go on: it may hold some of them already
                    fresh = [i for i, key in enumerate(ids.tolist()) if key not in index]
                    if fresh:
                        index.add(partition, ids[fresh], vectors[fresh])
            lost += replay.lost
            later = self.directory / f"journal-{self._generation + 1}"
            if replay.lost or not later.exists():
                break
            self._generation += 1
        for path_after in self.directory.glob("journal-*"):
            if _number(path_after) > self._generation:  # what follows a gap is out of order
                lost += path_after.stat().st_size
                path_after.unlink()
        if replay.size:
            return lost, Journal.reopen(path, replay.size, replay.count)
        path.unlink(missing_ok=True)
        return lost, self._new_journal()

    def _new_journal(self) -> Journal:
        path = self._path("journal")
        path.unlink(missing_ok=True)
        return Journal(path, self._generation, self._dimension, self._identity)

    def _write_manifest(self, digest: str) -> None:
        content = {
            "version": 1,
            "identity": self._identity,
            "dimension": self._dimension,
            "generation": self._generation,
            "snapshot": digest,
        }
        with whole_file(self.directory / "manifest.json") as file:
            file.write(json.dumps(content, indent=1).encode())

    def _sweep(self) -> None:
        """Delete what earlier generations left."""
        for path in self.directory.glob("*-*"):
            if _number(path) < self._generation:
                path.unlink(missing_ok=True)

    def _path(self, kind: str) -> Path:
        return self.directory / f"{kind}-{self._generation}"


def _number(path: Path) -> int:
    """The generation in a file's name; -1 where there is none."""
    part = path.name.split("-")[1].removesuffix(".new")
    return int(part) if part.isdigit() else -1
