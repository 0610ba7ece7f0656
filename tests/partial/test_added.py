"""Documents that are added while others read results from a shared store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from shelf import SlowShelf

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.testing import WordEmbedder
from cachelayer.types import Embedded


@pytest.mark.parametrize("late", [True, False])
async def test_a_result_that_is_read_from_the_store_while_a_document_is_added_to_it_is_gone_once_it_is_added(
    late: bool,
) -> None:
    """It came after memory was looked through (`late`), or between memory and store: it stayed in memory."""
    shelf, texts = SlowShelf(), {"hub": "lights of the hub", "lock": "the lock of a door"}
    policy = Policy(budgets=Budgets(store="1h", embed="1h"))

    async def ranked(query: str, k: int = 2) -> list[dict[str, Any]]:
        words = set(query.split())
        best = sorted(texts, key=lambda id: -len(words & set(texts[id].split())))
        return [{"id": id, "text": texts[id]} for id in best[:k]]

    here, there = (CacheLayer(store=shelf, embedder=WordEmbedder(), policy=policy) for _ in range(2))
    search, elsewhere = (layer.retrieval(ranked, name="search", semantic=False) for layer in (here, there))
    async with here, there:
        await elsewhere("lights")
        await there.flush()
        if late:
            shelf.giving.clear()
            asking = asyncio.create_task(search.outcome("lights"))
            await asyncio.sleep(0)
        else:
            assert (await search.outcome("lights")).source is Source.REDIS
        texts["new"] = "lights"
        adding = asyncio.create_task(search.added(["lights"]))
        await shelf.told.wait()
        outcome = None if late else await search.outcome("lights")
        shelf.hearing.set()
        await adding
        shelf.giving.set()
        assert len((outcome or await asking).answer) == 2
        assert (await search.outcome("lights")).source is Source.BACKEND


@pytest.mark.parametrize("where", ["in no memory", "nowhere", "on disk"])
async def test_what_was_built_on_a_result_that_is_not_in_memory_goes_with_any_addition(
    where: str, tmp_path: Path
) -> None:
    """Nobody can tell then whether the new document belongs into it."""
    texts = {"hub": "lights of the hub"}
    kept: dict[str, Any] = {
        "in no memory": {"max_bytes": 0},
        "nowhere": {"cache_if": lambda documents: False},
    }

    async def matching(query: str) -> list[dict[str, Any]]:
        return [{"id": id, "text": text} for id, text in texts.items() if query in text]

    def wrapped(layer: CacheLayer) -> Any:
        search = layer.retrieval(matching, name="search", semantic=False, **kept.get(where, {}))

        @layer.cached(name="ask", semantic=False)
        async def ask(question: str) -> list[str]:
            return [document["id"] for document in await search(question)]

        return search, ask

    index = tmp_path if where == "on disk" else None
    async with CacheLayer(embedder=WordEmbedder(), index=index) as layer:
        search, ask = wrapped(layer)
        assert await ask("lights") == ["hub"]
        if where != "on disk":
            texts["new"] = "more lights"
            await search.added(["more lights"])
            assert await ask("lights") == ["hub", "new"]
    if where == "on disk":
        async with CacheLayer(embedder=WordEmbedder(), index=index) as layer:
            search, ask = wrapped(layer)
            assert (await ask.outcome("lights")).source is Source.MEMORY
            texts["new"] = "more lights"
            await search.added(["more lights"])
            assert await ask("lights") == ["hub", "new"]


async def test_a_result_that_was_being_made_when_a_document_was_added_is_not_kept() -> None:
    """It came while the results before it were compared, and none after them was."""
    texts, found = {"hub": "lights of the hub"}, asyncio.Event()

    class Slow(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            if "lights of the hub" in texts:
                found.set()
                await asyncio.wait([making])
            return await super().embed(texts)

    async def matching(query: str) -> list[dict[str, Any]]:
        there = [{"id": id, "text": text} for id, text in texts.items() if query in text]
        if query == "doors" and not found.is_set():
            await found.wait()
        return there

    async with CacheLayer(embedder=Slow(), policy=Policy(budgets=Budgets(embed="1h"))) as layer:
        search = layer.retrieval(matching, semantic=False, negative_ttl="1h")
        await search("lights")
        making = asyncio.create_task(search("doors"))
        await asyncio.sleep(0)
        texts["new"] = "doors"
        await search.added(["doors"])
        assert await making == [] and len(await search("doors")) == 1


async def test_what_was_built_on_a_result_that_stays_goes_if_another_one_is_not_in_memory_and_stays_otherwise() -> (
    None
):
    texts = {"hub": "lights of the hub", "lock": "the lock of a door"}

    async def matching(query: str) -> list[dict[str, Any]]:
        return [{"id": id, "text": text} for id, text in texts.items() if query in text]

    async with CacheLayer(embedder=WordEmbedder()) as layer:
        search = layer.retrieval(
            matching, semantic=False, cache_if=lambda documents: documents[0]["id"] == "hub"
        )
        greet = layer.step("greet", lambda: "hello")

        @layer.cached(semantic=False)
        async def ask(*queries: str) -> str:
            return " ".join([greet(), *[one["id"] for query in queries for one in await search(query)]])

        assert [await ask("lights"), await ask("lights", "lock")] == ["hello hub", "hello hub lock"]
        assert await search.added(["a window"]) == 1
        assert (await ask.outcome("lights")).source is Source.MEMORY
        assert (await ask.outcome("lights", "lock")).source is Source.BACKEND


async def test_what_served_a_similar_query_goes_with_what_belongs_anywhere_in_it() -> None:
    """That query may have taken its documents from the rest of the result, beyond those that were asked for."""
    texts = {f"d{n}": f"topic{n} text" for n in range(80)}

    async def ranked(query: str, k: int) -> list[dict[str, Any]]:
        words = set(query.split())
        best = sorted(texts, key=lambda id: -len(words & set(texts[id].split())))
        return [{"id": id, "text": texts[id]} for id in best[:k]]

    policy = Policy(budgets=Budgets(embed="30s", search="30s", verify="30s"))
    async with CacheLayer(embedder=WordEmbedder(), policy=policy) as layer:
        search = layer.retrieval(ranked, name="search")

        @layer.cached(semantic=False)
        async def ask(question: str) -> str:
            return str((await search(question, k=1))[0]["id"])

        for n in range(80):
            for words in (f"tell me about topic{n}", f"about topic{n} tell me"):
                with layer.scope():
                    await search(words, k=1)
                await layer.flush()
        with layer.scope():
            assert (await search.outcome("me about topic7 tell", k=1)).source is Source.INDEX
        with layer.scope():
            assert await ask("me about topic7 tell") == "d7"
        await search.added(["about many other things beside it"])
        with layer.scope():
            assert (await ask.outcome("me about topic7 tell")).source is Source.BACKEND
        with layer.scope():
            assert (await search.outcome("tell me about topic0", k=1)).source is Source.MEMORY


async def test_what_belongs_nowhere_leaves_a_result_to_similar_queries() -> None:
    texts = {f"d{n}{w}": f"topic{n} item{n} {w}" for n in range(30) for w in ("red", "green", "blue", "grey")}

    async def ranked(query: str, k: int) -> list[dict[str, Any]]:
        words = set(query.split())
        best = sorted(texts, key=lambda id: -len(words & set(texts[id].split())))
        return [{"id": id, "text": texts[id]} for id in best[:k]]

    policy = Policy(shadow=0, budgets=Budgets(embed="30s", search="30s", verify="30s"))
    async with CacheLayer(embedder=WordEmbedder(), policy=policy) as layer:
        search = layer.retrieval(ranked, name="search")
        for n in range(30):
            for word in ("red", "green", "blue"):
                await search(f"show me what there is on topic{n} item{n} {word}", k=1)
                await layer.flush()
        assert await search.added(["entirely unheard of"]) == 0
        await layer.invalidate(documents=["of another result"])
        outcome = await search.outcome("show me what there is on topic7 item7 grey", k=1)
        assert outcome.match == "similar" and outcome.answer[0]["id"] == "d7grey"
