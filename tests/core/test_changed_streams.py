"""A stream goes on for others after its first caller left: kept for what was asked, unless that was changed since."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from cachelayer import CacheLayer

Messages = list[dict[str, str]]
HELLO = {"role": "user", "content": "hello"}
LATER = {"role": "user", "content": "something else"}

changes = pytest.mark.parametrize("changed", [False, True])


class Chat:
    """Streams of two chunks; the arguments are read for the second, when the test says so."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun, self.answers, self.goes_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def generator(self, messages: Messages) -> AsyncIterator[str]:
        self.calls += 1
        async for chunk in self._chunks(messages):
            yield chunk

    async def coroutine(self, messages: Messages) -> AsyncIterator[str]:
        self.calls += 1
        self.begun.set()
        await self.answers.wait()
        return self._chunks(messages)

    def plain(self, messages: Messages) -> Iterator[str]:
        self.calls += 1
        yield "answer "
        yield f"to {messages[-1]['content']}"

    async def _chunks(self, messages: Messages) -> AsyncIterator[str]:
        yield "answer "
        await self.goes_on.wait()
        yield f"to {messages[-1]['content']}"


async def read(stream: Any) -> str:
    return "".join([chunk async for chunk in stream])


@changes
async def test_the_first_caller_left_while_it_read(changed: bool) -> None:
    chat, mine = Chat(), [HELLO]
    async with CacheLayer(semantic=False) as layer:
        ask = layer.wrap(chat.generator, name="chat")
        first, second = ask(mine), ask([HELLO])
        assert await anext(first) == await anext(second) == "answer "
        await first.aclose()
        mine += [LATER] * changed
        chat.goes_on.set()
        await read(second)
        assert await read(ask([HELLO])) == "answer to hello"
    assert chat.calls == 1 + changed


@changes
async def test_the_first_caller_left_before_there_was_a_stream(changed: bool) -> None:
    chat, mine = Chat(), [HELLO]
    async with CacheLayer(semantic=False) as layer:
        ask = layer.wrap(chat.coroutine, name="chat")
        first = asyncio.create_task(ask(mine))
        await chat.begun.wait()
        second = asyncio.create_task(ask([HELLO]))
        await asyncio.sleep(0)
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first
        chat.answers.set()
        stream = await second
        assert await anext(stream) == "answer "
        mine += [LATER] * changed
        chat.goes_on.set()
        await read(stream)
        assert await read(await ask([HELLO])) == "answer to hello"
    assert chat.calls == 1 + changed


@changes
def test_the_first_caller_of_a_plain_generator_left(changed: bool) -> None:
    chat, mine = Chat(), [HELLO]
    ask = CacheLayer(semantic=False).wrap(chat.plain, name="chat")
    first, second = ask(mine), ask([HELLO])
    assert next(first) == next(second) == "answer "
    first.close()
    mine += [LATER] * changed
    list(second)
    assert "".join(ask([HELLO])) == "answer to hello"
    assert chat.calls == 1 + changed
