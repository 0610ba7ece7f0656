"""A layer that is closed, or fails to start, holds nothing: its directory and its model are free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from shelf import Shelf
from turns import cancelled
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, CacheLayerError, ConfigurationError, Policy, Source
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Record


def layer_in(directory: Path, embedder: WordEmbedder | None = None) -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=0)
    embedder = embedder or WordEmbedder()
    return CacheLayer(index=directory, embedder=embedder, verifier=SameWords(), policy=policy)


async def sources_after_a_restart(directory: Path, *questions: str) -> list[Source]:
    """Where the answers come from in a layer that opens the directory now."""
    async with layer_in(directory) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        return [(await ask.outcome(question)).source for question in questions]


@pytest.mark.parametrize("similar", [True, False])
async def test_what_is_answered_after_the_close_does_not_open_the_directory_again(
    tmp_path: Path, similar: bool
) -> None:
    layer, gate = layer_in(tmp_path), Gate()
    ask = layer.wrap(gate, name="ask", semantic=similar)
    await layer.start()
    call = asyncio.create_task(ask("where is my parcel?"))
    await gate.entered()
    await layer.aclose()
    gate.open()
    await call
    await layer.flush()
    assert await sources_after_a_restart(tmp_path, "where is my parcel?") == [Source.BACKEND]
    await ask("where is my refund?")  # which uses the layer anew
    await layer.flush()
    await layer.aclose()
    found = await sources_after_a_restart(tmp_path, "where is my parcel?", "where is my refund?")
    assert found == [Source.MEMORY] * 2


class Asked(Shelf):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        self.asked.set()
        await self.let.wait()
        return await super().get(key, canonical, budget)


async def test_a_call_that_looks_up_after_the_close_does_not_load_the_model_again() -> None:
    model, store = WordEmbedder(), Asked()
    layer = CacheLayer(embedder=model, store=store, policy=Policy(budgets=Budgets(store=20)))
    ask = layer.wrap(Gate(opened=True), name="ask")
    await layer.start()
    call = asyncio.create_task(ask("where is my parcel?"))
    await store.asked.wait()
    await layer.aclose()
    store.let.set()
    await call
    await layer.flush()
    assert not model.started
    await ask("where is my refund?")  # which uses the layer anew
    await layer.flush()
    assert model.started
    await layer.aclose()


async def test_a_layer_that_is_closed_twice_at_once_writes_what_it_remembers_once(tmp_path: Path) -> None:
    layer = layer_in(tmp_path)
    await layer.start()
    await layer.wrap(Gate(opened=True), name="ask")("where is my parcel?")
    await asyncio.gather(layer.aclose(), layer.aclose())
    assert not layer.stats()["faults"]


class Unstoppable(WordEmbedder):
    """Is loaded in full once that is begun."""

    async def start(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await super().start()


async def test_what_waited_for_a_model_that_begins_to_serve_as_the_layer_closes_is_kept(
    tmp_path: Path,
) -> None:
    model = Unstoppable()
    layer = layer_in(tmp_path, model)
    await layer.wrap(Gate(opened=True), name="ask")("where is my parcel?")
    await layer.aclose()
    assert not model.started
    assert await sources_after_a_restart(tmp_path, "where is my parcel?") == [Source.MEMORY]


class CalledOff(WordEmbedder):
    """Lets a call go on as its own loading is called off."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate, self.starts = gate, 0

    async def start(self) -> None:
        self.starts += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.gate.open()


async def test_what_is_answered_during_the_close_does_not_begin_to_load_the_model_again(
    tmp_path: Path,
) -> None:
    model = CalledOff(gate := Gate())
    layer = layer_in(tmp_path, model)
    call = asyncio.create_task(layer.wrap(gate, name="ask")("where is my parcel?"))
    await gate.entered()
    await layer.aclose()
    await call
    assert model.starts == 1
    await sources_after_a_restart(tmp_path)


class Reluctant(WordEmbedder):
    """Cannot be closed at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def aclose(self) -> None:
        self.asked.set()
        await asyncio.Event().wait()


async def test_a_close_that_is_called_off_lets_the_directory_go(tmp_path: Path) -> None:
    model = Reluctant()
    layer = layer_in(tmp_path, model)
    await layer.start()
    closing = asyncio.create_task(layer.aclose())
    await model.asked.wait()
    await cancelled(closing)
    await sources_after_a_restart(tmp_path)


class Loading(WordEmbedder):
    """Is loaded when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def start(self) -> None:
        self.asked.set()
        await self.let.wait()
        await super().start()


async def test_a_start_that_ends_after_the_close_says_so_and_holds_nothing(tmp_path: Path) -> None:
    model = Loading()
    layer = layer_in(tmp_path, model)
    starting = asyncio.create_task(layer.start())
    await model.asked.wait()
    await layer.aclose()
    model.let.set()
    with pytest.raises(CacheLayerError, match="closed while it started"):
        await starting
    assert not model.started
    await sources_after_a_restart(tmp_path)


def taken(directory: Path) -> Callable[[], None]:
    """A directory that cannot be opened, and what mends it."""
    (directory / "entries").mkdir()
    return (directory / "entries").rmdir


async def test_a_start_that_fails_holds_neither_the_model_nor_the_directory(tmp_path: Path) -> None:
    model, mend = WordEmbedder(), taken(tmp_path)
    layer = layer_in(tmp_path, model)
    with pytest.raises(ConfigurationError, match="name a directory that can"):
        await layer.start()
    assert not model.started
    mend()
    await sources_after_a_restart(tmp_path)
    await layer.start()
    assert model.started
    await layer.aclose()
