"""A Redis that is slow, silent, dead, full, read-only or mad: a fault with a reason, in time, then it is well again."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually, record, served

from cachelayer.errors import StoreFault, Unusable
from cachelayer.exact.redis import RedisStore
from cachelayer.types import Reason


async def recovers(store: RedisStore, name: str = "q", payload: bytes = b"answer") -> None:
    """It serves again, by itself."""
    end = time.monotonic() + 20
    while await served(store, name) != payload:
        assert time.monotonic() < end, "it does not recover"
        await asyncio.sleep(0.01)


async def test_a_slow_redis_costs_the_budget_and_nothing_more(server, open_store):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        await store.put([record()])
        proxy.delay = 0.3
        with pytest.raises(StoreFault) as fault:
            await store.get(record().key, record().canonical, 0.02)
        assert fault.value.reason is Reason.BUDGET
        proxy.heal()
        await recovers(store)


async def test_late_replies_find_nobody_and_confuse_nobody(server, open_store):
    """Budgets run out and callers go; the replies that come later are theirs alone."""
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        await store.put([record(f"q{n}", b"answer %d" % n) for n in range(50)])
        proxy.delay = 0.05
        late = [asyncio.create_task(served(store, f"q{n}")) for n in range(25)]
        await asyncio.sleep(0.01)
        for task in late:
            task.cancel()
        proxy.delay = 0.0
        for n in range(25, 50):
            assert await served(store, f"q{n}") in (b"answer %d" % n, None)
        await recovers(store, "q7", b"answer 7")


async def test_a_silent_redis_is_given_up_and_found_again(server, open_store):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        await store.put([record()])
        proxy.hang = True
        with pytest.raises(StoreFault):  # without a budget: the connection itself is given up
            await asyncio.wait_for(store.get(record().key, record().canonical), 10)
        proxy.heal()
        await recovers(store)


async def test_a_frozen_process_is_given_up_and_found_again(own_server, open_store):
    server = own_server()
    store = await open_store(server.strict_url)
    await store.put([record()])
    server.freeze()
    with pytest.raises(StoreFault):
        await store.get(record().key, record().canonical, 0.02)
    await eventually(lambda: not store.coherent)
    server.thaw()
    await recovers(store)


async def test_while_it_is_away_asking_costs_nothing(own_server, open_store):
    server = own_server()
    store = await open_store(server.url)
    server.kill()
    await eventually(lambda: not store.coherent)
    assert await served(store) is None  # the connection that reads has noticed, too
    tasks = [asyncio.create_task(served(store)) for _ in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert all(
        task.done() and task.result() is None for task in tasks
    )  # refused without waiting for anything


@pytest.mark.parametrize("after", [0, 1, 7, 300, 1500])
async def test_a_reply_cut_short_is_no_answer_and_the_store_recovers(server, open_store, after):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        await store.put([record(payload=bytes(2000))])
        proxy.cut_after = after
        assert await served(store) in (bytes(2000), None)
        proxy.heal()
        await recovers(store, payload=bytes(2000))


@pytest.mark.parametrize("seed", range(8))
async def test_a_garbled_reply_is_never_an_answer(server, open_store, seed):
    """Bytes changed at random on the wire: what is served is right, or nothing is; and it heals."""
    chance = random.Random(seed)

    def garble(data: bytes) -> bytes:
        spoiled = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
        return bytes(spoiled) if chance.random() < 0.5 else data

    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        payloads = {f"q{n}": random.Random(n).randbytes(1000) for n in range(20)}
        await store.put([record(name, payload) for name, payload in payloads.items()])
        proxy.garble = garble
        for _ in range(5):
            found = await asyncio.gather(*(served(store, name) for name in payloads))
            assert all(got in (None, wanted) for got, wanted in zip(found, payloads.values(), strict=True))
        proxy.heal()
        await recovers(store, "q3", payloads["q3"])


@pytest.mark.parametrize("lost", [1, 2, 3])
async def test_a_reply_that_was_lost_does_not_shift_the_others(server, open_store, lost):
    """Some replies too few, and every later one would answer another question: noticed at the first that does."""
    store = await open_store(server.url)
    await store.put([record("a", b"for a"), record("b", b"for b")])
    pipe, loop = store._lane().only.reader.pipe, asyncio.get_running_loop()
    pipe._waiting.extendleft(loop.create_future() for _ in range(lost))  # as if replies had been swallowed
    asking = [loop.create_task(served(store, name)) for name in "ab" if not await asyncio.sleep(0.01)]
    while not pipe.lost.done() and len(asking) < 20:
        asking.append(loop.create_task(served(store, "ab"[len(asking) % 2])))
        await asyncio.sleep(0.01)
    assert pipe.lost.done()
    for n, task in enumerate(asking):
        assert await task in (None, (b"for a", b"for b")[n % 2])
    await recovers(store, "a", b"for a")


async def test_what_is_no_entry_is_corrupt(pair, server):
    one = pair[0]
    for junk in (b"", b"junk", b"CL" + bytes(200)):
        server.do("SET", one._names.entry(record().key), junk)
        with pytest.raises(Unusable) as refusal:
            await one.get(record().key, record().canonical)
        assert refusal.value.reason in (Reason.CORRUPT, Reason.SCHEMA)
    server.do("DEL", one._names.entry(record().key))
    server.do("LPUSH", one._names.entry(record().key), "a list")
    assert await served(one) is None


async def test_a_killed_server_is_found_again_empty(own_server, open_store):
    server = own_server()
    store = await open_store(server.url)
    await store.put([record()])
    server.kill()
    await eventually(lambda: not store.coherent)
    assert await served(store) is None
    server.start()
    await eventually(lambda: store.coherent)
    await store.start()
    assert await store.put([record()]) == 1
    assert await served(store) == b"answer"


async def test_what_a_restarted_server_reads_from_disk_is_not_served(own_server, open_store):
    """An invalidation that returned is lost with the memory; the entry it forbade is not, but stays forbidden."""
    server = own_server()
    store, trusting = await open_store(server.url), await open_store(server.url, trust_reloaded=True)
    await store.put([record(tags=("t",))])
    server.do("SAVE")
    await store.invalidate(tags=["t"])
    server.kill()
    await eventually(lambda: not store.coherent and not trusting.coherent)
    server.start()
    await eventually(lambda: store.coherent and trusting.coherent)
    await store.start()
    await trusting.start()
    with pytest.raises(Unusable) as refusal:
        await store.get(record().key, record().canonical)
    assert refusal.value.reason is Reason.RELOADED
    assert await served(trusting) == b"answer"  # as asked for
    again = record(tags=("t",), payload=b"new")
    assert await store.put([again]) == 1
    assert await served(store) == b"new"


async def test_an_answer_computed_across_a_restart_is_not_stored(own_server, open_store):
    """Nobody knows what was invalidated in the memory that is gone."""
    server = own_server()
    store = await open_store(server.url)
    began = time.time()
    server.kill()
    await eventually(lambda: not store.coherent)
    server.start()
    await eventually(lambda: store.coherent)
    await store.start()
    assert await store.put([record(created=time.time(), seconds=time.time() - began)]) == 0
    assert await store.put([record()]) == 1


WRITER = """
import asyncio, sys, hashlib, time
from cachelayer.exact.redis import RedisStore
from cachelayer.types import Record

async def write():
    store = RedisStore(sys.argv[1])
    await store.start()
    print("writing", flush=True)
    n = 0
    while True:
        batch = []
        for _ in range(64):
            canonical = b"killed:%d" % (n % 500)
            now = time.time()
            batch.append(Record(hashlib.md5(canonical).digest(), canonical, canonical * 300, now, now + 60, now + 60))
            n += 1
        await store.put(batch)

asyncio.run(write())
"""


async def test_the_death_of_a_writer_leaves_whole_entries_or_none(pair, server):
    """kill -9 in the middle of writes: what is there is right."""
    one = pair[0]
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, server.url], stdout=subprocess.PIPE)
        try:
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, writer.stdout.readline) == b"writing\n"
            await eventually(lambda: server.do("DBSIZE") > 100)
        finally:
            writer.kill()
            writer.wait()
            writer.stdout.close()
        for n in range(500):
            canonical = b"killed:%d" % n
            wanted = record(canonical=canonical)
            found = await one.get(wanted.key, canonical)
            assert found is None or found.payload == canonical * 300
        await one.erase(everything=True)
