"""An answer that leaves memory while it is made findable by meaning leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from held_model import Slow

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.answers import as_learned
from cachelayer.semantic.asks import Ask
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.testing import Gate

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
