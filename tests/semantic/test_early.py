"""Answers made while the model loads are found by meaning, and are on the disk, as soon as it serves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from held_model import Held

from cachelayer import CacheLayer, Reason, Source
from cachelayer.layer import engine_of
from cachelayer.semantic.types import State
from cachelayer.testing import WordEmbedder
from cachelayer.tiers.warming import MOST, Warming, Written

ASKED, AGAIN = "how do I reset the hub", "the hub: how do I reset"


def asking(layer: CacheLayer, **options: Any) -> Any:
    @layer.cached(name="ask", max_error_rate=0.9, shadow=0, **options)
    async def ask(question: str) -> str:
        return "Hold the button."

    return ask


def waiting(layer: CacheLayer) -> int:
    return len(engine_of(layer).tiers._warming._held)


async def loading(layer: CacheLayer, ask: Any) -> None:
    """One question, answered and written behind, before the model is there."""
    assert (await ask.outcome(ASKED)).misses["similar"] is Reason.WARMING
    assert await engine_of(layer).tiers.writeback.drain()


@pytest.mark.parametrize("started", [False, True], ids=["by the first lookup", "by start"])
async def test_it_is_found_by_meaning_from_then_on(started: bool) -> None:
    embedder = Held()
    layer = CacheLayer(embedder=embedder)
    ask = asking(layer)
    await loading(layer, ask)
    embedder.let.set()
    if started:
        await layer.start()
    await layer.flush()
    outcome = await ask.outcome(AGAIN)
    assert (outcome.source, outcome.match, waiting(layer)) == (Source.INDEX, "similar", 0)
    await layer.aclose()


async def test_it_is_on_the_disk_from_then_on(tmp_path: Path) -> None:
    embedder = Held()
    layer = CacheLayer(index=tmp_path, embedder=embedder)
    ask, count = asking(layer), layer.cached(len, name="count", key=str, semantic=False)
    await loading(layer, ask)
    assert await count.aio("abc") == 3
    embedder.let.set()
    await layer.flush()
    await layer.aclose()
    async with CacheLayer(index=tmp_path, embedder=WordEmbedder()) as later:
        ask, count = asking(later), later.cached(len, name="count", key=str, semantic=False)
        assert (await count.aio.outcome("abc")).source is Source.MEMORY
        assert (await ask.outcome(ASKED)).source is Source.MEMORY
        assert (await ask.outcome(AGAIN)).source is Source.INDEX


async def test_what_is_invalidated_meanwhile_is_let_go() -> None:
    embedder = Held()
    layer = CacheLayer(embedder=embedder)
    ask = asking(layer)
    await loading(layer, ask)
    assert waiting(layer) == 1
    assert await layer.erase() == 1 and waiting(layer) == 0
    embedder.let.set()
    await layer.flush()
    assert (await ask.outcome(AGAIN)).misses["similar"] is Reason.NO_CANDIDATE
    await layer.aclose()


async def test_what_is_never_compared_by_meaning_waits_for_no_model() -> None:
    layer = CacheLayer(embedder=Held())

    @layer.cached(max_error_rate=0)
    async def ask(question: str) -> str:
        return "Hold the button."

    await ask(ASKED)
    assert await engine_of(layer).tiers.writeback.drain()
    assert waiting(layer) == 0
    await layer.aclose()


def test_no_more_wait_than_may_and_nothing_that_left_memory() -> None:
    warming, loading = Warming(), cast(Any, SimpleNamespace(state=State.WARMING))

    def written(number: int, *, resident: bool = True) -> Written:
        return Written(cast(Any, None), cast(Any, SimpleNamespace(id=number, resident=resident)), made=True)

    assert not warming.holds(written(-1, resident=False), loading)
    assert [warming.holds(written(number), loading) for number in range(MOST + 1)] == [True] * MOST + [False]
    assert [item.slot.id for item in warming.take()] == [*range(MOST)] and not warming.take()
    loading.state = State.READY
    assert not warming.holds(written(0), loading) and not warming.holds(written(0), None)
