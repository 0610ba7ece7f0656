"""What a call held is let go when the call is over, however it ends: nothing of it waits for the garbage collector.

An exception holds the frames that it passed, and so a request, an image or a session that was in them; in an outage,
where each call fails, they would pile up.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from turns import turns

from cachelayer import CacheLayer
from cachelayer.testing import WordEmbedder


class Session:
    """What a call holds."""


class Backend:
    def __init__(self, layer: CacheLayer) -> None:
        self.layer, self.held = layer, list[weakref.ref[Session]]()

    def cached(self, fn: Callable[..., Any]) -> Any:
        return self.layer.wrap(fn, name=fn.__name__)

    def session(self) -> Session:
        made = Session()
        self.held.append(weakref.ref(made))
        return made

    async def fails(self, question: str) -> str:
        session = self.session()
        await asyncio.sleep(0)
        raise ConnectionError(session)

    async def fails_by_what_it_waits_for(self, question: str) -> str:
        session = self.session()
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(answer.set_exception, ConnectionError(session))
        try:
            return await answer
        finally:
            del answer

    async def hangs(self, question: str) -> str:
        session = self.session()
        await asyncio.Event().wait()
        return str(session)

    def fails_plainly(self, question: str) -> str:
        session = self.session()
        raise ConnectionError(session)

    async def stream(self, question: str) -> AsyncIterator[str]:
        session = self.session()
        yield "a"
        await asyncio.sleep(0)
        if question == "hang":
            await asyncio.Event().wait()
        raise ConnectionError(session)

    def lines(self, question: str) -> Iterator[str]:
        session = self.session()
        yield "a"
        if question == "fail":
            raise ConnectionError(session)


async def shared(backend: Backend) -> None:
    asked = backend.cached(backend.fails)
    await asyncio.gather(*(asked("q") for _ in range(3)), return_exceptions=True)


async def one(backend: Backend) -> None:
    await backend.cached(backend.fails)("q")


async def one_that_waits(backend: Backend) -> None:
    await backend.cached(backend.fails_by_what_it_waits_for)("q")


async def given_up(backend: Backend) -> None:
    asking = asyncio.create_task(backend.cached(backend.hangs)("q"))
    while not backend.held:
        await asyncio.sleep(0)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking


async def plain(backend: Backend) -> None:
    backend.cached(backend.fails_plainly)("q")


async def broken_stream(backend: Backend) -> None:
    async for _ in backend.cached(backend.stream)("fail"):
        pass


async def closed_stream(backend: Backend) -> None:
    stream = backend.cached(backend.stream)("hang")
    await anext(stream)
    await stream.aclose()


async def plain_streams(backend: Backend) -> None:
    lines = backend.cached(backend.lines)
    list(lines("whole"))
    list(lines("fail"))


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("similar", [False, True], ids=["exact", "similar"])
@pytest.mark.parametrize(
    "use",
    [shared, one, one_that_waits, given_up, plain, broken_stream, closed_stream, plain_streams],
    ids=lambda use: use.__name__,
)
async def test_nothing_waits_for_the_collector(
    use: Callable[[Backend], Awaitable[None]], similar: bool
) -> None:
    async with CacheLayer(embedder=WordEmbedder()) if similar else CacheLayer(semantic=False) as layer:
        backend = Backend(layer)
        with suppress(ConnectionError):
            await use(backend)
        await layer.flush()
        await turns(20)
        assert backend.held and not any(held() for held in backend.held)
