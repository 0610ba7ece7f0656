"""Bad input and broken parts: a clear error at construction or a counted miss, nothing lost, nothing wrong served."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Embedded


class Odd(WordEmbedder):
    """Returns what `spoil` makes of good vectors."""

    def __init__(self, spoil: Any, dimension: int = 64) -> None:
        super().__init__(dimension)
        self.spoil = spoil

    async def embed(self, texts: Sequence[str]) -> Embedded:
        made = await super().embed(texts)
        return Embedded(self.spoil(made.vectors), made.complete)


def layer_with(**options: Any) -> CacheLayer:
    options.setdefault("embedder", WordEmbedder())
    return CacheLayer(policy=Policy(max_error_rate=0.3, shadow=0), **options)


@pytest.mark.parametrize("text", ["", "   ", "\u2003\n"])
async def test_empty_text_is_compared_word_for_word_only(text: str) -> None:
    async with layer_with() as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        assert (await ask.outcome(text)).misses["similar"] is Reason.EMPTY_TEXT
        await layer.flush()
        assert (await ask.outcome(text)).source is Source.MEMORY
        assert layer.stats()["similar"]["entries"] == 0


async def test_texts_of_100k_characters_that_differ_at_the_end_never_share_an_answer() -> None:
    long = "the quick brown fox jumps over the lazy dog " * 2300
    assert len(long) > 100_000
    async with layer_with() as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask(long + "what is the first word")
        await layer.flush()
        outcome = await ask.outcome(long + "what is the last word")
        assert (outcome.source, outcome.misses["similar"]) == (Source.BACKEND, Reason.TOO_LONG)
        assert (await ask.outcome(long + "what is the first word")).source is Source.MEMORY


async def test_a_miss_says_whether_a_text_is_too_long_or_holds_a_word_that_the_embedder_lacks() -> None:
    class Lacking(WordEmbedder):
        async def lacks_words(self, text: str) -> bool:
            if "\N{BOMB}" in text:
                raise RuntimeError("Already borrowed")
            return "\N{FIRE}" in text

    async with layer_with(embedder=Lacking(window=2)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        told = {
            "a b c \N{FIRE}": Reason.UNKNOWN_WORD,
            "a b c": Reason.TOO_LONG,
            "a b c \N{BOMB}": Reason.FAULT,
        }
        for text, reason in told.items():
            assert (await ask.outcome(text)).misses["similar"] is reason


@pytest.mark.parametrize(
    "spoil",
    [np.zeros_like, lambda v: v * np.nan, lambda v: v * np.inf, lambda v: v * 7],
    ids=["zero", "nan", "infinite", "unnormalized"],
)
async def test_vectors_that_cannot_be_compared_are_no_neighbours(spoil: Any) -> None:
    embedder = Odd(lambda vectors: vectors)
    async with layer_with(embedder=embedder) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("where is my parcel")
        await layer.flush()
        embedder.spoil = spoil
        outcome = await ask.outcome("my parcel where is")
        assert (outcome.source, outcome.misses["similar"]) == (Source.BACKEND, Reason.BAD_VECTOR)
        await layer.flush()
        assert layer.stats()["similar"]["entries"] == 1


@pytest.mark.parametrize("spoil", [lambda v: v[0], lambda v: v[:0], lambda v: None, lambda v: 1 / 0])
async def test_what_is_no_matrix_of_vectors_reaches_no_caller(spoil: Any) -> None:
    async with layer_with(embedder=Odd(spoil)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        assert (await ask.outcome("where is my parcel")).source is Source.BACKEND
        await layer.flush()
        assert (await ask.outcome("where is my parcel")).source is Source.MEMORY


async def test_vectors_of_double_precision_are_neighbours_too() -> None:
    async with layer_with(embedder=Odd(lambda v: v.astype(np.float64))) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("where is my parcel")
        await layer.flush()
        await ask("my parcel where is")
        assert layer.stats()["similar"]["entries"] >= 1 and not layer.stats()["faults"]


async def test_a_cancellation_inside_the_embedder_is_a_fault_of_it_and_not_of_the_caller() -> None:
    def cancelled(vectors: object) -> object:
        raise asyncio.CancelledError

    async with layer_with(embedder=Odd(cancelled)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        outcome = await ask.outcome("where is my parcel")
        assert (outcome.source, outcome.misses["similar"]) == (Source.BACKEND, Reason.FAULT)


async def test_vectors_of_a_wrong_width_are_counted_faults_and_the_entries_stay_exact() -> None:
    embedder = Odd(lambda vectors: vectors)
    async with layer_with(embedder=embedder) as layer:
        gate = Gate(opened=True)
        ask = layer.wrap(gate, name="ask")
        await ask("where is my parcel")
        await layer.flush()
        embedder.spoil = lambda vectors: (
            vectors[:, :32] / np.linalg.norm(vectors[:, :32], axis=1, keepdims=True)
        )
        assert (await ask.outcome("my parcel where is")).source is Source.BACKEND
        await layer.flush()
        assert (await ask.outcome("my parcel where is")).source is Source.MEMORY
        assert any(key.startswith("search:") for key in layer.stats()["faults"])


async def test_an_index_of_another_width_than_the_model_is_a_miss_with_a_reason() -> None:
    async with layer_with(index=PackedIndex(32)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("where is my parcel")
        await layer.flush()
        outcome = await ask.outcome("my parcel where is")
        assert outcome.source is Source.BACKEND and outcome.misses["similar"] is Reason.FAULT


class OddIndex(PackedIndex):
    """Returns what `spoil` makes of good neighbours, once it is given."""

    spoil: Any = staticmethod(lambda scores, ids: (scores, ids))

    def search(self, partition: bytes, queries: Any, k: int) -> Any:
        return self.spoil(*super().search(partition, queries, k))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda scores, ids: None,
        lambda scores, ids: (scores, None),
        lambda scores, ids: (scores, ids.astype(object)[:, :, None].tolist()),
        lambda scores, ids: (scores[:, :0], ids),
        lambda scores, ids: (np.full_like(scores, np.nan), ids),
    ],
    ids=["nothing", "no ids", "nested ids", "no scores", "nan"],
)
async def test_an_index_of_ones_own_that_returns_nonsense_reaches_no_caller(spoil: Any) -> None:
    index = OddIndex(64)
    async with layer_with(index=index) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("where is my parcel")
        await layer.flush()
        index.spoil = spoil
        outcome = await ask.outcome("where did my parcel go")
        assert outcome.source is Source.BACKEND and outcome.misses["similar"] is not None
        await layer.flush()
        index.spoil = OddIndex.spoil
        assert (await ask.outcome("where did my parcel go")).source is Source.MEMORY


async def test_damaged_vectors_on_disk_cost_an_embedding_not_an_answer(tmp_path: Path) -> None:
    for _ in range(2):
        layer = layer_with(index=tmp_path)
        ask = layer.wrap(Gate(opened=True), name="ask")
        async with layer:
            await ask("where is my parcel")
            await layer.flush()
    for path in (tmp_path / "vectors").glob("*-*"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    embedder = WordEmbedder()
    layer, gate = layer_with(index=tmp_path, embedder=embedder), Gate(opened=True)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        while not layer.stats()["elsewhere"]["restored"]:
            await ask("something else")
            await asyncio.sleep(0)  # a hit gives the loop no turn
        assert (await ask.outcome("where is my parcel")).source is Source.MEMORY
        near = (await ask.explain("my parcel where is")).candidates
        assert near and near[0]["text"] == "where is my parcel"
