"""Concurrent embeds share calls where that helps, and the loop has work of its own meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from embedding_server import DIMENSION, hashed, hashed_all
from turns import turns

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.flow.batcher import Overloaded
from cachelayer.semantic.embed.batched import BatchedEmbedder
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.checks import incomplete
from cachelayer.semantic.embed.from_callable import CallableEmbedder
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.testing import WordEmbedder
from cachelayer.tiers.wiring import remembering
from cachelayer.types import Embedded, Reason


def wrap(function) -> CallableEmbedder:
    return CallableEmbedder(function, identity="hash", dimension=DIMENSION)


def direction(text: str) -> np.ndarray:
    return hashed(text) / 3


async def test_concurrent_embeds_become_one_call():
    batches: list[int] = []

    async def counted(texts: Sequence[str]) -> np.ndarray:
        batches.append(len(texts))
        return await hashed_all(texts)

    batched = BatchedEmbedder(wrap(counted))
    made = await asyncio.gather(*(batched.embed([str(i), f"{i}!"]) for i in range(8)))
    assert batches == [16]
    for i, one in enumerate(made):
        assert np.allclose(one.vectors, [direction(str(i)), direction(f"{i}!")], atol=1e-6)
    assert batched.stats()["mean"] == 8


async def test_one_bad_text_does_not_spoil_the_others_of_its_batch():
    async def picky(texts: Sequence[str]) -> np.ndarray:
        if "bad" in texts:
            raise OSError("refused")
        return await hashed_all(texts)

    batched = BatchedEmbedder(wrap(picky))
    made = await asyncio.gather(
        *(batched.embed([text]) for text in ("a", "bad", "b")), return_exceptions=True
    )
    assert isinstance(made[1], OSError)
    assert np.allclose(made[0].vectors[0], direction("a"), atol=1e-6)
    assert np.allclose(made[2].vectors[0], direction("b"), atol=1e-6)


class Forgetful(WordEmbedder):
    """Leaves out what it has no words for."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await super().embed([text for text in texts if text.isascii()])


@pytest.mark.parametrize("wrapper", [BatchedEmbedder, CachedEmbedder])
async def test_no_text_gets_another_one_s_vector_where_the_embedder_leaves_one_out(wrapper: type) -> None:
    embedder = wrapper(Forgetful())
    texts = ["\u65e5", "cancel it", "reset it"]
    if wrapper is CachedEmbedder:
        with pytest.raises(ValueError, match="one row and one mark per text"):
            await embedder.embed(texts)
    made = await asyncio.gather(*(embedder.embed([text]) for text in texts), return_exceptions=True)
    assert isinstance(made[0], ValueError)
    for one, text in zip(made[1:], texts[1:], strict=True):
        assert np.array_equal(one.vectors, (await WordEmbedder().embed([text])).vectors)


async def test_the_layer_batches_for_embedders_that_gain_by_it():
    class OneDevice(WordEmbedder):
        lanes = 1
        texts: ClassVar[list[int]] = []

        async def embed(self, texts: Sequence[str]) -> Embedded:
            self.texts.append(len(texts))
            return await super().embed(texts)

    patient = Policy(budgets=Budgets(embed="20s", search="20s", verify="20s"))
    layer = CacheLayer(embedder=OneDevice(), policy=patient)

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return question

    async with layer:
        OneDevice.texts.clear()
        await asyncio.gather(*(ask(f"question number {n}") for n in range(12)))
        await layer.flush()
    assert sum(OneDevice.texts) == 12 and max(OneDevice.texts) > 1


async def test_an_embedder_is_asked_by_as_many_calls_at_once_as_it_has_lanes() -> None:
    class Lanes(WordEmbedder):
        lanes = 3
        asked = 0
        all_in = asyncio.Event()

        async def embed(self, texts: Sequence[str]) -> Embedded:
            self.asked += 1
            if self.asked == self.lanes:
                self.all_in.set()
            await self.all_in.wait()
            return await super().embed(texts)

    embedder = remembering(Lanes())

    async def embed(text: str) -> None:
        await embedder.embed([text])

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for text in ("one", "two", "three"):
            group.create_task(embed(text))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # its batch has left


async def test_a_request_is_read_while_its_vector_is_made():
    read: list[str] = []

    class Watched(PairVerifier):
        def prepare(self, text: str) -> None:
            read.append(text)
            super().prepare(text)

    class Slow(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            while not read:
                await asyncio.sleep(0)
            seen.append(list(read))
            return await super().embed(texts)

    seen: list[list[str]] = []
    layer = CacheLayer(embedder=Slow(), verifier=Watched())

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return question

    async with layer:
        await ask("where is my parcel")
        await ask("word " * 1000)
        await layer.flush()
    assert seen == [["where is my parcel"], ["where is my parcel"]]


async def test_an_overloaded_batcher_sheds_with_a_reason():
    gate = asyncio.Event()

    async def stuck(texts: Sequence[str]) -> np.ndarray:
        await gate.wait()
        return await hashed_all(texts)

    batched = BatchedEmbedder(wrap(stuck), queue=1)
    tasks = []
    for text in "ab":
        tasks.append(asyncio.create_task(batched.embed([text])))
        await turns(3)
    with pytest.raises(Overloaded):
        await batched.embed(["c"])
    gate.set()
    await asyncio.gather(*tasks)


async def test_a_batch_hides_no_word_that_the_model_cannot_spell() -> None:
    """The reason of the miss was that the text is too long."""

    class Spelling(WordEmbedder):
        async def lacks_words(self, text: str) -> bool:
            return len(text) < 9

    batched = CachedEmbedder(BatchedEmbedder(Spelling()))
    assert await incomplete(batched, "short?") is Reason.UNKNOWN_WORD
    assert await incomplete(batched, "as long as it is?") is Reason.TOO_LONG
    assert await incomplete(CachedEmbedder(BatchedEmbedder(wrap(hashed_all))), "short?") is Reason.TOO_LONG
