"""What LangChain's own calls took and what the cache spared is counted as for every other function."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CachedEmbeddings, CacheLayerCache
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_models import Counting

from cachelayer import CacheLayer
from cachelayer.observe.cost import Price, Prices
from cachelayer.testing import ManualClock

SAID: dict[str, Any] = {
    "usage_metadata": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    "response_metadata": {"model_name": "gpt-4o-2024-08-06", "finish_reason": "stop"},
}
ONE = 10 * 1.0 + 5 * 2.0


class Slow(Counting):
    """Takes two seconds of its clock, and fails where it is asked to."""

    clock: Any = None

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.clock.advance(2.0)
        if messages[-1].content == "fail":
            raise ConnectionError
        return ChatResult(generations=[ChatGeneration(message=AIMessage("30 days", **SAID))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self.clock.advance(2.0)
        yield ChatGenerationChunk(message=AIMessageChunk("30 days"))
        yield ChatGenerationChunk(message=AIMessageChunk("", **SAID))


async def test_calls_of_a_model_and_their_money_are_counted_and_told_by_its_name() -> None:
    clock = ManualClock()
    layer = CacheLayer(semantic=False, clock=clock)
    ledger = layer.account(Prices({"gpt-4o": Price(prompt=1e6, completion=2e6)}))
    model = CachedChatModel(model=Slow(clock=clock), cache=CacheLayerCache(layer))
    for _ in range(2):
        assert model.invoke("how long?").content == "30 days"
        assert "".join(str(chunk.content) for chunk in model.stream("and lamps?")) == "30 days"
    with pytest.raises(ConnectionError):
        model.invoke("fail")
    counted = layer.stats()["functions"]["langchain"]
    assert (counted["requests"], counted["backend_calls"], counted["hits"]["memory:exact"]) == (4, 2, 2)
    assert counted["latency"]["miss"]["mean"] == counted["timings"]["backend"]["mean"] == 2.0
    assert (counted["saved_seconds"], counted["saved_tokens"]) == (4.0, 30)
    (told,) = ledger.stats()["models"].items()
    assert told[0] == "gpt-4o-2024-08-06" and "unpriced" not in told[1]
    assert (told[1]["spent_cost"], told[1]["saved_cost"]) == (2 * ONE, 2 * ONE)


class Batches(Embeddings):
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.clock.advance(1.0)
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_each_text_of_a_batch_took_its_part_of_the_time() -> None:
    clock = ManualClock()
    layer = CacheLayer(semantic=False, clock=clock)
    embeddings = CachedEmbeddings(Batches(clock), layer, name="batches")
    texts = [str(n) for n in range(64)]
    for _ in range(2):
        embeddings.embed_documents(texts)
    counted = layer.stats()["functions"]["embeddings:batches"]
    assert (counted["requests"], counted["backend_calls"], counted["hits"]["memory:exact"]) == (128, 1, 64)
    assert counted["saved_seconds"] == 1.0
