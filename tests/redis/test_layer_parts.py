"""Layers on one Redis: a changed document reaches what other processes hold, and nothing older comes back."""

from __future__ import annotations

import asyncio
from typing import Any

from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Source

PATIENT = Budgets(store="2s")


def pair(server: Server) -> tuple[CacheLayer, CacheLayer]:
    def make() -> CacheLayer:
        return CacheLayer(policy=Policy(budgets=PATIENT), store=server.url, semantic=False)

    return make(), make()


def asking(layer: CacheLayer, texts: dict[str, str]) -> Any:
    async def search(query: str, k: int = 5) -> list[dict[str, str]]:
        return [{"id": id, "text": text} for id, text in texts.items() if id in query][:k]

    retrieve = layer.retrieval(search, name="search")

    async def ask(question: str) -> str:
        return " ".join(document["text"] for document in await retrieve(question))

    return layer.wrap(ask, name="ask")


async def test_a_document_invalidated_here_is_gone_there_with_all_that_was_built_on_it(
    server: Server,
) -> None:
    texts, (here, there) = {"a": "old", "b": "B"}, pair(server)
    async with here, there:
        ask, elsewhere = asking(here, texts), asking(there, texts)
        for question in ("a", "b"):
            await ask(question)
        await here.flush()
        assert [(await elsewhere.outcome(q)).source for q in ("a", "b")] == [Source.REDIS] * 2
        texts["a"] = "new"
        await here.invalidate(documents=["a"])
        assert await ask("a") == "new"
        await there._shared.store.sync()  # type: ignore[union-attr]
        for _ in range(200):
            if await elsewhere("a") == "new":
                break
            await asyncio.sleep(0.005)
        assert await elsewhere("a") == "new"
        assert (await elsewhere.outcome("b")).source is Source.MEMORY


async def test_ten_thousand_dependants_go_in_steps_that_leave_the_loop_to_others(
    server: Server, stall: Any
) -> None:
    here, _ = pair(server)
    async with here:

        async def make(n: int) -> int:
            here.used(documents=["many"])
            return n

        cached = here.step("make", make)
        for n in range(10_000):
            await cached(n)
        await here.flush()
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(others())
        await asyncio.sleep(0)
        assert await here.invalidate(documents=["many"]) == 10_000
        ticking.cancel()
        assert turns >= 10_000 // 256


async def test_token_ids_of_a_tokenizer_serve_every_process_and_a_new_start(server: Server) -> None:
    encoded: list[str] = []

    def encode(text: str) -> list[int]:
        encoded.append(text)
        return [len(word) for word in text.split()]

    for _ in range(2):
        layer, _ = pair(server)
        async with layer:
            layer.prompts.tokenizer(encode, name="words-1")
            ids = await asyncio.to_thread(layer.prompts.ids, "Hello Ann")
            assert ids.dtype.name == "int32" and ids.tolist() == [5, 3]
            await layer.flush()
    assert encoded == ["Hello Ann"]


async def test_an_addition_here_forgets_the_results_of_the_corpus_there(server: Server) -> None:
    texts, (here, there) = {"a": "A"}, pair(server)
    async with here, there:
        ask, elsewhere = asking(here, texts), asking(there, texts)
        assert await ask("a ab") == "A"
        await here.flush()
        assert await elsewhere("a ab") == "A"
        texts["ab"] = "new"
        search = here.retrieval(lambda query: [], name="other")
        await search.added(["new"])
        await there._shared.store.sync()  # type: ignore[union-attr]
        for _ in range(200):
            if await elsewhere("a ab") == "A new":
                break
            await asyncio.sleep(0.005)
        assert await elsewhere("a ab") == await ask("a ab") == "A new"


async def test_a_step_of_another_version_is_another_step_and_one_of_the_same_is_the_same(
    server: Server,
) -> None:
    made: list[str] = []
    for version in ("1", "2", "1"):
        layer, _ = pair(server)
        async with layer:

            async def rerank(texts: list[str], version: str = version) -> list[str]:
                made.append(version)
                return sorted(texts)

            assert await layer.step("rerank", rerank, version=version, ignore=["version"])(["b", "a"]) == [
                "a",
                "b",
            ]
            await layer.flush()
    assert made == ["1", "2"]
