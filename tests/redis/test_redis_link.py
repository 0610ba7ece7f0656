"""Connections: their attempts, who waits for them, and how long they may be silent."""

from __future__ import annotations

import asyncio

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually, record
from redis_servers import free_port

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.errors import StoreFault
from cachelayer.exact.redis.link import Dialer, Link
from cachelayer.exact.redis.pipe import pack
from cachelayer.exact.redis.url import parse
from cachelayer.flow.background import Background
from cachelayer.testing import Gate


async def test_once_there_is_word_that_the_server_is_back_the_next_attempt_is_waited_for(own_server):
    server = own_server()
    server.kill()
    target, tasks = parse(server.url), Background()
    link = Link(Dialer(target, limit=4), ("127.0.0.1", server.port), tasks)
    link.open()
    await eventually(lambda: link.failures > 1)
    with pytest.raises(StoreFault, match="cannot connect"):
        await link.ready()
    server.start()
    link.hurry()
    pipe = await link.ready()
    assert pipe is link.pipe and link.failures == 0
    link.close()
    await tasks.cancel()


async def test_a_read_waits_for_the_connection_that_is_being_made(server, open_store):
    """Word that Redis is back comes by one connection; those who try then read by another."""
    store = await open_store(server.url)
    await store.put([record()])
    reader = store._lane().only.reader
    for _ in range(20):
        reader.pipe.abort(StoreFault("cut"))
        assert reader.pipe is None
        assert (await store.get(record().key, record().canonical, 2.0)).payload == b"answer"


async def test_a_longer_lag_bears_a_longer_silence(server, open_store):
    async with FaultProxy(server.port) as proxy:
        strict, patient = await open_store(proxy.url), await open_store(f"{proxy.url}?lag=30s")
        proxy.hang = True
        await eventually(lambda: not strict.coherent)
        assert patient.coherent
        proxy.heal()
        await eventually(lambda: strict.coherent)


async def test_a_server_that_cannot_be_used_is_told_in_the_log_with_its_reason_and_no_password(
    own_server, caplog
):
    """An old Redis, or a proxy, says back what it does not understand: the greeting, with the password in it."""
    server = own_server("--rename-command", "HELLO", "")
    for url in (f"redis://ann:sesame@127.0.0.1:{server.port}/0", f"redis://127.0.0.1:{free_port()}/0"):
        async with CacheLayer(store=url, semantic=False, policy=Policy(budgets=Budgets(store="5s"))) as layer:
            ask = layer.wrap(Gate(opened=True), name="ask")
            assert await ask("a question") == "answer 1"
    assert "Redis >= 6 refused the greeting: ERR unknown command 'HELLO'" in caplog.text
    assert ": ConnectionRefusedError" in caplog.text
    assert "sesame" not in caplog.text and "a question" not in caplog.text


async def test_a_server_that_turns_connections_away_is_quoted_in_the_log(own_server, caplog):
    """It says why, too many clients or protected mode, and closes before it reads a word."""
    server = own_server("--maxclients", "1")
    with server.client():
        async with CacheLayer(store=server.url, semantic=False):
            assert "max number of clients reached" in caplog.text


async def test_a_name_is_looked_up_anew_once_its_server_is_a_replica(own_server, open_store):
    """Where the old primary went on as one, nothing was stored, and no invalidation told, until somebody restarted."""
    old, new = own_server(), own_server()
    async with FaultProxy(old.port) as proxy:
        store = await open_store(f"{proxy.url}?lag=5s")
        await store.put([record()])
        old.do("REPLICAOF", "127.0.0.1", str(new.port))
        before = proxy.connections
        await eventually(lambda: proxy.connections > before)
        proxy.target = new.port
        await eventually(lambda: new.do("CLIENT", "LIST").count(b"name=cachelayer") >= 2)
        await store.start()
        await store.invalidate(tags=["t"])
        assert await store.put([record("b")]) == 1
        assert new.do("EXISTS", store._names.entry(record("b").key)) == 1


async def test_a_loop_that_stood_still_is_no_silence_of_the_server(server):
    """A program that computes for two seconds between two calls was cut off at each, before an answer could come."""
    target, tasks = parse(server.strict_url), Background()
    link = Link(Dialer(target, limit=4), ("127.0.0.1", server.port), tasks)
    pipe = await link.ready()
    link.watch(1.0)
    reply = pipe.send(pack(b"PING"))
    link.watch(3.0)
    assert await reply == b"PONG"
    reply = pipe.send(pack(b"PING"))
    for moment in (5.0, 6.5):  # it is owed by the one, and still by the other
        assert not pipe.lost.done()
        link.watch(moment)
    with pytest.raises(StoreFault, match="owes replies"):
        await reply
    link.close()
    await tasks.cancel()


async def test_what_a_connection_owed_is_not_laid_to_the_next_one(server):
    """Both were sent as much, the greeting alone."""
    target, tasks = parse(server.strict_url), Background()
    link = Link(Dialer(target, limit=4), ("127.0.0.1", server.port), tasks)
    for moments in ((1.0, 2.5), (3.0,)):
        pipe = await link.ready(patient=True)
        reply = pipe.send(pack(b"PING"))
        for moment in moments:
            link.watch(moment)
        assert pipe.lost.done() is (len(moments) > 1)
        await asyncio.wait([reply])
    assert reply.result() == b"PONG"
    link.close()
    await tasks.cancel()


async def test_a_connection_bears_a_stall_for_as_long_as_the_lag_says(server):
    """It was cut after a second, however long the network was said to stall, and what was being written was lost."""
    target, tasks = parse(f"{server.strict_url}?lag=10s"), Background()
    link = Link(Dialer(target, limit=4), ("127.0.0.1", server.port), tasks)
    reply = (await link.ready()).send(pack(b"PING"))
    for moment in (1.0, 7.0):
        link.watch(moment)
    assert await reply == b"PONG"
    link.close()
    await tasks.cancel()


async def test_a_connection_that_is_still_taking_a_large_answer_does_not_stand_still(server):
    """It was cut a second after the last reply, however fast the answer was leaving."""
    async with FaultProxy(server.port) as proxy:
        target, tasks = parse(proxy.url), Background()
        link = Link(Dialer(target, limit=4), ("127.0.0.1", proxy.port), tasks)
        pipe = await link.ready()
        proxy.hold = b"SET"
        reply = pipe.send(pack(b"SET", b"large", bytes(2**26)))
        await proxy.held.wait()  # what it and the system hold is full
        link.watch(1.0)
        before = pipe.transport.get_write_buffer_size()
        proxy.hold = None
        proxy.go.set()
        await eventually(lambda: pipe.transport.get_write_buffer_size() < before)
        link.watch(3.0)
        assert await reply == b"OK"
        link.close()
        await tasks.cancel()
