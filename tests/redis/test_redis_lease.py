"""Leases: one holder in the fleet, followers that wake when it is done or dead."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import time

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually, record
from turns import cancelled

from cachelayer.errors import StoreFault
from cachelayer.exact.redis import RedisStore

KEY = record().key


async def test_one_holder_at_a_time(pair):
    one, two = pair
    lease = await one.acquire(KEY, 5.0)
    assert lease is not None and lease.held
    assert await two.acquire(KEY, 5.0) is None
    assert await one.acquire(KEY, 5.0) is None
    assert await two.acquire(record("other").key, 5.0) is not None
    await lease.release()
    assert not lease.held
    assert await two.acquire(KEY, 5.0) is not None


async def test_of_many_who_ask_at_once_one_leads(pair):
    results = await asyncio.gather(*(store.acquire(KEY, 5.0) for store in pair for _ in range(32)))
    assert sum(lease is not None for lease in results) == 1


async def test_a_lease_lasts_while_its_holder_lives(pair, server):
    one, two = pair
    lease = await one.acquire(KEY, 1.0)  # renewed at thirds of it: a machine may stall for half a second
    name = one._names.lease(KEY)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert await two.acquire(KEY, 1.0) is None
        await asyncio.sleep(0.02)
    assert lease.held
    await lease.release()
    assert server.do("EXISTS", name) == 0


async def test_release_wakes_those_who_wait(pair):
    one, two = pair
    lease = await one.acquire(KEY, 30.0)
    waiting = [asyncio.create_task(two.wait(KEY, 30.0)) for _ in range(3)]
    await eventually(lambda: two._lane().leases._waiting)
    await two.sync()
    assert not any(task.done() for task in waiting)
    await lease.release()
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert not two._lane().leases._waiting


async def test_waiting_for_nobody_returns_at_once_and_for_ever_in_time(pair):
    one, two = pair
    await two.wait(KEY, 30.0)
    lease = await one.acquire(KEY, 30.0)
    started = time.monotonic()
    await two.wait(KEY, 0.05)
    assert time.monotonic() - started >= 0.05
    await lease.release()


async def test_renewal_does_not_wake_followers_for_good(pair):
    one, two = pair
    lease = await one.acquire(KEY, 0.9)
    waiting = asyncio.create_task(two.wait(KEY, 30.0))
    await asyncio.sleep(2.0)  # several renewals
    assert not waiting.done()
    await lease.release()
    await asyncio.wait_for(waiting, 10)


async def test_a_fence_grows_and_an_earlier_holder_does_not_overwrite_a_later_one(pair):
    one, two = pair
    first = await one.acquire(KEY, 0.05)
    first.stop()  # it hangs: no renewal
    await two.wait(KEY, 10.0)
    second = await two.acquire(KEY, 5.0)
    assert second.fence > first.fence
    assert await two.put([record(payload=b"second")], [second]) == 1
    assert await one.put([record(payload=b"first")], [first]) == 0
    assert (await one.get(KEY, record().canonical)).payload == b"second"


async def test_a_lost_lease_knows_it(pair, server):
    one = pair[0]
    lease = await one.acquire(KEY, 0.15)
    server.do("SET", one._names.lease(KEY), "somebody else")
    await eventually(lambda: not lease.held)
    await lease.release()
    assert server.do("GET", one._names.lease(KEY)) == b"somebody else"


async def test_an_acquisition_given_up_leaves_no_lease_behind(pair):
    """Cancelled after the server granted it, before we knew."""
    one, two = pair
    task = asyncio.create_task(one.acquire(KEY, 60.0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await cancelled(task)
    await asyncio.wait_for(two.wait(KEY, 60.0), 10)
    assert await two.acquire(KEY, 1.0) is not None


async def test_followers_are_let_go_when_redis_is(server, open_store):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        other = await open_store(server.url)
        lease = await other.acquire(KEY, 60.0)
        waiting = asyncio.create_task(store.wait(KEY, 60.0))
        await eventually(lambda: store._lane().leases._waiting)
        await store.sync()
        proxy.refuse = True
        proxy.cut()
        with pytest.raises(StoreFault):
            await asyncio.wait_for(waiting, 10)
        await lease.release()


async def test_followers_do_not_wait_for_a_server_that_hangs(own_server, open_store):
    """They waited for as long as the lease would have lasted: ten seconds of a call that takes one."""
    server = own_server()
    store = await open_store(server.strict_url)
    await (await open_store(server.url)).acquire(KEY, 60.0)
    waiting = asyncio.create_task(store.wait(KEY, 60.0))
    await eventually(lambda: store._lane().leases._waiting)
    await store.sync()
    server.freeze()
    with pytest.raises(StoreFault, match="does not answer"):
        await asyncio.wait_for(waiting, 20)
    server.thaw()


LEADER = """
import asyncio, sys
from cachelayer.exact.redis import RedisStore

async def lead():
    store = RedisStore(sys.argv[1])
    lease = await store.acquire(bytes.fromhex(sys.argv[2]), 0.4)
    print("leading" if lease else "following", flush=True)
    await asyncio.sleep(60)

asyncio.run(lead())
"""


async def test_the_death_of_a_leader_frees_its_followers(server, open_store):
    """kill -9: nobody releases anything, the lease runs out."""
    leader = subprocess.Popen([sys.executable, "-c", LEADER, server.url, KEY.hex()], stdout=subprocess.PIPE)
    try:
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, leader.stdout.readline) == b"leading\n"
        store: RedisStore = await open_store(server.url)
        waiting = asyncio.create_task(store.wait(KEY, 60.0))
        await asyncio.sleep(0.6)  # longer than the lease: it is being renewed
        assert not waiting.done()
        assert await store.acquire(KEY, 1.0) is None
        leader.send_signal(signal.SIGKILL)
        await asyncio.wait_for(waiting, 10)
        assert await store.acquire(KEY, 1.0) is not None
    finally:
        leader.kill()
        leader.wait()
        leader.stdout.close()


async def test_a_lease_given_up_as_the_store_closes_leaves_no_fault_that_nobody_hears(server, caplog):
    store = RedisStore(server.url)
    await store.start()
    for _ in range(3):
        asked = [asyncio.create_task(store.acquire(record(f"q{n}").key, 5.0)) for n in range(10)]
        closing = asyncio.create_task(store.aclose())
        for task in asked:
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*asked, closing, return_exceptions=True)
        await store.aclose()
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_a_lease_is_released_by_whatever_loop_writes_the_answer(pair, server):
    one = pair[0]
    lease = await one.acquire(KEY, 60.0)

    async def elsewhere():
        await one.start()
        await lease.release()
        await one.aclose()

    await asyncio.to_thread(asyncio.run, elsewhere())
    assert not server.do("KEYS", "*:l:*") and not lease.held
    again = await one.acquire(KEY, 60.0)  # by connections that nobody else wrote to
    assert again is not None
    await again.release()


@pytest.mark.parametrize("asked", ["SET", "EVAL"])
async def test_a_lease_that_nobody_wants_is_given_back_once_the_server_is_back(server, open_store, asked):
    """Where the connection broke after the server had granted it, or before it was given up, all who asked for the same
    waited for ten seconds."""
    async with FaultProxy(server.port) as proxy:
        store, other = await open_store(proxy.url), await open_store(server.url)
        name = store._names.lease(KEY)
        lease = await store.acquire(KEY, 60.0) if asked == "EVAL" else None
        proxy.hang = True
        act = asyncio.create_task(store.acquire(KEY, 60.0) if lease is None else lease.release())
        if lease is None:
            await eventually(lambda: server.do("EXISTS", name))
        else:
            proxy.refuse = True
        proxy.cut()
        with pytest.raises(StoreFault):
            await act
        assert server.do("EXISTS", name)
        proxy.heal()
        await asyncio.wait_for(other.wait(KEY, 60.0), 20)
        assert await other.acquire(KEY, 1.0) is not None
