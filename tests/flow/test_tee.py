"""A plain generator shared by threads: who joins has all of it, or is told that it has not."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cachelayer import CacheLayer
from cachelayer.flow.reentrancy import Alone
from cachelayer.flow.tee import Tee


def shared(source: Iterator[Any]) -> Tee:
    def freeze(chunk: Any) -> Any:
        return SimpleNamespace(nbytes=1, answer=lambda: chunk)

    def nothing(*_: Any) -> None: ...

    return Tee(source, freeze=freeze, limit=99, finish=nothing, oversize=nothing, closed=nothing)


def test_a_stream_that_all_have_left_is_nobodys_answer() -> None:
    """Its beginning would pass for the whole of it."""
    tee = shared(iter("abc"))
    only = tee.reader()
    assert next(only) == "a" and tee.complete
    only.close()  # type: ignore[attr-defined]
    assert not tee.complete
    with pytest.raises(Alone):
        tee.reader()


def test_a_stream_whose_beginning_is_gone_is_not_begun_in_its_middle() -> None:
    tee = shared(iter(range(200)))  # more than is kept
    only = tee.reader()
    assert [next(only) for _ in range(101)] == list(range(101)) and not tee.complete
    with pytest.raises(Alone):
        tee.reader()
    assert list(only) == list(range(101, 200))


def test_a_reader_that_is_dropped_unread_leaves_as_any_other() -> None:
    closed = []

    def source() -> Iterator[str]:
        yield "a"

    tee = Tee(
        source(),
        freeze=str,  # type: ignore[arg-type]
        limit=99,
        finish=lambda chunks, returned: closed.append(chunks),
        oversize=list,
        closed=lambda: closed.append("left"),
    )
    tee.reader()
    assert closed == ["left"] and not tee.complete


def test_who_joins_while_another_waits_for_the_source_has_it_though_the_other_leaves() -> None:
    waits, go = threading.Event(), threading.Event()

    def source() -> Iterator[str]:
        waits.set()
        go.wait()
        yield from "abc"

    tee = shared(source())
    first, got = tee.reader(), []
    leaver = threading.Thread(target=lambda: (got.append(next(first)), first.close()))  # type: ignore[attr-defined]
    leaver.start()
    waits.wait()
    second = tee.reader()
    go.set()
    leaver.join()
    assert got == ["a"] and list(second) == ["a", "b", "c"]


def test_what_is_recorded_is_there_for_who_comes_late_while_another_waits_for_the_source() -> None:
    waits, go = threading.Event(), threading.Event()

    def source() -> Iterator[str]:
        yield from "ab"
        waits.set()
        go.wait()
        yield "c"

    tee = shared(source())
    first, late, got = tee.reader(), tee.reader(), list[str]()
    leader = threading.Thread(target=lambda: got.extend(first))
    leader.start()
    waits.wait()
    reading = threading.Thread(target=lambda: got.extend([next(late), next(late)]), daemon=True)
    reading.start()
    reading.join(30)
    there = list(got)
    go.set()
    leader.join()
    assert there == ["a", "b", "a", "b"] and list(late) == ["c"]


def test_a_chunk_is_there_for_all_who_wait_for_it_before_the_next_one_is_waited_for() -> None:
    go, had = threading.Semaphore(0), [threading.Semaphore(0), threading.Semaphore(0)]

    def source() -> Iterator[int]:
        for n in range(20):
            assert go.acquire(timeout=30)
            yield n

    def read(reader: Iterator[int], each: threading.Semaphore) -> None:
        for _ in reader:
            each.release()

    tee = shared(source())
    threads = [threading.Thread(target=read, args=(tee.reader(), each)) for each in had]
    for thread in threads:
        thread.start()
    there = []
    for _ in range(20):
        go.release()
        there += [each.acquire(timeout=5) for each in had]  # though the source gives no more yet
    go.release()
    for thread in threads:
        thread.join()
    assert all(there)


def test_a_stream_that_the_collector_drops_at_any_moment_holds_nobody_up() -> None:
    """One that was left in a cycle, as tracebacks make them, is closed in the middle of what allocates."""
    layer, done = CacheLayer(semantic=False), threading.Event()

    @layer.cached
    def stream(question: int) -> Iterator[int]:
        yield from range(5)

    def left(question: int) -> None:
        reader = stream(question)
        next(reader)
        cycle: list[Any] = [reader]
        cycle.append(cycle)

    def asked() -> None:
        for at in range(1, 150):  # the allocation at which the collector comes
            gc.disable()
            gc.collect()
            left(at)
            gc.set_threshold(gc.get_count()[0] + at)
            gc.enable()
            next(stream(-at))
        done.set()

    before = gc.get_threshold()
    gc.freeze()
    try:
        threading.Thread(target=asked, daemon=True).start()
        assert done.wait(30)
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
        gc.enable()
