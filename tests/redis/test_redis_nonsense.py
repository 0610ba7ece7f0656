"""A server that answers in RESP, but nothing that the question allows: a fault that is told, then it is well again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import hiredis
import pytest
from fault_proxy import FaultProxy
from redis_records import eventually, record, served

from cachelayer.errors import StoreFault
from cachelayer.exact.redis.topology import redirect


def instead(pattern: bytes, spoiled: bytes) -> Callable[[bytes], bytes]:
    return lambda data: re.sub(pattern, spoiled, data)


async def recovers(store: Any) -> None:
    await eventually(lambda: store.coherent)
    while await store.put([record()]) != 1:  # what was computed while nothing was heard is refused
        await asyncio.sleep(0.01)
    assert await served(store) == b"answer"


@pytest.mark.parametrize("time", [b"*2\r\n$1\r\nx\r\n", b"*2\r\n*0\r\n", b"*2\r\n,inf\r\n"])
async def test_a_greeting_that_makes_no_sense_is_a_fault_and_the_next_attempt_is_made(
    server, make_store, time
):
    """The attempts ended for good, and whoever started the layer waited for ever."""
    async with FaultProxy(server.port) as proxy:
        proxy.garble = instead(rb"\*2\r\n\$10\r\n\d{10}\r\n", time)
        store = make_store(f"{proxy.url}?lag=5s")
        with pytest.raises(StoreFault, match="reply to another"):
            await store.start()
        proxy.heal()
        await recovers(store)


async def test_a_lone_server_that_sends_us_elsewhere_is_told_to_be_a_clusters(server, open_store):
    """The address it named was taken for another server of ours, whose silence hid everything from then on."""
    async with FaultProxy(server.port) as proxy:
        store = await open_store(f"{proxy.url}?lag=5s")
        proxy.garble = instead(rb"^_\r\n$", b"-MOVED 5 127.0.0.1:1\r\n")
        with pytest.raises(StoreFault, match=r"redis\+cluster://"):
            await store.get(record().key, record().canonical, 2.0)
        proxy.heal()
        await recovers(store)


@pytest.mark.parametrize("push", [b"*1\r\n:5\r\n", b"*1\r\n*0\r\n", b"*1\r\n_\r\n", b":5\r\n", b"-ERR x\r\n"])
async def test_a_push_that_cannot_be_read_ends_the_connection_and_no_more(server, open_store, push):
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    async with FaultProxy(server.port) as proxy:
        store = await open_store(f"{proxy.url}?lag=5s")
        before = proxy.connections
        proxy.garble = lambda data: b">2\r\n$10\r\ninvalidate\r\n" + push + data
        await eventually(lambda: proxy.connections > before)
        proxy.heal()
        await recovers(store)
    assert not told


@pytest.mark.parametrize("kind", ["l", "e:k", "e:r", "e"])
async def test_a_push_of_a_name_that_nobody_gives_changes_nothing(server, open_store, kind):
    """That of a lease ended the connection with a traceback in asyncio's log."""
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    name = f"cachelayer:{kind}:{{xyz}}".encode()
    async with FaultProxy(server.port) as proxy:
        store = await open_store(f"{proxy.url}?lag=5s")
        push = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%b\r\n" % (len(name), name)
        proxy.garble = lambda data: push + data
        connections = proxy.connections
        assert await served(store) is None
        await store.sync()
        assert proxy.connections == connections
    assert not told


async def test_a_release_that_is_answered_with_no_number_is_made_by_other_means(server, open_store):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(f"{proxy.url}?lag=5s")
        lease = await store.acquire(record().key, 10.0)
        proxy.garble = instead(rb"^:1\r\n$", b"*0\r\n")
        await lease.release()
        proxy.heal()
        assert await store.acquire(record().key, 10.0) is not None


async def test_a_cluster_that_is_described_in_no_known_way_is_a_fault(cluster, make_store):
    async with FaultProxy(cluster.servers[0].port) as proxy:
        proxy.garble = instead(rb":\d{5}@", b":xxxxx@")
        store = make_store(f"redis+cluster://127.0.0.1:{proxy.port}?lag=5s")
        with pytest.raises(StoreFault, match="reply to another"):
            await store.start()
        proxy.heal()
        await recovers(store)


@pytest.mark.parametrize("words", ["abc 127.0.0.1:1", "5 x:y", "99999 127.0.0.1:1", "5 127.0.0.1:70000"])
def test_a_redirection_that_leads_nowhere_is_an_error_like_others(words):
    assert redirect(hiredis.ReplyError(f"MOVED {words}")) is None
