"""A live stream belongs to one loop: who asks for the same on another has one of its own, whole."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cachelayer import CacheLayer


class Speech:
    """Streams that begin and end when the test says so, on whatever loop."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun, self.begins, self.goes_on = threading.Event(), threading.Event(), threading.Event()

    async def generator(self, question: str) -> AsyncIterator[str]:
        self.calls += 1
        self.begun.set()
        async for word in self._words():
            yield word

    async def coroutine(self, question: str) -> AsyncIterator[str]:
        self.calls += 1
        self.begun.set()
        await asyncio.to_thread(self.begins.wait)
        return self._words()

    async def _words(self) -> AsyncIterator[str]:
        yield "one "
        await asyncio.to_thread(self.goes_on.wait)
        yield "two"


@pytest.mark.parametrize("kind", ["generator", "coroutine"])
def test_two_loops_do_not_read_one_live_stream(kind: str) -> None:
    speech, layer, heard = Speech(), CacheLayer(semantic=False), list[str]()
    ask = layer.wrap(getattr(speech, kind), name="ask")
    asked = threading.Event()

    async def read(second: bool) -> None:
        stream: Any = ask("q")
        if kind == "coroutine":
            waits = asyncio.ensure_future(stream)
            await asyncio.sleep(0)
            if second:
                asked.set()
            stream = await waits
        words = [await anext(stream)]
        asked.set() if second else None
        words += [word async for word in stream]
        heard.append("".join(words))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(read(n))) for n in (False, True)]
    threads[0].start()
    speech.begun.wait(10)
    threads[1].start()
    asked.wait(10)
    speech.begins.set()
    speech.goes_on.set()
    for thread in threads:
        thread.join(30)
    assert heard == ["one two"] * 2 and speech.calls == 2
