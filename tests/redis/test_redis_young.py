"""What is stored that was begun before the connection that writes it, or before the server was emptied."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from redis_records import record
from redis_servers import Server

from cachelayer.exact.redis import RedisStore

Open = Callable[..., Awaitable[RedisStore]]


async def test_a_flush_makes_a_connection_young(server: Server, open_store: Open) -> None:
    """What was declared invalid before it is forgotten: an answer that was begun earlier still was stored."""
    store, other = await open_store(server.url), await open_store(server.url)
    await store.put([record("old", tags=("t",))])
    made = record("a", created=time.time(), tags=("t",))
    await other.invalidate(tags=["t"])
    server.do("FLUSHDB")
    await store.sync()
    assert await store.put([made]) == 0
