"""Servers of a test's own: one that answers every path by a function, and stand-ins that all run for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from serve_server import ServeStandin


@asynccontextmanager
async def answering(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """The address of a server whose every path `answer` serves."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@asynccontextmanager
async def started(*servers: ServeStandin) -> AsyncIterator[None]:
    """All of them run, until they crash."""
    for server in servers:
        await server.start()
    yield
    for server in servers:
        await server.crash()
