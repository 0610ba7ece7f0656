"""Streams of clients, which are no generators."""

from __future__ import annotations

import asyncio
from typing import Any

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
    for _ in range(20):
        await asyncio.sleep(0)
    assert client.given > READ_AHEAD and not client.closed.is_set()  # it waits for its reader
    await stream.aclose()
    await asyncio.wait_for(client.closed.wait(), 10)
