"""With `encrypt_keys` the names of tags, tenants and functions are hidden in Redis too, and heard by their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from redis_records import record
from redis_servers import Server

from cachelayer import CacheLayer
from cachelayer.exact.redis import Changed, RedisStore
from cachelayer.exact.redis.epochs import VERSION, unpack
from cachelayer.testing import Gate

pytest.importorskip("cryptography")
OLD, NEW = b"o" * 32, b"n" * 32
Open = Callable[..., Awaitable[RedisStore]]


async def told(store: RedisStore, act: Callable[[], Awaitable[None]]) -> Changed:
    """What `store` hears of `act`."""
    async with store.changes() as changes:
        await act()
        return await anext(changes)


async def test_no_name_of_a_tag_a_tenant_or_a_function_stands_in_redis(server: Server) -> None:
    store = RedisStore(server.url, encrypt_keys=[NEW])
    async with CacheLayer(store=store, semantic=False) as layer:
        ask = layer.wrap(Gate(opened=True), name="secret function", tags=["secret tag"])
        with layer.scope(tenant="secret tenant"):
            await ask("secret question")
        await layer.invalidate(tags=["secret other tag"])
        await layer.flush()
    names = server.do("KEYS", "*")
    assert len(names) >= 6
    for name in names:
        assert b"secret" not in server.do("DUMP", name)


async def test_others_hear_of_what_is_hidden_by_name(server: Server, open_store: Open) -> None:
    one, two = [await open_store(server.url, encrypt_keys=[NEW]) for _ in range(2)]
    change = await told(two, lambda: one.invalidate(tags=["t"], scopes=[b"scope"]))
    assert (change.everything, change.tags) == (False, ["t"])


async def test_while_keys_are_exchanged_both_sides_hear_of_each_other(
    server: Server, open_store: Open
) -> None:
    first = await open_store(server.url, encrypt_keys=[OLD, NEW])
    second = await open_store(server.url, encrypt_keys=[NEW, OLD])
    assert (await told(second, lambda: first.invalidate(tags=["t"]))).tags == ["t"]
    assert (await told(first, lambda: second.invalidate(tags=["u"]))).tags == ["u"]


async def test_who_lacks_the_key_takes_a_change_of_what_it_holds_for_everything(
    server: Server, open_store: Open
) -> None:
    one, two = await open_store(server.url, encrypt_keys=[NEW]), await open_store(server.url)
    await two.put([record("a", tags=("t",))])
    assert (await told(two, lambda: one.invalidate(tags=["t"]))).everything


async def test_what_was_written_in_clear_is_kept_and_hidden_at_the_next_invalidation(
    server: Server, open_store: Open
) -> None:
    plain, hiding = await open_store(server.url), await open_store(server.url, encrypt_keys=[NEW])
    await plain.put([record("a", tags=("t",))])
    before = server.do("KEYS", "cachelayer:e:*")
    tokens = {name: unpack(server.do("GET", name)) for name in before}
    await hiding.put([record("b", tags=("t",))])
    assert {name: unpack(server.do("GET", name)) for name in before} == tokens
    await hiding.invalidate(tags=["t"], scopes=[b"scope"])
    for name in before:
        assert server.do("GET", name)[0] != VERSION
