"""Metrics say what happened, under names and labels that the documentation lists, and stay bounded."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.observe.cost import Price, Prices
from cachelayer.observe.families import FAMILIES
from cachelayer.observe.prometheus import together
from cachelayer.semantic.embed.batched import BatchedEmbedder
from cachelayer.semantic.evidence.nearness import NearnessDecider
from cachelayer.testing import Gate, WordEmbedder

ROOT = Path(__file__).resolve().parents[2]


def chat(question: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"you asked: {question}"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def samples(layer: CacheLayer) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by name and labels, as a scraper reads them."""
    text = layer.metrics().render()[1].decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(layer: CacheLayer, name: str, **labels: str) -> float:
    return samples(layer)[f"cachelayer_{name}", frozenset(labels.items())]


async def busy_layer() -> CacheLayer:
    """A layer that has done a little of everything."""
    layer = CacheLayer(embedder=WordEmbedder())
    layer.account(Prices({"m": Price(prompt=2.0, completion=10.0, gpus=1, gpu_hour=3.6)}), tenants=2, tags=2)
    layer.metrics()

    @layer.cached(name="ask", tags=["kb:{topic}"], text="question")
    async def ask(question: str, topic: str = "t", model: str = "m") -> Any:
        return chat(question)

    @layer.cached(name="tell")
    async def tell(question: str) -> AsyncIterator[str]:
        for word in ("one", "two", "three"):
            await asyncio.sleep(0.001)
            yield word

    await layer.start()
    for tenant in ("a", "b", "c", "a"):
        with layer.scope(tenant=tenant):
            await ask("how?")
            await ask("how?")
    for _ in range(3):
        assert [word async for word in tell("what?")] == ["one", "two", "three"]
    await layer.flush()
    return layer


async def test_every_request_is_counted_once_by_who_answered() -> None:
    layer = await busy_layer()
    assert value(layer, "requests_total", function="ask", source="backend", match="none") == 3
    assert value(layer, "requests_total", function="ask", source="memory", match="exact") == 5
    assert value(layer, "calls_total", function="ask") == 3
    assert value(layer, "misses_total", function="ask", tier="memory", reason="absent") == 3
    assert value(layer, "request_seconds_count", function="ask", result="miss") == 3
    assert value(layer, "request_seconds_count", function="ask", result="exact") == 5
    assert value(layer, "stage_seconds_count", function="ask", stage="backend") == 3
    await layer.aclose()


async def test_streams_are_timed_as_their_readers_see_them_hits_and_misses_apart() -> None:
    layer = await busy_layer()
    for result, streams in (("miss", 1), ("hit", 2)):
        assert value(layer, "first_token_seconds_count", function="tell", result=result) == streams
        assert value(layer, "token_gap_seconds_count", function="tell", result=result) == 2 * streams
        assert value(layer, "stream_seconds_count", function="tell", result=result) == streams
    waited = value(layer, "first_token_seconds_sum", function="tell", result="miss")
    assert waited >= 0.001
    assert value(layer, "stream_seconds_sum", function="tell", result="miss") >= 3 * 0.001
    await layer.aclose()


async def test_money_follows_the_price_table_and_what_hits_saved_is_apart() -> None:
    layer = await busy_layer()
    stats = layer.stats()["functions"]["ask"]
    tokens_of_one = (100 * 2.0 + 10 * 10.0) / 1e6
    gpu = value(layer, "gpu_seconds_total", model="m", kind="spent")
    spent = value(layer, "spent_cost_total", model="m", currency="USD")
    assert spent == pytest.approx(3 * tokens_of_one + gpu * 3.6 / 3600)
    assert gpu == pytest.approx(3 * stats["timings"]["backend"]["mean"], rel=0.01)
    saved = value(layer, "saved_cost_total", model="m", currency="USD")
    assert saved == pytest.approx(5 * tokens_of_one + stats["saved_seconds"] * 3.6 / 3600)
    assert value(layer, "tokens_total", model="m", kind="prompt") == 300
    assert value(layer, "tenant_requests_total", tenant="a", result="hit") == 3
    assert value(layer, "tenant_requests_total", tenant="other", result="miss") == 2  # c, and nobody
    assert value(layer, "tag_cost_total", tag="kb:t", kind="spent") == pytest.approx(spent)
    await layer.aclose()


async def test_a_layer_with_a_retrieval_or_a_decider_of_the_owner_s_is_scraped_too() -> None:
    async with CacheLayer(embedder=WordEmbedder()) as layer:
        search = layer.retrieval(lambda query: [{"id": 7, "text": query}], name="search", corpus="kb")
        await search("lamps")
        await layer.flush()
        assert value(layer, "requests_total", function="search", source="backend", match="none") == 1
        assert not any(name.startswith("cachelayer_budget") for name, _ in samples(layer))
    for told in ({"served": 3}, {"ask": {"0.01": {"hits": 3}}}):
        async with CacheLayer(embedder=WordEmbedder(), verifier=Own(told)) as layer:
            assert layer.stats()["similar"]["decider"] == told
            assert value(layer, "similar_state", state="ready") == 1


class Own(NearnessDecider):
    """A decider with figures of its own kind."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(random=lambda: 1.0)
        self.told = told

    def stats(self) -> dict[str, Any]:
        return self.told


async def test_labels_hold_no_more_names_than_were_asked_for() -> None:
    layer = CacheLayer(semantic=False)
    layer.account(Prices({}), tenants=3)

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return question

    for i in range(200):
        with layer.scope(tenant=f"t{i}"):
            await ask("how?")
    tenants = {dict(labels).get("tenant") for _, labels in samples(layer)} - {None}
    assert len(tenants) == 4 and "other" in tenants
    assert (
        sum(v for (name, _), v in samples(layer).items() if name == "cachelayer_tenant_requests_total") == 200
    )


async def test_names_that_callers_choose_are_labels_of_bounded_length_that_can_be_written() -> None:
    layer = CacheLayer(semantic=False)
    layer.account(tenants=9, tags=9)

    @layer.cached(name="ask", tags=["about:{question}"])
    async def ask(question: str, model: str) -> str:
        return question.upper()

    for odd in ("\ud83d", "m" * 100_000):  # half a surrogate pair, as json.loads reads it
        with layer.scope(tenant=odd):
            await ask(odd, model=odd)
    assert value(layer, "spent_cost_total", model="?", currency="USD") == 0
    assert value(layer, "tenant_requests_total", tenant="?", result="miss") == 1
    assert value(layer, "tag_cost_total", tag="about:?", kind="spent") == 0
    assert len(layer.metrics().render()[1]) < 100_000


async def test_money_is_told_by_the_owner_s_tags_and_not_by_what_answers_are_built_from() -> None:
    layer = CacheLayer(semantic=False)
    layer.account(Prices({"m": Price(prompt=1.0)}), tags=1)
    search = layer.retrieval(lambda query: [{"id": 7, "text": "it"}], corpus="kb")

    @layer.cached(tags=["desk"])
    async def ask(question: str, model: str = "m") -> Any:
        return chat(str(await search(question)))

    for _ in range(3):
        await ask("how?")
    told = {
        dict(labels).get("tag"): value
        for (name, labels), value in samples(layer).items()
        if "tag_cost" in name
    }
    assert set(told) == {"desk"}


async def test_what_is_exposed_is_what_the_table_lists() -> None:
    layer = await busy_layer()
    for family in layer.metrics().collect():
        known = FAMILIES[family.name.removeprefix("cachelayer_") + "_total" * (family.type == "counter")]
        assert family.type == known.kind and family.documentation == known.help
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(known.labels)
    await layer.aclose()


def test_the_documented_table_is_the_code_s() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    told = re.findall(r"^\| `(cachelayer_\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", page, re.M)
    assert [
        (name, kind, tuple(re.findall(r"`(\w+)`", labels)), text) for name, kind, labels, text in told
    ] == [(f.name, f.kind, f.labels, f.help) for f in FAMILIES.values()]


async def test_promtool_finds_nothing_to_object_to() -> None:
    layer = await busy_layer()
    text = layer.metrics().render()[1]
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    await layer.aclose()


async def test_it_can_join_a_registry_of_the_program_s_own() -> None:
    layer = await busy_layer()
    registry = prometheus_client.CollectorRegistry()
    registry.register(layer.metrics())
    assert b'cachelayer_calls_total{function="ask"} 3.0' in prometheus_client.generate_latest(registry)
    assert layer.metrics() is layer.metrics()
    await layer.aclose()


async def test_flights_and_the_write_back_queue_are_seen_while_they_are_under_way() -> None:
    layer, gate = CacheLayer(semantic=False), Gate()
    ask = layer.cached(gate.__call__, name="ask", share_self=True)
    waiting = asyncio.gather(ask("a"), ask("a"), ask("b"))
    await gate.entered()
    await gate.entered()
    assert value(layer, "flights") == 2
    gate.open()
    await waiting
    assert value(layer, "flights") == 0
    assert value(layer, "requests_total", function="ask", source="coalesced", match="exact") == 1
    await layer.aclose()


async def test_batches_of_the_embedder_are_counted_where_it_batches() -> None:
    patient = Policy(budgets=Budgets(store=60, embed=60, search=60, verify=60))
    layer = CacheLayer(policy=patient, embedder=BatchedEmbedder(WordEmbedder()))

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return question

    async with layer:
        await asyncio.gather(*(ask(f"question number {n}") for n in range(8)))
        await layer.flush()
        batches, texts = value(layer, "embed_batches_total"), value(layer, "embed_texts_total")
    assert 1 <= batches <= texts == 8 and value(layer, "embed_shed_total") == 0


async def test_the_backend_s_time_for_a_stream_is_a_stage_too() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(name="stream")
    async def stream(question: str) -> AsyncIterator[str]:
        yield "a"
        yield "b"

    for _ in range(2):
        assert [piece async for piece in stream("x")] == ["a", "b"]
    await layer.flush()
    counted = 'cachelayer_stage_seconds_count{function="stream",stage="backend"} 1.0'
    assert counted in layer.metrics().render()[1].decode()
    await layer.aclose()


async def test_several_layers_stand_in_one_registry_told_apart_by_a_label() -> None:
    layers = {name: CacheLayer(semantic=False) for name in ("chat", "search")}
    for number, layer in enumerate(layers.values()):
        ask = layer.wrap(Gate(opened=True), name="ask")
        for _ in range(number + 1):
            await ask("a question")
    registry = prometheus_client.CollectorRegistry()
    registry.register(together({name: layer.metrics() for name, layer in layers.items()}))
    labels = {"function": "ask", "source": "memory", "match": "exact"}
    hits = [
        registry.get_sample_value("cachelayer_requests_total", {**labels, "layer": name}) for name in layers
    ]
    assert hits == [0, 1]
    assert registry.get_sample_value("cachelayer_entries", {"layer": "chat"}) == 1.0
    assert (
        b'cachelayer_stage_seconds_bucket{function="ask",layer="search"'
        in prometheus_client.generate_latest(registry)
    )
