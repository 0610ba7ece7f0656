"""What is asked for behind the callers' backs while its tenant is erased leaves no text, and teaches nothing."""

from __future__ import annotations

from typing import Any

import pytest
from verifiers import SameWords

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.testing import Gate, WordEmbedder

FIRST = "where is my parcel?"


@pytest.mark.parametrize("again", ["parcel? is my where", "hi, where is my parcel"])
async def test_a_check_that_ends_after_the_erasure_of_its_tenant(again: str) -> None:
    gate = Gate(opened=True)
    verifier = SameWords() if again.startswith("parcel") else None
    policy = Policy(max_error_rate=0.05, shadow=1.0)
    layer = CacheLayer(embedder=WordEmbedder(), verifier=verifier, policy=policy)
    ask, quality = layer.wrap(gate, name="ask"), layer.quality()
    async with layer:
        with layer.scope(tenant="acme"):
            await ask(FIRST)
            await layer.flush()
            gate.close()
            assert (await ask.outcome(again)).match == "similar"
        while gate.calls < 2:
            await gate.entered()
        await layer.erase(tenant="acme")
        gate.open()
        await layer.flush()
        tier: Any = layer._similar
        assert isinstance(tier.embedder, CachedEmbedder) and not len(tier.embedder)
        (function,) = tier.decider._functions.values()
        assert function.labelled == 1 and not tier.decider._pending
    assert not quality._doubts and not ask.function.stats.shadow_verdicts


async def test_a_comparison_that_ends_after_the_erasure_of_its_tenant() -> None:
    gate, layer = Gate(), CacheLayer(semantic=False)
    ask = layer.wrap(Gate(opened=True), name="ask")
    compared = layer.compare(ask, gate, share=1.0)
    async with layer:
        with layer.scope(tenant="acme"):
            await ask(FIRST)
        await gate.entered()
        await layer.erase(tenant="acme")
        gate.open()
        await layer.flush()
    assert not compared.quality._doubts and compared.report()["different"] is None
