"""The same store on a cluster of six: slots, moves, and the death of a primary."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from binascii import crc_hqx
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis_records import eventually, record
from redis_servers import Cluster, Plain, Server

from cachelayer.errors import StoreError, Unusable
from cachelayer.exact.redis.names import Names, slot_of
from cachelayer.exact.redis.seal import Seal
from cachelayer.exact.redis.topology import hosts_in, parse_nodes


@pytest.fixture
async def stores(cluster: Cluster, open_store):
    for server in cluster.primaries():
        server.do("FLUSHALL")
    return await open_store(cluster.url), await open_store(cluster.url)


async def test_entries_live_on_all_primaries_and_invalidations_reach_all(stores, cluster):
    one, two = stores
    records = [
        record(f"q{n}", b"answer %d" % n, tags=(f"t{n % 5}",), scope=b"s%d" % (n % 3)) for n in range(200)
    ]
    assert await one.put(records) == 200, one.stats()
    assert all(server.do("DBSIZE") > 30 for server in cluster.primaries())
    found = await asyncio.gather(*(two.get(r.key, r.canonical) for r in records))
    assert [f.payload for f in found] == [r.payload for r in records]
    await one.invalidate(tags=["t1"], scopes=[b"s2"])
    assert await one.delete([records[0].key]) == 1
    await two.sync()
    for n, r in enumerate(records):
        if n == 0:
            assert await two.get(r.key, r.canonical) is None
        elif n % 5 == 1 or n % 3 == 2:
            with pytest.raises(Unusable):
                await two.get(r.key, r.canonical)
        else:
            assert (await two.get(r.key, r.canonical)).payload == r.payload


async def confirmed(store: Any, tag: str) -> None:
    """Invalidate until a replica has it; on a busy machine the first try may not wait long enough."""
    while True:
        before = store.stats()["unconfirmed"]
        await store.invalidate(tags=[tag])
        if store.stats()["unconfirmed"] == before:
            return
        await asyncio.sleep(0.1)


async def test_invalidations_are_confirmed_by_a_replica(stores):
    one, _ = stores
    await eventually(lambda: all(node.replicas == 1 for node in one._lane().topology))
    for n in range(20):
        await confirmed(one, f"t{n}")


async def test_leases_and_erasure_work_across_nodes(stores):
    one, two = stores
    for n in range(6):
        key = record(f"q{n}").key
        lease = await one.acquire(key, 10.0)
        assert await two.acquire(key, 10.0) is None
        waiting = asyncio.create_task(two.wait(key, 10.0))
        await asyncio.sleep(0)
        await lease.release()
        await asyncio.wait_for(waiting, 10)
    await one.put([record(f"q{n}", tags=("acme",)) for n in range(100)])
    assert await one.erase(tags=["acme"]) == 100


def move(cluster: Cluster, slot: int, source: Server, target: Server) -> None:
    """Reshard one slot as redis-cli does it, with pauses while its keys are on two nodes."""
    with source.client() as here, target.client() as there:
        ids = here("CLUSTER", "MYID"), there("CLUSTER", "MYID")
        there("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
        here("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
        time.sleep(0.01)
        while keys := here("CLUSTER", "GETKEYSINSLOT", slot, 10):
            for key in keys:
                here("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
                time.sleep(0.01)
        there("CLUSTER", "SETSLOT", slot, "NODE", ids[1])
        here("CLUSTER", "SETSLOT", slot, "NODE", ids[1])
    for server in cluster.primaries():
        with contextlib.suppress(Exception), server.client() as client:
            client("CLUSTER", "SETSLOT", slot, "NODE", ids[1])


async def test_slots_move_under_traffic_and_nothing_goes_wrong(stores, cluster):
    """Entries, deletions and the epochs they depend on change nodes while others read, write and invalidate."""
    one, two = stores
    names = Names("cachelayer", Seal())
    wanted = [record(f"m{n}", tags=("moved",)) for n in range(30)]
    await one.put(wanted)
    slots = {slot_of(names.entry(r.key)) for r in wanted[:8]} | {slot_of(name) for name in _epochs(cluster)}
    stop, served, invalidated = asyncio.Event(), 0, {"moved": 0.0}

    async def read() -> None:
        nonlocal served
        while not stop.is_set():
            r, asked = random.choice(wanted), time.time()
            with contextlib.suppress(Unusable):
                found = await two.get(r.key, r.canonical)
                if found is not None:
                    began = float(found.payload) if found.payload != b"answer" else 0.0
                    last = invalidated["moved"]
                    assert not began < last < asked - 0.1
                    last = invalidated.get(r.canonical.decode(), 0.0)
                    assert not began < last < asked - 0.1
                    served += 1
            await asyncio.sleep(0)

    async def write() -> None:
        while not stop.is_set():
            began = time.time()
            r = random.choice(wanted)
            await one.put([record(r.canonical.decode()[10:], b"%r" % began, tags=("moved",), created=began)])
            await asyncio.sleep(0.002)

    async def forbid() -> None:
        while not stop.is_set():
            await asyncio.sleep(0.05)
            await one.invalidate(tags=["moved"])
            invalidated["moved"] = time.time()
            r = random.choice(wanted[:8])
            await one.delete([r.key])
            invalidated[r.canonical.decode()] = time.time()

    tasks = [asyncio.create_task(work()) for work in (read, read, write, forbid)]
    loop, primaries = asyncio.get_running_loop(), cluster.primaries()
    for slot in sorted(slots):
        source = cluster.owner(slot)
        target = random.choice([server for server in primaries if server is not source])
        await loop.run_in_executor(None, move, cluster, slot, source, target)
        assert not any(task.done() for task in tasks), [task for task in tasks if task.done()]
    await eventually(lambda: served > 50)
    stop.set()
    await asyncio.gather(*tasks)
    assert served > 50
    assert one._lane().topology.moves > 0


def _epochs(cluster: Cluster) -> list[bytes]:
    return [name for server in cluster.primaries() for name in server.do("KEYS", "cachelayer:e:*")][:2]


@pytest.mark.soak
async def test_the_death_of_a_primary_costs_misses_and_then_nothing(tmp_path, open_store):
    """kill -9 of a primary under load: no reader fails, everything is served again, no invalidation is lost."""
    cluster = Cluster(tmp_path)
    try:
        cluster.start()
        one, two = await open_store(cluster.url), await open_store(cluster.url)
        await eventually(lambda: all(node.replicas for node in one._lane().topology))
        records = [record(f"q{n}", tags=(f"t{n % 10}",), ttl=600) for n in range(300)]
        await one.put(records)
        for n in range(5):
            await confirmed(one, f"t{n}")
        cluster.primaries()[0].kill()
        faults, since = 0, time.monotonic()
        while True:
            good = 0
            for n, r in enumerate(records):
                try:
                    found = await two.get(r.key, r.canonical, 0.05)
                except Unusable:
                    found = None
                except StoreError:
                    faults += 1
                    found = None
                if found is not None:
                    assert n % 10 >= 5, "an invalidated entry came back"
                    good += 1
            if good == 150:
                break
            assert time.monotonic() - since < 30, (good, faults)
            await asyncio.sleep(0.1)
        assert faults
        await eventually(lambda: two.coherent and one.coherent)
        await one.invalidate(tags=["t7"])
        await two.sync()
        with pytest.raises(Unusable):
            await two.get(records[7].key, records[7].canonical)
    finally:
        cluster.kill()


@given(name=st.binary(max_size=40))
def test_slots_are_those_of_redis(name):
    inner = name.partition(b"{")[2]
    tag, closed, _ = inner.partition(b"}")
    expected = tag if b"{" in name and closed and tag else name
    assert slot_of(name) == crc_hqx(expected, 0) % 16384


def test_slots_agree_with_the_server(cluster):
    client = Plain(cluster.servers[0].port)
    for name in (b"foo", b"{user}:1", b"cachelayer:v:{00ff}", b"{}x", b"a{b", b""):
        assert slot_of(name) == client("CLUSTER", "KEYSLOT", name)
    client.close()


def test_what_belongs_to_one_entry_shares_a_slot():
    names, key = Names("app:v2", Seal()), random.randbytes(16)
    assert len({slot_of(name) for name in (names.entry(key), names.tomb(key), names.lease(key))}) == 1


REPLY = [
    [0, 5, [b"", 1, b"a"], [b"?", 2, b"b"]],
    [10, 11, [b"seven.example", 7, b"g", [b"ip", b"10.0.0.7"]]],
    [12, 12, [None, 8, b"h"]],
]
"""To CLUSTER SLOTS."""


def test_lines_of_nodes_that_cannot_serve_are_left_out():
    text = """a 127.0.0.1:1@11 myself,master - 0 0 1 connected 0-5 7 [9->-b]
b :2@12 slave a 0 0 1 connected
c 127.0.0.1:3@13,host master,fail - 0 0 1 disconnected 8-9
d 127.0.0.1:4@14 handshake - 0 0 1 connected
e 127.0.0.1:0@15 master,noaddr - 0 0 1 disconnected
f ::1:6@16 master - 0 0 1 connected
g 10.0.0.7:7@17,seven.example master - 0 0 1 connected 10-11
h 10.0.0.8:8@18 master - 0 0 1 connected 12
"""
    owners = parse_nodes(text, ("here", 9), hosts_in(REPLY, ("here", 9)))
    assert [(o.address, o.primary, o.slots) for o in owners] == [
        (("127.0.0.1", 1), True, (range(0, 6), range(7, 8))),
        (("here", 2), False, ()),
        (("::1", 6), True, ()),
        (("seven.example", 7), True, (range(10, 12),)),
        (("here", 8), True, (range(12, 13),)),
    ]


async def test_nodes_are_called_by_the_names_that_the_cluster_prefers(cluster, open_store):
    """Certificates are for names, and behind a translation of addresses nothing else leads there."""
    before = [server.do("CONFIG", "GET", "cluster-preferred-endpoint-type")[1] for server in cluster.servers]
    try:
        for server in cluster.servers:
            server.do("CONFIG", "SET", "cluster-announce-hostname", "localhost")
            server.do("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
        told = cluster.servers[0]
        await eventually(lambda: told.do("CLUSTER", "NODES").count(b",localhost") == len(cluster.servers))
        store = await open_store(f"redis+cluster://127.0.0.1:{told.port}?lag=5s")
        assert {node.address[0] for node in store._lane().topology} == {"localhost"}
        assert await store.put([record(f"q{n}") for n in range(20)]) == 20
    finally:
        for server, kind in zip(cluster.servers, before, strict=True):
            server.do("CONFIG", "SET", "cluster-preferred-endpoint-type", kind)
            server.do("CONFIG", "SET", "cluster-announce-hostname", "")
