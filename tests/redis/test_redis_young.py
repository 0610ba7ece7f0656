"""What is stored that was begun before the connection that writes it, or before the server was emptied."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable

from redis_records import record
from redis_servers import Server

from cachelayer.exact.redis import RedisStore
from cachelayer.exact.redis.epochs import unpack
from cachelayer.types import Reason, Record

Open = Callable[..., Awaitable[RedisStore]]


def begun(name: str, **fields: object) -> Record:
    """A record whose computation began a second ago, before the connection that is to write it."""
    return record(name, created=time.time(), seconds=1.0, tags=("t",), **fields)


def age(server: Server, seconds: float) -> None:
    """Let all epochs be older."""
    for name in server.do("KEYS", "cachelayer:e:*"):
        epoch = unpack(server.do("GET", name))
        assert epoch is not None
        server.do("SET", name, dataclasses.replace(epoch, written=epoch.written - seconds).pack())


async def seen_before(server: Server, open_store: Open) -> RedisStore:
    """A store that has only now connected to a server with epochs of long ago."""
    assert await (await open_store(server.url)).put([record("old", tags=("t",))]) == 1
    age(server, 60.0)
    return await open_store(server.url)


async def test_where_an_epoch_is_older_the_answer_is_stored(server: Server, open_store: Open) -> None:
    store = await seen_before(server, open_store)
    assert await store.put([begun("a")]) == 1
    assert store.refused[Reason.INVALIDATED] == 0


async def test_where_no_epoch_is_older_it_is_not(server: Server, open_store: Open) -> None:
    store = await seen_before(server, open_store)
    server.do("FLUSHDB")  # as after this a deletion would be forgotten
    assert await (await open_store(server.url)).put([begun("a")]) == 0
    assert await store.put([begun("a")]) == 0


async def test_what_was_invalidated_since_is_not_stored(server: Server, open_store: Open) -> None:
    store = await seen_before(server, open_store)
    await (await open_store(server.url)).invalidate(tags=["t"])
    assert await store.put([begun("a")]) == 0


async def test_what_was_deleted_since_is_not_stored(server: Server, open_store: Open) -> None:
    store = await seen_before(server, open_store)
    await (await open_store(server.url)).delete([record("a").key])
    assert await store.put([begun("a")]) == 0


async def test_an_epoch_that_another_run_of_the_server_was_given_proves_nothing(
    server: Server, open_store: Open
) -> None:
    store = await seen_before(server, open_store)
    for name in server.do("KEYS", "cachelayer:e:*"):
        epoch = unpack(server.do("GET", name))
        assert epoch is not None
        server.do("SET", name, dataclasses.replace(epoch, incarnation=b"another!").pack())
    younger = await open_store(server.url, trust_reloaded=True)
    assert await younger.put([begun("a")]) == 0
    await store.aclose()


async def test_a_flush_makes_a_connection_young(server: Server, open_store: Open) -> None:
    """What was declared invalid before it is forgotten: an answer that was begun earlier still was stored."""
    store, other = await open_store(server.url), await open_store(server.url)
    await store.put([record("old", tags=("t",))])
    made = record("a", created=time.time(), tags=("t",))
    await other.invalidate(tags=["t"])
    server.do("FLUSHDB")
    await store.sync()
    assert await store.put([made]) == 0
