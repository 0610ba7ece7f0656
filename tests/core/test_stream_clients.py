"""Streams of clients, which are no generators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from turns import turns

from cachelayer import CacheLayer
from cachelayer.flow.recording import READ_AHEAD


async def test_a_client_s_stream_that_has_no_aclose_is_closed_when_its_readers_leave() -> None:
    """Those of `anthropic`, and of `openai` before it had one: the connection stayed with a server that went on."""

    class Client:
        closed, given = asyncio.Event(), 0

        def __aiter__(self) -> Client:
            return self

        async def __anext__(self) -> str:
            self.given += 1
            return "word"

        async def close(self) -> None:
            self.closed.set()

    client = Client()

    @CacheLayer(semantic=False).cached
    async def ask(question: str) -> Any:
        return client

    stream = await ask("how?")
    assert await anext(stream) == "word"
    await turns(20)
    assert client.given > READ_AHEAD and not client.closed.is_set()  # it waits for its reader
    await stream.aclose()
    await asyncio.wait_for(client.closed.wait(), 10)


@pytest.mark.parametrize("fault", [None, ConnectionError("cut")], ids=["whole", "broken"])
@pytest.mark.parametrize("hangs", [False, True], ids=["fails", "hangs"])
async def test_readers_have_the_end_of_a_stream_whatever_becomes_of_closing_its_client(
    hangs: bool, fault: Exception | None
) -> None:
    """Who reads a stream to its end closes nothing, and would not have met this without a cache."""
    never = asyncio.Event()

    class Client:
        given = 0

        def __aiter__(self) -> Client:
            return self

        async def __anext__(self) -> str:
            await asyncio.sleep(0)
            self.given += 1
            if self.given <= 3:
                return "word"
            raise fault or StopAsyncIteration

        async def aclose(self) -> None:
            if hangs:
                await never.wait()
            raise OSError("the connection was gone already")

    layer = CacheLayer(semantic=False)

    @layer.cached
    async def ask(question: str) -> Any:
        return Client()

    async with asyncio.timeout(10):
        for _ in range(2):
            stream, had = await ask("how?"), []
            with pytest.raises(type(fault) if fault else StopAsyncIteration) as end:
                while True:
                    had.append(await anext(stream))
            assert had == ["word"] * 3 and (fault is None or end.value is fault)
    assert layer.stats()["flights"] == 0 and layer.stats()["entries"] == int(fault is None)


async def test_a_stream_that_had_to_be_waited_for_is_joined_while_it_runs() -> None:
    """As that of `create(stream=True)`, which waits for the head of its response."""
    created, go = 0, asyncio.Event()

    async def words() -> AsyncIterator[str]:
        yield "one"
        await go.wait()
        yield "two"

    @CacheLayer(semantic=False).cached
    async def create(question: str) -> Any:
        nonlocal created
        created += 1
        await asyncio.sleep(0)
        return words()

    early = await create("how?")
    assert await anext(early) == "one"
    late = await create("how?")
    go.set()
    assert [[word async for word in stream] for stream in (early, late)] == [["two"], ["one", "two"]]
    assert created == 1


@pytest.mark.parametrize("paced", [False, True])
def test_a_plain_stream_is_left_at_the_end_of_a_with_block_as_a_client_s_is(paced: bool) -> None:
    layer, closed = CacheLayer(semantic=False), 0

    class Client:
        """As `openai.Stream`."""

        def __init__(self) -> None:
            self.words = iter(["one", "two"])

        def __iter__(self) -> Iterator[str]:
            return self

        def __next__(self) -> str:
            return next(self.words)

        def close(self) -> None:
            nonlocal closed
            closed += 1

    @layer.cached
    def create(question: str) -> Any:
        return Client()

    @layer.cached
    def words(question: str) -> Any:
        yield from ("one", "two")

    for ask in (create, words):
        ask.function.stats.paced = paced
        for _ in range(2):
            with ask("left early") as stream:
                assert next(stream) == "one"
            assert list(stream) == []
        for _ in range(3):  # live, and replayed in two ways
            with ask("how?") as stream:
                assert list(stream) == ["one", "two"]
    assert closed == 2 and create.function.stats.backend_calls == 3


@pytest.mark.parametrize("paced", [False, True])
async def test_a_stream_has_the_close_of_its_client_made_now_or_before(paced: bool) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def words(question: str) -> AsyncIterator[str]:
        for word in ("one", "two"):
            yield word

    async def create(question: str) -> Any:
        return words(question)

    for ask in (layer.wrap(create, name="create"), words):
        ask.function.stats.paced = paced
        for _ in range(2):  # live and replayed
            made: Any = ask("how?")
            stream = await made if asyncio.iscoroutine(made) else made
            assert await anext(stream) == "one"
            await stream.close()
            assert [word async for word in stream] == []
            whole: Any = ask("how?")
            async with await whole if asyncio.iscoroutine(whole) else whole as stream:
                assert [word async for word in stream] == ["one", "two"]
