"""An answer that leaves memory while it is made findable by meaning leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from held_model import Slow

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.answers import as_learned
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.types import Ask
from cachelayer.testing import Gate, WordEmbedder

PROSE = "hold the only button for as long as it takes until the light has blinked two times"


@pytest.mark.parametrize(
    "leave",
    [
        lambda layer, ask: layer.erase(tenant="acme"),
        lambda layer, ask: layer.invalidate(tags=["hub"]),
        lambda layer, ask: ask.invalidate("reset it"),
    ],
    ids=["tenant", "tag", "call"],
)
async def test_an_answer_that_left_while_it_was_read_is_not_held_by_what_finds_it(
    leave: Callable[[CacheLayer, Any], Awaitable[Any]],
) -> None:
    """Its question and its text stayed for as long as the process ran, an erased tenant's, too."""
    model = Slow(about="button")
    async with CacheLayer(embedder=model, policy=Policy(max_error_rate=0.05)) as layer:
        ask = layer.wrap(Gate(lambda question: PROSE, opened=True), name="ask", tags=["hub"])
        with layer.scope(tenant="acme"):
            await ask("reset it")
            await model.asked.wait()
            await leave(layer, ask)
        assert layer._similar is not None and layer._similar.index is not None
        model.go.set()
        await layer.flush()
        assert not layer._similar.entries and len(layer._similar.index) == 0


@pytest.mark.parametrize(
    "now", [{"max_bytes": 65_536}, {"semantic": False}], ids=["no room for it", "its function compares words"]
)
async def test_no_vector_outlives_the_entry_that_a_restart_does_not_make_findable(
    tmp_path: Path, now: dict[str, Any]
) -> None:
    """It stood among the candidates, and an erasure left it on the disk."""

    def opened(**policy: Any) -> tuple[CacheLayer, Any]:
        settings = Policy(max_error_rate=0.05, shadow=0)
        layer = CacheLayer(index=tmp_path, embedder=WordEmbedder(), policy=settings)
        return layer, layer.wrap(Gate(lambda question: PROSE * 30, opened=True), name="ask", **policy)

    layer, ask = opened()
    async with layer:
        for number in range(40):
            await ask(f"how do I reset the w{number}")
    layer, ask = opened(**now)
    async with layer:
        assert layer._similar is not None and layer._similar.index is not None
        await layer._similar.forget_texts()  # drops the vectors of what is gone now
        assert len(layer._similar.index) == len(layer._similar.entries) < 40
        await layer.erase()
        assert len(layer._similar.index) == 0
    vectors = (tmp_path / "vectors").iterdir()
    assert sum(file.stat().st_size for file in vectors) < 40 * 64 * 4


async def test_the_decider_remembers_no_answer_that_was_being_read_when_texts_were_forgotten() -> None:
    decider, model = EvidenceDecider(random=lambda: 0.5), Slow(about="button")
    ask = Ask("f", b"", "reset it", (), 0.05)
    for forget in (False, True):
        model.go.clear()
        model.asked.clear()
        learned = asyncio.ensure_future(as_learned(decider, model, f"{PROSE} {forget}", ask))
        await model.asked.wait()
        if forget:
            decider.forget_texts()
        model.go.set()
        await learned
        assert list(decider._voices) == ([] if forget else [f"{PROSE} {forget}"])
