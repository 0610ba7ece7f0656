"""Replicas: one that lost its primary hears of no invalidation, and one that stands still holds up nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually, record, served
from redis_servers import Server

from cachelayer.errors import StoreFault
from cachelayer.exact.redis.names import digest_of, tag_name


def followed(primary: Server) -> bool:
    return b"state=online" in primary.do("INFO", "replication")


async def test_a_replica_refuses_writes_and_still_answers(own_server: Any, open_store: Any) -> None:
    primary, replica = own_server("--repl-diskless-sync-delay", "0"), own_server()
    writer = await open_store(primary.url)
    await writer.put([record()])
    replica.do("REPLICAOF", "127.0.0.1", str(primary.port))
    await eventually(lambda: replica.do("ROLE")[3] == b"connected")
    store = await open_store(replica.url, trust_reloaded=True)
    for write, given in ((store.put, [record("b")]), (store.delete, [record().key])):
        with pytest.raises(StoreFault, match="READONLY"):
            await write(given)
    with pytest.raises(StoreFault, match="READONLY"):
        await store.invalidate(tags=["t"])
    assert (await store.get(record().key, record().canonical)).payload == b"answer"


async def test_a_replica_that_lost_its_primary_is_not_read_until_it_is_one_itself(
    own_server: Any, open_store: Any
) -> None:
    """It served for good what had been declared invalid at the primary."""
    server = own_server()
    store = await open_store(server.url)
    await store.put([record()])
    server.do("REPLICAOF", "127.0.0.1", "1")
    await eventually(lambda: not store.coherent)
    with pytest.raises(StoreFault):
        await store.get(record().key, record().canonical)
    with pytest.raises(StoreFault, match=r"silent or away|looked up anew"):
        await store.get(record().key, record().canonical)
    server.do("REPLICAOF", "NO", "ONE")
    await eventually(lambda: store.coherent)
    assert (await store.get(record().key, record().canonical)).payload == b"answer"


async def test_an_invalidation_of_many_tags_waits_once_for_a_replica_that_stands_still(
    own_server: Any, open_store: Any
) -> None:
    """It waited for each, so long that the primary was taken for lost: the invalidation failed, and so did all later
    attempts."""
    primary, replica = own_server("--repl-diskless-sync-delay", "0"), own_server()
    replica.do("REPLICAOF", "127.0.0.1", str(primary.port))
    await eventually(lambda: followed(primary))
    store = await open_store(primary.url)
    node = store._lane().only
    assert node.replicas == 1
    replica.freeze()
    connected = node.control.pipe
    await store.invalidate(tags=[f"t{n}" for n in range(200)])
    assert node.control.pipe is connected and store.stats()["unconfirmed"] > 0
    replica.thaw()


@pytest.mark.parametrize("by", ["tag", "key"])
async def test_what_no_replica_had_of_a_lost_primary_is_declared_invalid_again_where_one_takes_its_place(
    own_server: Any, open_store: Any, by: str
) -> None:
    """It was told to the primary alone, and valid again for good once that had fallen."""
    primary, replica = own_server("--repl-diskless-sync-delay", "0"), own_server()
    async with FaultProxy(primary.port) as between, FaultProxy(primary.port) as name:
        store = await open_store(f"{name.url}?lag=5s", trust_reloaded=True)
        wanted = record(tags=("t",))
        assert await store.put([wanted]) == 1
        entry, tomb, epoch = (store._names.entry(wanted.key), store._names.tomb(wanted.key),
                              store._names.epoch(digest_of(tag_name("t"))))  # fmt: skip
        replica.do("REPLICAOF", "127.0.0.1", str(between.port))
        await eventually(lambda: followed(primary) and replica.do("EXISTS", entry, epoch) == 2)
        await eventually(lambda: store._lane().only.replicas == 1)
        between.hang, token = True, replica.do("GET", epoch)
        before = store._lane().only.incarnation
        await (store.invalidate(tags=["t"]) if by == "tag" else store.delete([wanted.key]))
        assert store.stats()["unconfirmed"] == 1
        primary.kill()
        replica.do("REPLICAOF", "NO", "ONE")
        assert replica.do("EXISTS", entry, tomb) == 1 and replica.do("GET", epoch) == token
        name.target = replica.port
        node = store._lane().only
        while (
            node.coherent is False or node.incarnation == before or store._lane().coherence.replication._held
        ):
            assert await served(store) is None  # not for a moment, in the process that declared it
        await eventually(lambda: replica.do("GET", epoch) != token or replica.do("EXISTS", tomb))
        assert replica.do("EXISTS", entry) == (by == "tag")
        await eventually(lambda: not store._lane().coherence.replication._held)


async def test_a_lease_whose_release_fell_with_its_primary_is_given_back_to_the_one_that_takes_its_place(
    own_server: Any, open_store: Any
) -> None:
    """All who asked for the same waited until it expired: ten seconds."""
    primary, replica = own_server("--repl-diskless-sync-delay", "0"), own_server()
    async with FaultProxy(primary.port) as between, FaultProxy(primary.port) as name:
        store = await open_store(f"{name.url}?lag=5s")
        replica.do("REPLICAOF", "127.0.0.1", str(between.port))
        await eventually(lambda: followed(primary))
        await eventually(lambda: store._lane().only.replicas == 1)
        lease = await store.acquire(record().key, 60.0)
        held = store._names.lease(record().key)
        await eventually(lambda: replica.do("EXISTS", held))
        between.hang = True
        await lease.release()
        primary.kill()
        replica.do("REPLICAOF", "NO", "ONE")
        assert replica.do("EXISTS", held)
        other = await open_store(replica.url)
        waiting = asyncio.create_task(other.wait(record().key, 60.0))
        name.target = replica.port
        await asyncio.wait_for(waiting, 20)
        assert await other.acquire(record().key, 1.0) is not None
