"""A directory is written on, whatever becomes of the loop that wrote to it: it stands still, or stays with a parent."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, Source
from cachelayer.testing import WordEmbedder


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


def in_a_fork(work: Callable[[], object]) -> int:
    """Runs `work` in a child; its process id."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_a_worker_writes_whose_layer_was_made_before_it_was_forked_survives(tmp_path: Path) -> None:
    layer, ask = opened(tmp_path / "cache")
    child = in_a_fork(lambda: asyncio.run(written_by(layer, ask, "who sends invoices")))
    assert os.waitpid(child, 0)[1] == 0
    assert asyncio.run(survives(tmp_path / "cache", "who sends invoices"))
