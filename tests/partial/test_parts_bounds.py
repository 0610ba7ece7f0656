"""Token ids that stay, prompts that share a prefix, corpora, and how much the graph may hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from books import Books

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.partial.graph import Versions


async def test_an_invalidated_corpus_goes_whole_and_the_others_are_untouched() -> None:
    books = Books(a="A", b="B")
    async with CacheLayer(semantic=False) as layer:
        help, law = (layer.retrieval(books, corpus=name, name=name) for name in ("help", "law"))

        @layer.cached(semantic=False)
        async def ask(question: str, of: str) -> str:
            return str((await (help if of == "help" else law)(question))[0]["text"])

        for question in "ab":
            for corpus in ("help", "law"):
                await ask(question, corpus)
        assert await layer.invalidate(corpus="help") == 4
        told = [(await ask.outcome(question, "law")).source for question in "ab"]
        assert told == [Source.MEMORY] * 2
        assert (await ask.outcome("a", "help")).source is Source.BACKEND


async def test_a_model_is_handed_the_same_documents_in_the_same_order_whatever_their_rank() -> None:
    books, prompts = Books(a="A", b="B", c="C"), list[str]()
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached(semantic=False)
        async def ask(question: str) -> str:
            found = search.in_order(await search(question))
            prompts.append("".join(one["text"] for one in found) + "?" + question)
            return prompts[-1]

        await ask("a b c")
        await ask("c a b")
        assert [prompt.split("?")[0] for prompt in prompts] == ["ABC"] * 2


async def test_ids_of_two_tokenizers_never_meet_and_those_of_one_outlast_a_change() -> None:
    calls: list[str] = []

    def by(name: str) -> Any:
        return lambda text: calls.append(name) or [len(name)] * len(text.split())

    async with CacheLayer(semantic=False) as layer:
        layer.prompts.tokenizer(by("one"), name="one")
        assert layer.prompts.ids("a b").tolist() == [3, 3]
        layer.prompts.tokenizer(by("other"), name="other")
        assert layer.prompts.ids("a b").tolist() == [5, 5] and calls == ["one", "other"]


async def test_ids_are_those_of_the_very_text_white_space_and_all() -> None:
    async with CacheLayer(semantic=False) as layer:
        layer.prompts.tokenizer(lambda text: list(map(ord, text)), name="letters")
        for text in ("a", " a", "a\n", "\u00e9", "e\u0301", " "):
            assert layer.prompts.ids(text).tolist() == list(map(ord, text))
            assert layer.prompts.count(text) == len(text)


async def test_what_the_graph_holds_goes_with_the_entries_and_versions_are_bounded() -> None:
    policy = Policy(max_bytes=256 * 1024)
    names = [f"d{n}" for n in range(4_000)]
    async with CacheLayer(semantic=False, policy=policy) as layer:

        async def make(name: str) -> str:
            layer.used(documents=[name])
            return name * 20

        cached = layer.step("make", make)
        for name in names:
            await cached(name)
        held = [slot for memory in layer._keeper.memories for slot in memory]
        stats = layer.stats()
        assert 0 < len(held) < 1_000 and stats["bytes"] <= policy.max_bytes
        assert await layer.invalidate(documents=names) == len(held)
    versions = Versions(most=100)
    for name in names:
        versions.see(name, 1)
    assert versions.get("d3999") == 1 and versions.get("d3899") is None and versions.get("d3900") == 1


async def one_by_one(layer: CacheLayer) -> None:
    for n in ("a", *range(1500)):  # as where an index is made anew
        await layer.invalidate(documents=[n])


async def all_at_once(layer: CacheLayer) -> None:
    await layer.erase()


@pytest.mark.parametrize("invalidate", [one_by_one, all_at_once])
async def test_what_was_read_before_it_was_invalidated_is_not_kept_however_much_was_after_it(
    invalidate: Callable[[CacheLayer], Awaitable[None]],
) -> None:
    books = Books(a="old")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def ask(question: str) -> str:
            return str(found[0]["text"])

        found = await search("a")
        books.edit("a", "new")
        await invalidate(layer)
        asked = await ask.outcome("what?")
        assert asked.answer == "old" and asked.stored is Reason.INVALIDATED
        found = await search("a")
        assert await ask("what?") == "new"


async def test_what_was_read_after_its_invalidation_is_good_until_the_next_one() -> None:
    books = Books(a="A", b="B")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def ask(question: str) -> str:
            return question

        await search("a")
        await layer.invalidate(documents=["b"])
        await search("b")
        assert (await ask.outcome("what?")).stored is None
        await layer.invalidate(documents=["b"])
        assert (await ask.outcome("and?")).stored is Reason.INVALIDATED
