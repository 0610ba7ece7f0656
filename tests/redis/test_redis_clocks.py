"""Stores of processes whose clocks are hours apart agree on what is fresh, and on what came before what."""

from __future__ import annotations

import re
import time

import pytest
from fault_proxy import FaultProxy
from redis_records import Listener, Skewed, eventually, reason_of, record, served

from cachelayer import Reason
from cachelayer.exact.redis.node import incarnation_in


@pytest.mark.parametrize("hours", [-5, 5])
async def test_processes_whose_clocks_differ_agree(server, open_store, hours):
    """Hours apart: what is fresh here is as fresh there, and invalidation works both ways."""
    right, wrong = await open_store(server.url), await open_store(server.url, clock=Skewed(3600 * hours))
    mine = record(tags=("t",))
    await right.put([mine])
    found = await wrong.get(mine.key, mine.canonical)
    assert found.fresh_until - mine.fresh_until == pytest.approx(3600 * hours, abs=1)
    await wrong.invalidate(tags=["t"])
    await right.sync()
    assert await reason_of(right, mine) is Reason.INVALIDATED
    theirs = record(tags=("t",), created=time.time() + 3600 * hours, payload=b"theirs")
    assert await wrong.put([theirs]) == 1
    assert (await right.get(mine.key, mine.canonical)).payload == b"theirs"
    await right.delete([mine.key])
    assert await wrong.put([theirs]) == 0


@pytest.mark.parametrize("hours", [-5, 5])
async def test_what_was_begun_before_an_invalidation_elsewhere_is_refused_whatever_the_clocks_say(
    server, open_store, hours
):
    """And what was begun after it is kept."""
    clock = Skewed(3600 * hours)
    right, wrong = await open_store(server.url), await open_store(server.url, clock=clock)
    await right.put([record(tags=("t",))])
    await right.invalidate(tags=["t"])
    assert await wrong.put([record(tags=("t",), created=clock.time() - 10)]) == 0
    clock.by += 10  # so long passes before the next is begun
    assert await wrong.put([record(tags=("t",), created=clock.time())]) == 1


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_set_lets_nothing_in_that_was_begun_before_an_invalidation(
    server, open_store, hours
):
    """Set forward, it made a computation look younger than what had been declared invalid meanwhile."""
    clock = Skewed(0)
    right, wrong = await open_store(server.url), await open_store(server.url, clock=clock)
    await wrong.put([record(tags=("t",)), record(key=b"k" * 16)])
    began = time.monotonic()
    await right.invalidate(tags=["t"])
    await right.delete([b"k" * 16])
    await wrong.sync()
    assert (
        await wrong.put([record(key=b"o" * 16, tags=("t",), created=time.time())]) == 1
    )  # knows the new epoch
    clock.by = 3600 * hours
    late = {"created": clock.time(), "seconds": time.monotonic() - began}
    assert await wrong.put([record(tags=("t",), **late)]) == 0
    assert await wrong.put([record(key=b"k" * 16, **late)]) == 0


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_set_costs_no_answer_and_changes_no_lifetime(server, open_store, hours):
    """Set back, it made all that was answered look older than the connection: nothing was stored for an hour."""
    clock = Skewed(0)
    right, wrong = await open_store(server.url), await open_store(server.url, clock=clock)
    await wrong.invalidate(tags=["t"])
    await wrong.delete([record().key])
    old = record(key=b"o" * 16)
    await wrong.put([old])
    clock.by = 3600 * hours
    found = await wrong.get(old.key, old.canonical)
    assert found.fresh_until - clock.time() == pytest.approx(old.fresh_until - time.time(), abs=1)
    mine = record(tags=("t",), created=clock.time())
    assert await wrong.put([mine]) == 1
    found = await right.get(mine.key, mine.canonical)
    assert found.created == pytest.approx(time.time(), abs=1)
    left = server.do("PTTL", f"cachelayer:v:{{{mine.key.hex()}}}") / 1000
    assert left == pytest.approx(mine.stale_until - clock.time(), abs=1)


def an_hour_ahead(data: bytes) -> bytes:
    """What a server says whose clock is."""
    return re.sub(rb"\$10\r\n([0-9]{10})\r\n", lambda told: b"$10\r\n%d\r\n" % (int(told[1]) + 3600), data)


async def test_a_server_whose_clock_was_set_back_serves_nothing_of_an_older_dump(own_server, open_store):
    """What it read back seemed to have been written since it started, and had been declared invalid since."""
    server = own_server()
    async with FaultProxy(server.port) as proxy:
        proxy.garble = an_hour_ahead
        store = await open_store(f"{proxy.url}?lag=5s")
        await store.put([record(tags=("t",))])
        server.do("SAVE")
        await store.invalidate(tags=["t"])
        server.kill()
        server.start()
        assert await reason_of(await open_store(server.url), record()) is Reason.RELOADED


async def test_of_two_answers_made_at_once_the_one_begun_later_stays_whichever_is_written_first(pair):
    """What was made before a refresh was written after what that brought, and served from then on."""
    one, two = pair
    older = record(payload=b"older")
    while (
        time.time() < older.created + 0.05
    ):  # more than two clocks differ that were compared through the server
        await two.sync()
    async with Listener(one) as told:
        assert await two.put([record(payload=b"newer")]) == 1
        assert await one.put([older]) == 1
        await eventually(lambda: told.replaced == [older.key])  # who made it lets go of it
    assert [await served(store) for store in pair] == [b"newer"] * 2
    assert await one.put([record(payload=b"newest")]) == 1
    assert await served(two) == b"newest"


async def test_an_answer_from_the_future_gives_way_where_the_servers_clock_was_set_back(server, open_store):
    async with FaultProxy(server.port) as proxy:
        proxy.garble = an_hour_ahead
        store = await open_store(f"{proxy.url}?lag=5s")
        lease = await store.acquire(record().key, 5.0)
        await store.put([record()], [lease])
        await lease.release()
    store = await open_store(server.url)
    lease = await store.acquire(record().key, 5.0)
    assert await store.put([record(payload=b"newer")], [lease]) == 1
    assert await served(store) == b"newer"


def test_a_server_whose_clock_was_set_back_since_it_started_still_tells_its_run():
    """It was younger than nothing, and taken for one that tells neither run nor age: restarts went unnoticed."""
    facts = {"run_id": "0123456789abcdef" * 2, "uptime_in_seconds": "-3600"}
    assert incarnation_in(facts) == (bytes.fromhex("0123456789abcdef"), -3600.0)


@pytest.mark.parametrize("how", ["tag", "key"])
async def test_what_was_begun_before_an_invalidation_by_one_who_compared_clocks_badly_is_refused(
    server, open_store, how
):
    """A reply that came late made the server's clock seem behind, and the invalidation earlier than it was."""
    one = await open_store(server.url)
    async with FaultProxy(server.port) as proxy:
        proxy.delay = 0.3
        two = await open_store(f"{proxy.url}?lag=5s")
        proxy.heal()
        began = time.time()
        await (two.invalidate(tags=["t"]) if how == "tag" else two.delete([record().key]))
        assert await one.put([record(tags=("t",), seconds=time.time() - began)]) == 0
