"""A directory is written on, whatever becomes of the loop that wrote to it: it stands still, or stays with a parent."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked import in_a_fork

from cachelayer import CacheLayer, Source
from cachelayer.testing import WordEmbedder


class Disk:
    """Calls to fsync wait from `hold` to `go`."""

    _plain = staticmethod(os.fsync)

    def __init__(self) -> None:
        self.reached, self._may = threading.Event(), threading.Event()
        self._may.set()

    def __call__(self, file: int) -> None:
        if not self._may.is_set():
            self.reached.set()
            self._may.wait()
        self._plain(file)

    def hold(self) -> None:
        self._may.clear()

    def go(self) -> None:
        self._may.set()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk)
    return disk


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


async def answer(question: str) -> str:
    return f"all about {question}"


def opened(directory: Path) -> tuple[CacheLayer, Any]:
    layer = CacheLayer(index=directory, embedder=WordEmbedder())
    return layer, layer.wrap(answer, name="ask")


async def written_by(layer: CacheLayer, ask: Any, question: str) -> None:
    """What was answered survives from its flush on."""
    await layer.start()
    await ask(question)
    await layer.flush()


async def survives(directory: Path, question: str) -> bool:
    """Whether a process that dies now leaves the answer behind."""
    copy = directory.with_name("copy")
    shutil.copytree(directory, copy)
    later, ask = opened(copy)
    async with later:
        return (await ask.outcome(question)).source is Source.MEMORY


def held_while_writing(loop: asyncio.AbstractEventLoop, disk: Disk, begin: Coroutine[Any, Any, Any]) -> None:
    """`loop` stands still from the moment that the disk is waited for."""
    loop.run_until_complete(begin)
    loop.run_until_complete(asyncio.to_thread(disk.reached.wait))


def test_what_another_loop_answers_is_written_though_the_one_that_wrote_stands_still(
    tmp_path: Path, disk: Disk, loop: asyncio.AbstractEventLoop
) -> None:
    layer, ask = opened(tmp_path / "cache")
    loop.run_until_complete(layer.start())
    disk.hold()
    held_while_writing(loop, disk, ask("where is my parcel"))
    disk.go()
    asyncio.run(written_by(layer, ask, "who sends invoices"))
    assert asyncio.run(survives(tmp_path / "cache", "who sends invoices"))
    loop.run_until_complete(layer.aclose())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_a_worker_writes_whose_layer_was_made_before_it_was_forked_survives(tmp_path: Path) -> None:
    layer, ask = opened(tmp_path / "cache")
    child = in_a_fork(lambda: asyncio.run(written_by(layer, ask, "who sends invoices")))
    assert os.waitpid(child, 0)[1] == 0
    assert asyncio.run(survives(tmp_path / "cache", "who sends invoices"))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_of_a_layer_in_use_says_that_it_keeps_nothing_in_the_directory(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    layer, ask = opened(tmp_path / "cache")
    loop.run_until_complete(layer.start())

    def tells() -> None:
        asyncio.run(written_by(layer, ask, "who sends invoices"))
        assert (
            "forked from" in layer.stats()["elsewhere"]["failure"] and "make a layer in each" in caplog.text
        )

    assert os.waitpid(in_a_fork(tells), 0)[1] == 0
    assert not layer.stats()["elsewhere"]["failure"]
    loop.run_until_complete(layer.aclose())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_that_comes_into_its_directory_writes_to_it_though_its_parent_was_writing(
    tmp_path: Path, disk: Disk, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, ask = opened(tmp_path / "cache")
    loop.run_until_complete(layer.start())
    disk.hold()
    held_while_writing(loop, disk, ask("where is my parcel"))
    let, free = os.pipe()

    def in_its_turn() -> None:
        monkeypatch.undo()
        os.read(let, 1)
        asyncio.run(layer.aclose())
        asyncio.run(written_by(layer, ask, "who sends invoices"))

    child = in_a_fork(in_its_turn)
    disk.go()
    loop.run_until_complete(layer.aclose())
    os.write(free, b"!")
    assert os.waitpid(child, 0)[1] == 0
    assert asyncio.run(survives(tmp_path / "cache", "who sends invoices"))
