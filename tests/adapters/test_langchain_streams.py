"""Answers of models that stream: one request each, kept as whole as `invoke` has them, and hit in later turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CacheLayerCache
from langchain_core.outputs import ChatResult
from langchain_models import Counting

from cachelayer import CacheLayer


class Streaming(Counting):
    """Cannot do otherwise, as OpenAI's model with `streaming=True`."""

    streaming: bool = True

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("asked for a whole answer")


@pytest.fixture
async def layer() -> AsyncIterator[CacheLayer]:
    async with CacheLayer(semantic=False) as layer:
        yield layer


async def test_a_model_that_always_streams_is_asked_for_a_stream(layer: CacheLayer) -> None:
    model = CachedChatModel(model=Streaming(streaming=True), cache=CacheLayerCache(layer))
    assert model.invoke("a").content == (await model.ainvoke("a")).content == "answer 1"
    assert (await model.ainvoke("b")).content == model.invoke("b").content == "answer 2"
    still = CachedChatModel(model=Streaming(streaming=True), cache=model.cache, disable_streaming=True)
    with pytest.raises(AssertionError, match="whole"):
        still.invoke("c")
