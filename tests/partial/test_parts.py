"""What answers are built from: exactly the dependants go, and nobody is served what is older than an invalidation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from books import Books

from cachelayer import CacheLayer, ConfigurationError, Source
from cachelayer.testing import ManualClock


async def test_an_answer_goes_with_the_documents_that_it_was_built_on_and_no_other_does() -> None:
    books = Books(a="A", b="B", c="C")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)
        rerank = layer.step("rerank", lambda texts: sorted(texts), version="1")

        @layer.cached
        async def ask(question: str) -> str:
            found = await search(question)
            return " ".join(rerank([document["text"] for document in found]))

        assert [await ask(q) for q in ("a b", "b c", "c")] == ["A B", "B C", "C"]
        books.edit("a", "X")
        # the answer and its retrieval; what the step made of texts stays true of these texts
        assert await layer.invalidate(documents=["a"], dry_run=True) == 2
        assert await layer.invalidate(documents=["a"]) == 2
        sources = [(await ask.outcome(q)).source for q in ("a b", "b c", "c")]
        assert sources == [Source.BACKEND, Source.MEMORY, Source.MEMORY] and await ask("a b") == "B X"


async def test_a_new_version_drops_what_was_built_on_the_old_one() -> None:
    books = Books(a="A", b="B")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def ask(question: str) -> str:
            return " ".join(document["text"] for document in await search(question))

        await ask("a")
        books.edit("a", "X")
        assert await ask("a") == "A"  # nobody said so yet
        await search("a b")  # a fresh retrieval sees it
        assert await ask("a") == "X"


async def test_what_was_retrieved_before_a_call_is_part_of_its_answer_without_any_wrapper_around() -> None:
    books = Books(a="A")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def complete(prompt: str) -> str:
            return prompt.upper()

        with layer.scope():
            found = await search("a")
            await complete(f"say {found[0]['id']}")
        with layer.scope():
            await complete("unrelated")
        assert await layer.invalidate(documents=["a"]) == 2
        assert (await complete.outcome("unrelated")).source is Source.MEMORY


async def test_the_tree_shows_documents_with_versions_under_the_steps_that_read_them() -> None:
    books = Books(a="A", b="B")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books, corpus="kb", name="search")
        words = layer.prompts.template("words", "{n} words")

        @layer.cached(name="ask")
        async def ask(question: str) -> str:
            words(n=3)
            return " ".join(document["text"] for document in await search(question))

        outcome = await ask.outcome("a b")
        told = str(layer.explain(outcome))
        assert told.startswith("answer ask") and "prompt words" in told
        assert "    document kb/a (version 1)" in told and "  answer search" in told
        assert layer.explain("e999999") is None


async def test_a_step_that_left_memory_stands_in_the_tree_by_its_digest() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock) as layer:
        search = layer.retrieval(Books(a="A", b="B"), name="search", ttl=10)

        @layer.cached(name="ask", stale_if_error="1h")
        async def ask(question: str) -> str:
            return " ".join(document["text"] for document in await search(question))

        outcome = await ask.outcome("a")
        assert "  answer search" in str(layer.explain(outcome))
        clock.advance(60)
        await search("b")  # with which the expired one leaves the memory
        told = str(layer.explain(outcome))
        assert told.startswith("answer ask") and "document" in told and "  answer " in told
        assert "answer search" not in told


async def test_an_answer_of_very_many_parts_goes_with_any_of_them() -> None:
    ids = [f"d{n}" for n in range(400)]
    books = Books(**dict.fromkeys(ids, "x"), other="y")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def ask(question: str) -> int:
            return len(await search(question, k=400))

        await ask(" ".join(ids))
        assert all(len(slot.tags) < 300 for memory in layer._keeper.memories for slot in memory)
        assert await layer.invalidate(documents=["d399"]) == 2


async def test_a_context_that_goes_on_for_ever_remembers_the_latest_parts_alone() -> None:
    books = Books(**{f"d{n}": "x" for n in range(400)})
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def complete(prompt: str) -> str:
            return prompt

        for n in range(400):
            await search(f"d{n}")
        await complete("say")
        assert await layer.invalidate(documents=["d0"], dry_run=True) == 1  # the retrieval
        assert await layer.invalidate(documents=["d399"], dry_run=True) == 2


async def test_streams_pass_on_what_they_were_built_from() -> None:
    books = Books(a="A")
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def tell(question: str) -> Any:
            for document in await search(question):
                yield document["text"]

        @layer.cached
        async def ask(question: str) -> str:
            return "".join([piece async for piece in tell(question)])

        await ask("a")
        assert await layer.invalidate(documents=["a"]) == 3


def test_plain_functions_note_parts_too() -> None:
    with_loop = asyncio.new_event_loop()
    layer = CacheLayer(semantic=False)
    calls: list[str] = []
    price = layer.tools(lambda item: calls.append(item) or len(item), keep="1h", name="price")

    @layer.cached
    def quote(item: str) -> int:
        return price(item=item) * 2

    assert quote("abc") == quote("abc") == 6 and calls == ["abc"]
    assert with_loop.run_until_complete(layer.invalidate(tools=["price"])) == 2
    assert quote("abc") == 6 and calls == ["abc", "abc"]
    with_loop.run_until_complete(layer.aclose())
    with_loop.close()


async def test_who_comes_after_an_invalidation_rides_on_nothing_that_began_before_it() -> None:
    books, gate = Books(a="old"), asyncio.Event()
    read: asyncio.Queue[str] = asyncio.Queue()
    async with asyncio.timeout(60), CacheLayer(semantic=False) as layer:
        search = layer.retrieval(books)

        @layer.cached
        async def ask(question: str) -> str:
            text = (await search(question))[0]["text"]
            read.put_nowait(text)
            await gate.wait()
            return text

        first = asyncio.ensure_future(ask("a"))
        assert await read.get() == "old"
        books.edit("a", "new")
        await layer.invalidate(documents=["a"])
        second = asyncio.ensure_future(ask("a"))
        assert await read.get() == "new"
        gate.set()
        assert [await first, await second, await ask("a")] == ["old", "new", "new"]


async def test_a_step_that_reads_for_itself_says_what_it_used() -> None:
    shelf = {"a": "A"}
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(semantic=False)
        async def summary(id: str) -> str:
            layer.used(documents=[id])
            return shelf[id]

        assert [await summary("a") for _ in range(2)] == ["A", "A"]
        shelf["a"] = "B"
        assert await layer.invalidate(documents=["a"]) == 1 and await summary("a") == "B"


async def test_documents_may_be_named_by_any_iterable_and_none_of_them_is_nothing_to_do() -> None:
    shelf = {"a": "A"}
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(semantic=False)
        async def summary(id: str) -> str:
            layer.used(documents=(one for one in [id]), corpus="help")
            layer.used(corpus="help")
            return shelf[id]

        assert [await summary("a") for _ in range(2)] == [
            "A",
            "A",
        ]  # the first told that parts are to be noted
        assert await layer.invalidate(documents=[], corpus="help") == 0  # the corpus itself was not named
        assert await layer.invalidate(documents=[], scope={"function": summary.function.name}) == 0
        assert await layer.invalidate(documents=(one for one in "ab"), corpus="help", dry_run=True) == 1
        assert await layer.invalidate(documents=(one for one in "ab"), corpus="help", tools=["t"]) == 1
        with pytest.raises(ConfigurationError, match="corpus=3"):
            await layer.invalidate(documents=["a"], corpus=3)
        with pytest.raises(ConfigurationError, match="corpus='': give a non-empty name"):
            await layer.invalidate(documents=["a"], corpus="")
        with pytest.raises(ConfigurationError, match="corpus=None"):
            layer.retrieval(summary, corpus=None)  # type: ignore[arg-type]


async def test_tags_may_be_named_by_any_iterable() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(tags=["kb:{topic}"])
        async def answer(topic: str) -> str:
            return topic

        for topic in "ab":
            await answer(topic)
        assert await layer.invalidate(tags=(f"kb:{topic}" for topic in "ab"), documents=["d"]) == 2


@pytest.mark.parametrize(
    "wrong", [{"documents": "a"}, {"tools": [1]}, {"tools": 1}, {"prompts": None}, {"tags": 1}]
)
async def test_bad_parts_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(wrong))}=.*: give a list of"):
        await CacheLayer(semantic=False).invalidate(**wrong)


async def test_what_began_between_two_steps_of_an_invalidation_and_read_what_was_not_gone_yet_is_not_kept() -> (
    None
):
    version, done = "old", asyncio.Event()
    async with CacheLayer(semantic=False) as layer:

        async def read(n: int) -> str:
            layer.used(documents=["a"])
            return version

        part = layer.step("read", read)

        @layer.cached
        async def ask(question: str) -> str:
            told = "new"
            for n in range(5000):
                told = await part(n)
                if told == "old":
                    break
            await done.wait()
            return told

        for n in range(5000):
            await part(n)
        version = "new"
        edit = asyncio.ensure_future(layer.invalidate(documents=["a"]))
        await asyncio.sleep(0)  # the first step
        asked = asyncio.ensure_future(ask("a"))
        await edit
        done.set()
        assert await asked == "old" and await ask("a") == "new"
