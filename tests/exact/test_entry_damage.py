"""A log of entries, damaged at every place and in every way that disks know, brings nothing back that is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from full_disk import full_disk

from cachelayer.exact.wire.entry_body import Kept, kept_of
from cachelayer.exact.wire.entry_log import EntryLog
from cachelayer.exact.wire.entry_parts import HEAD, MAGIC, body_at, scan
from cachelayer.types import Findable, Record


def put(log: EntryLog, number: int, size: int = 40) -> None:
    key = number.to_bytes(16, "big")
    record = Record(key, b"asked", bytes([number]) * size, 0.0, 1e12, 1e12)
    log.put(number, Findable(key, b"asked", b"p", "ask", f"q {number}", 1e12), record)


def filled(path: Path) -> tuple[bytes, bytes, dict[int, Kept]]:
    """A log as it was before anything went, as it is then, and what is alive in it."""
    log = EntryLog(path)
    log.load()
    for number in range(1, 8):
        put(log, number)
    log.flush()
    before = path.read_bytes()
    for number in (1, 4, 7):
        log.drop(number)
    log.flush()
    log.close()
    return before, path.read_bytes(), {number: one for number, one in read(path).items() if one}


def read(path: Path) -> dict[int, Kept]:
    log = EntryLog(path)
    kept = log.load()
    log.close()
    return {entry.id: entry for entry in kept}


def damaged(data: bytes, before: bytes, way: str) -> Iterator[bytes]:
    size = len(data)
    for at in range(0, size, 1 if way == "a byte" else 7):
        match way:
            case "a byte":
                for flip in (1, 2, 4, 8, 16, 20, 32, 64, 128, 255):
                    yield data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
            case "cut short":
                yield data[:at]
            case "zeros":
                yield from ((data[:at] + bytes(width) + data[at + width :])[:size] for width in (8, 20, 200))
            case "older bytes elsewhere":
                for start in {*range(0, size, 31)} - {at}:
                    block = before[start : start + 260]
                    yield (data[:at] + block + data[at + len(block) :])[:size]
            case "a block too many":
                yield data[:at] + before[at // 2 + 1 : at // 2 + 261] + data[at:]
            case "a block too few":
                yield data[:at] + data[at + 50 :]


WAYS = ("a byte", "cut short", "zeros", "older bytes elsewhere", "a block too many", "a block too few")


@pytest.mark.parametrize("way", WAYS)
def test_what_is_gone_stays_gone_and_nothing_is_another_than_it_was(tmp_path: Path, way: str) -> None:
    """A damaged length hid all that stood behind it, and a damaged id the death that it named."""
    path = tmp_path / "entries"
    before, data, alive = filled(path)
    assert sorted(alive) == [2, 3, 5, 6]
    for sick in damaged(data, before, way):
        found = scan(file := BytesIO(sick))
        kept = {number: kept_of(number, body_at(file, span)) for number, span in found.alive.items()}
        assert kept.items() <= alive.items() and not found.doubled
        assert found.damaged or found.whole < len(sick) or len(kept) == 4 or way == "cut short", "it is told"
        if way == "a byte" and found.mark == data[len(MAGIC) : HEAD]:
            assert len(kept) >= 3, "a byte costs one entry at most"


def test_what_could_not_be_read_once_is_not_read_another_time(tmp_path: Path) -> None:
    """What is declared invalid meanwhile would be back as soon as the disk gives the right bytes again."""
    path = tmp_path / "entries"
    _, data, alive = filled(path)
    at = data.index(bytes([3]) * 40)
    path.write_bytes(data[:at] + b"damaged" + data[at + 7 :])
    assert sorted(read(path)) == [2, 5, 6]
    healed = path.read_bytes()
    assert b"damaged" not in healed and bytes([3]) * 33 not in healed
    assert read(path) == {number: one for number, one in alive.items() if number != 3}


def test_what_is_gone_is_gone_from_a_full_disk_and_the_rest_stays(tmp_path: Path) -> None:
    """All answers went with it, since its death was one more thing to be written."""
    path = tmp_path / "entries"
    _, data, _ = filled(path)
    log = EntryLog(path)
    log.load()
    with full_disk(len(data)):
        put(log, 9)
        log.drop(2)
        with pytest.raises(OSError, match="File too large"):
            log.flush()
        assert not log.owes and not log.due
        assert sorted(read_as_it_is(path)) == [3, 5, 6]
    put(log, 10)
    log.flush()
    log.close()
    assert sorted(read(path)) == [3, 5, 6, 10]


def read_as_it_is(path: Path) -> dict[int, Kept]:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    return read(copy)


def test_what_goes_while_it_is_being_written_is_struck_out_where_it_stands(tmp_path: Path) -> None:
    class Meanwhile(EntryLog):
        def _write(self, made: object, doomed: object) -> None:
            if made:
                self.drop(8)
                put(self, 9, 50)
            super()._write(made, doomed)  # type: ignore[arg-type]

    path = tmp_path / "entries"
    filled(path)
    log = Meanwhile(path)
    log.load()
    put(log, 8)
    put(log, 9)
    log.flush()
    assert log.owes
    log._write = EntryLog._write.__get__(log)  # type: ignore[method-assign]
    log.rewrite()
    log.close()
    kept = read(path)
    assert sorted(kept) == [2, 3, 5, 6, 9] and len(kept[9].record.payload) == 50


def test_a_death_that_the_disk_refused_waits_and_is_told_as_owed(tmp_path: Path) -> None:
    path = tmp_path / "entries"
    filled(path)
    log = EntryLog(path)
    log.load()
    sound, unwritable = os.dup(log._file), os.open(path, os.O_RDONLY)
    os.dup2(unwritable, log._file)
    log.drop(2)
    with pytest.raises(OSError, match="Bad file descriptor"):
        log.flush()
    assert log.owes
    os.dup2(sound, log._file)
    log.flush()
    assert not log.owes
    log.close()
    for file in (sound, unwritable):
        os.close(file)
    assert sorted(read(path)) == [3, 5, 6]
