"""A log of entries is read and written anew in pieces, whatever its length."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

from cachelayer.exact.wire.entry_log import EntryLog
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
