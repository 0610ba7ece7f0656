"""What changes between being read in a context and being used there, outside any cached function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from books import Books

from cachelayer import CacheLayer, Source

READ: dict[str, str] = {}


@pytest.fixture
async def layer() -> AsyncIterator[CacheLayer]:
    async with CacheLayer(semantic=False) as layer:
        yield layer


async def say(question: str) -> str:
    return READ["text"]


async def test_an_answer_made_of_what_was_edited_after_it_was_read_is_not_kept(layer: CacheLayer) -> None:
    """It was kept after the edit was declared, and so was served for as long as an answer lives."""
    books = Books(a="old", b="B")
    search, answer = layer.retrieval(books, corpus="kb"), layer.cached(say)

    async def ask(edited: str = "") -> Source:
        READ["text"] = (await search("a"))[0]["text"]
        if edited:
            books.texts["a"] = edited
            await layer.invalidate(corpus="kb", documents=["a"])
        return (await answer.outcome("?")).source

    with layer.scope():
        assert await ask("new") is Source.BACKEND
        assert (await ask(), await answer("?")) == (Source.BACKEND, "new")
    with layer.scope():
        assert await ask() is Source.MEMORY and await answer("?") == "new"


async def test_one_edit_does_not_keep_a_lasting_context_from_caching(layer: CacheLayer) -> None:
    search, answer = layer.retrieval(Books(a="A", b="B"), corpus="kb"), layer.cached(say)
    with layer.scope():
        READ["text"] = (await search("a"))[0]["text"]
        await layer.invalidate(corpus="kb", documents=["a"])
        told = [(await answer.outcome(question)).source for question in ("1", "2", "2")]
        assert told == [Source.BACKEND, Source.BACKEND, Source.MEMORY]
        await layer.invalidate(corpus="kb", documents=["b"])  # of which nothing was read here
        assert (await answer.outcome("3")).source is Source.BACKEND
        assert (await answer.outcome("3")).source is Source.MEMORY


async def test_an_edit_during_the_reading_counts(layer: CacheLayer) -> None:
    begun, edited = asyncio.Event(), asyncio.Event()

    async def slow(query: str) -> list[dict[str, Any]]:
        begun.set()
        await edited.wait()
        return [{"id": "a", "text": "old"}]

    search, answer = layer.retrieval(slow, corpus="kb"), layer.cached(say)

    async def ask() -> None:
        READ["text"] = (await search("a"))[0]["text"]
        await answer("?")

    asking = asyncio.create_task(ask())
    await begun.wait()
    await layer.invalidate(corpus="kb", documents=["a"])
    edited.set()
    await asking
    assert (await answer.outcome("?")).source is Source.BACKEND


async def test_tools_that_were_invalidated_after_they_were_used_count(layer: CacheLayer) -> None:
    look = layer.tools(lambda item: item, keep="1h", name="stock")
    plain = layer.tools(lambda item: item, name="shelf")  # which runs each time
    answer = layer.cached(say)
    for tool, name in ((look, "stock"), (plain, "shelf")):
        with layer.scope():
            READ["text"] = tool(item="lamp")
            await layer.invalidate(tools=[name])
            await answer(name)
            assert (await answer.outcome(name)).source is Source.BACKEND
            assert (await answer.outcome(name)).source is Source.MEMORY


async def test_what_is_declared_as_used_and_then_invalidated_counts(layer: CacheLayer) -> None:
    answer = layer.cached(say)
    READ["text"] = "A"
    with layer.scope():
        layer.used(documents=["a"])
        await layer.invalidate(documents=["a"])
        await answer("?")
        assert (await answer.outcome("?")).source is Source.BACKEND


async def test_what_a_step_says_it_read_goes_with_its_whole_corpus() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(semantic=False)
        async def summary(id: str, corpus: str | None = None) -> str:
            layer.used(documents=[id], corpus=corpus)
            return f"what {id} says"

        for _ in range(2):
            await summary("a")
            await summary("a", "help")
        assert await layer.invalidate(corpus="other") == 0
        assert await layer.invalidate(corpus="help") == 1
        assert await layer.invalidate(corpus="default") == 1
