"""A log of entries is read and written anew in pieces, whatever its length."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from cachelayer.exact.wire.entry_log import EntryLog
from cachelayer.exact.wire.entry_parts import HEAD
from cachelayer.types import Findable, Record

PAYLOAD = 20_000
MIB = 2**20


def put(log: EntryLog, number: int) -> None:
    key = number.to_bytes(16, "big")
    record = Record(key, b"asked", bytes([number % 256]) * PAYLOAD, 0.0, 1e12, 1e12)
    log.put(number, Findable(key, b"asked", b"p", "ask", f"q {number}", 1e12), record)


def peak(work: Callable[[], object]) -> int:
    """The most bytes that `work` held beside what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_leaving_the_dead_behind_takes_no_memory_for_the_file(tmp_path: Path) -> None:
    """It took more than four times what is alive, at once, beside what the memory of answers may take."""
    log = EntryLog(tmp_path / "entries")
    log.load()
    for number in range(1000):
        put(log, number)
        log.flush()
    for number in range(600):
        log.drop(number)
    assert log.wasteful
    log.flush()
    assert peak(log.rewrite) < 4 * MIB
    assert not log.wasteful and (tmp_path / "entries").stat().st_size < 9 * MIB
    put(log, 1000)
    log.flush()
    log.close()
    again = EntryLog(tmp_path / "entries")
    assert peak(again.load) < 12 * MIB
    kept = again.load()
    again.close()
    assert [entry.id for entry in kept] == [*range(600, 1000), 1000] and again.lost == 0
    assert all(entry.record.payload == bytes([entry.id % 256]) * PAYLOAD for entry in kept)
    assert kept[0].findable.text == "q 600"


class Slow(EntryLog):
    """Between its flush and what follows that, a rewriting waits."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.between, self.on = threading.Event(), threading.Event()

    def rewrite(self) -> None:
        self.flush = self._flushed  # type: ignore[method-assign]
        super().rewrite()

    def _flushed(self) -> None:
        EntryLog.flush(self)
        self.between.set()
        self.on.wait()


def test_a_rewriting_that_was_given_up_leaves_the_file_to_who_opens_it_next(tmp_path: Path) -> None:
    """It put the file that it had made in the place of the one that others were writing, and left that open."""
    log, faults = Slow(tmp_path / "entries"), []
    log.load()
    put(log, 1)

    def rewrite() -> None:
        try:
            log.rewrite()
        except OSError as fault:
            faults.append(fault)

    thread = threading.Thread(target=rewrite)
    thread.start()
    log.between.wait()
    log.close()
    other = EntryLog(tmp_path / "entries")
    other.load()
    log.on.set()
    thread.join()
    put(other, 2)
    other.flush()
    other.close()
    assert [entry.id for entry in other.load()] == [1, 2] and not faults
    other.close()


def test_whether_the_file_is_still_there_can_be_asked_while_another_takes_its_place(tmp_path: Path) -> None:
    """One in five failed with a bad file descriptor; whoever was to strike something out cleared the whole log then."""
    log, faults, done = EntryLog(tmp_path / "entries"), [], threading.Event()
    log.load()

    def ask() -> None:
        while not done.is_set():
            try:
                assert not log.astray
            except OSError as fault:
                faults.append(fault)

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(20):
        log.rewrite()
    done.set()
    thread.join()
    log.close()
    assert not faults


def test_a_damaged_entry_costs_itself_and_brings_nothing_back_that_was_dropped_behind_it(
    tmp_path: Path,
) -> None:
    """All that stood behind it was cut: answers, and also that one had been declared invalid."""
    path, log = tmp_path / "entries", EntryLog(tmp_path / "entries")
    log.load()
    for number in range(4):
        put(log, number)
        log.flush()
    log.drop(0)
    log.flush()
    log.close()
    data = bytearray(path.read_bytes())
    data[2 * PAYLOAD] ^= 0xFF  # in the second entry
    path.write_bytes(data + b"torn")
    again = EntryLog(path)
    for _ in range(2):
        assert [entry.id for entry in again.load()] == [2, 3]
        assert PAYLOAD < again.lost < 2 * PAYLOAD
        put(again, 9)
        again.flush()
        again.drop(9)
        again.rewrite()
        assert path.stat().st_size < 2 * PAYLOAD + 1000
        again.close()
        path.write_bytes(data + b"torn")


def test_a_log_that_is_cut_short_anywhere_gives_what_is_whole(tmp_path: Path) -> None:
    path, log = tmp_path / "entries", EntryLog(tmp_path / "entries")
    log.load()
    for number in range(2):
        put(log, number)
    log.flush()
    log.close()
    data = path.read_bytes()
    half = (len(data) - HEAD) // 2 + HEAD
    for size in (0, 7, 8, 9, HEAD, 20, half - 1, half, half + 1, half + 19, len(data) - 1):
        path.write_bytes(data[:size])
        assert [entry.id for entry in log.load()] == ([0] if size >= half else [])
        log.close()
        assert path.stat().st_size == (half if size >= half else HEAD)
