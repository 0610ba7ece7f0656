"""A model that does not answer any more holds up nothing but what needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from shelf import Shelf

from cachelayer import CacheLayer
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Embedded


class Hanging(WordEmbedder):
    """Never answers about one thing, and as soon as it is asked many seconds have passed on its loop's clock."""

    about: str | None = None

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if self.about is None or self.about not in texts[0]:
            return await super().embed(texts)
        loop = asyncio.get_running_loop()
        later = loop.time() + 100
        loop.time = lambda: later  # type: ignore[method-assign]
        return await asyncio.Event().wait()  # type: ignore[return-value]


PROSE = "it left the station at noon and will be at your door by the evening unless the road is closed"


@pytest.mark.parametrize("about", ["parcel", "station"], ids=["the question", "the answer"])
async def test_what_is_kept_is_stored_though_the_model_hangs(about: str) -> None:
    """It waited behind the first answer that the model was to embed, for as long as the process lived."""
    model, store = Hanging(), Shelf()
    async with CacheLayer(embedder=model, store=store) as layer:
        ask = layer.wrap(Gate(lambda question: PROSE, opened=True), name="ask")
        exact: Any = layer.wrap(Gate(opened=True), name="exact", semantic=False)
        model.about = about
        await asyncio.gather(*(ask(f"where is parcel {number}") for number in range(3)))
        await exact("where is it")
        await layer.flush()
        assert len(store.held) == 4
        assert layer.stats()["faults"] == {"write-back:Overloaded": 1}
        model.about = None
        await ask("where is the violin")
        await layer.flush()
        assert layer._similar is not None and len(layer._similar.entries) == 1
