"""Another embedding model: both serve while entries are embedded anew, and their vectors never meet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from same_words import SameWords

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy, Reason, Source
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Embedded


class Slow(WordEmbedder):
    """Embeds batches when it is told to."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.go = asyncio.Event()
        self.asked = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked.set()
        await self.go.wait()
        return await super().embed(texts)


def make() -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=Budgets(embed=20, search=20, verify=20))
    return CacheLayer(policy=policy, embedder=WordEmbedder(64), verifier=SameWords())


async def test_answers_go_on_while_everything_is_embedded_anew() -> None:
    layer, gate = make(), Gate(opened=True)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        for number in range(20):
            await ask(f"where is parcel {number}")
        await layer.flush()
        new = Slow(96)
        change = asyncio.create_task(layer.change_model(new))
        await new.asked.wait()
        assert (await ask.outcome("parcel 7 where is")).source is Source.INDEX
        await ask("a violin made meanwhile")
        await layer.flush()
        new.go.set()
        assert await change == 21
        calls = gate.calls
        for question in ("parcel 8 where is", "made a violin meanwhile"):
            assert (await ask.outcome(question)).source is Source.INDEX
        assert gate.calls == calls
        assert layer._similar is not None and layer._similar.embedder.identity == "words-96"


async def test_what_is_dropped_meanwhile_is_no_neighbour_afterwards() -> None:
    layer = make()
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        new = Slow(96)
        change = asyncio.create_task(layer.change_model(new))
        await new.asked.wait()
        await layer.invalidate(tags=["kb"])
        new.go.set()
        assert await change == 0
        assert (await ask.outcome("my parcel where is")).source is Source.BACKEND


async def test_a_model_that_fails_changes_nothing() -> None:
    class Broken(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            raise OSError("gone")

    layer = make()
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        with pytest.raises(OSError, match="gone"):
            await layer.change_model(Broken(96))
        assert (await ask.outcome("my parcel where is")).source is Source.INDEX


async def test_it_says_when_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="start"):
        await make().change_model(WordEmbedder(96))
    with pytest.raises(ConfigurationError, match="Embedder"):
        await make().change_model("gpt")  # type: ignore[arg-type]
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())
    async with layer:
        with pytest.raises(ConfigurationError, match="restart"):
            await layer.change_model(WordEmbedder(96))


@pytest.mark.parametrize("question", ["parcel my where is", "a violin is where"])
async def test_a_request_whose_vector_is_the_old_model_s_is_not_compared_with_the_new_one_s(
    question: str,
) -> None:
    old = Slow(64)
    old.go.set()
    budgets = Budgets(embed=20, search=20, verify=20)
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=budgets)
    async with CacheLayer(policy=policy, embedder=old, verifier=SameWords()) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("where is my parcel")
        await layer.flush()
        old.go.clear()
        old.asked.clear()
        asking = asyncio.create_task(ask.outcome(question))
        await old.asked.wait()
        await layer.change_model(WordEmbedder(64))
        old.go.set()
        outcome = await asking
        assert (outcome.source, outcome.misses["similar"]) == (Source.BACKEND, Reason.WARMING)
        await layer.flush()
        assert not layer.stats()["faults"]
        assert (await ask.outcome("is where my parcel")).source is Source.INDEX
