"""After an erasure nothing of it lies in Redis: not beside evicted entries, not by writers who were under way."""

from __future__ import annotations

import asyncio

import pytest
from fault_proxy import FaultProxy
from redis_records import record

from cachelayer.errors import StoreFault
from cachelayer.exact.redis.wire import VERSION
from cachelayer.types import Findable, Record


def beside(of: Record) -> Findable:
    """What makes a record findable by meaning."""
    name = of.canonical.partition(b":")[2].decode()
    return Findable(of.key, of.canonical, b"partition", of.function, f"about {name}", of.stale_until)


async def test_what_lies_beside_an_entry_that_was_evicted_is_erased_too(pair, server):
    """Redis evicts keys one by one; what is left tells nobody anything but holds a tenant's question."""
    one, two = pair
    records = [record("gone", tags=("acme",)), record("kept", tags=("beta",))]
    await one.put(records)
    await one.publish([beside(each) for each in records])
    server.do("DEL", one._names.entry(records[0].key))
    await two.erase(tags=["acme"])
    assert server.do("KEYS", "cachelayer:[vn]:*") != []
    assert all(one._names.near(records[0].key) != name for name in server.do("KEYS", "cachelayer:n:*"))
    assert [item.text for item in (await two.published(b"", 10))[0]] == ["about kept"]


async def test_an_entry_that_is_gone_is_made_findable_for_nobody(pair, server):
    """It was erased before its vector was written, and nothing of it comes back."""
    one, two = pair
    await one.put([record("here")])
    await one.publish([beside(record("gone")), beside(record("here"))])
    assert server.do("KEYS", "cachelayer:n:*") == [one._names.near(record("here").key)]
    assert [item.text for item in (await two.published(b"", 10))[0]] == ["about here"]
    assert server.do("XLEN", "cachelayer:f") == 1


async def test_what_another_version_wrote_is_erased_whoever_it_belongs_to(pair, server):
    """Beside a newer version, or after an older one: a tenant's answers stayed until they expired."""
    one, two = pair
    await one.put([record("other", tags=("acme",)), record("kept", tags=("beta",))])
    name = one._names.entry(record("other").key)
    server.do("SETRANGE", name, 2, bytes([VERSION + 1]))
    server.do("SET", "cachelayer:v:{somebody's own}", "a list")
    await two.erase(tags=["gamma"])
    left = {b"cachelayer:v:{somebody's own}", one._names.entry(record("kept").key)}
    assert set(server.do("KEYS", "cachelayer:v:*")) == left


async def test_what_was_on_its_way_while_its_tenant_was_erased_is_taken_back(server, open_store):
    async with FaultProxy(server.port) as proxy:
        far, near = await open_store(f"{proxy.url}?lag=5s"), await open_store(server.url)
        proxy.hold = b"EVAL"
        writing = asyncio.create_task(far.put([record("a", tags=("acme",)), record("b", tags=("beta",))]))
        await proxy.held.wait()
        await near.erase(tags=["acme"])
        proxy.go.set()
        assert await writing == 1
        assert far.stats()["refused"] == {"invalidated": 1}
        assert server.do("KEYS", "cachelayer:v:*") == [far._names.entry(record("b").key)]


@pytest.mark.parametrize("refused", ["unlink", "getrange", "exists"])
async def test_an_erasure_that_redis_refuses_is_not_said_to_be_done(own_server, open_store, refused):
    """The rights of a user may change while it is connected."""
    server = own_server()
    server.do("ACL", "SETUSER", "cache", "on", ">secret", "~*", "&*", "+@all")
    store = await open_store(f"redis://cache:secret@127.0.0.1:{server.port}/0")
    await store.put([record("a", tags=("acme",))])
    server.do("SET", store._names.near(record("b").key), "left behind")
    server.do("ACL", "SETUSER", "cache", f"-{refused}")
    with pytest.raises(StoreFault, match="NOPERM"):
        await store.erase(tags=["acme"])
