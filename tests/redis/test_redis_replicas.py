"""Replicas: one that stands still holds up nobody."""

from __future__ import annotations

from typing import Any

from redis_records import eventually
from redis_servers import Server


def followed(primary: Server) -> bool:
    return b"state=online" in primary.do("INFO", "replication")


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
