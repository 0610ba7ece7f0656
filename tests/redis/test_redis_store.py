"""The store on one real server: entries, invalidations, order of writes, erasure."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import subprocess
import threading
import time

import pytest
from redis_records import eventually, reason_of, record
from redis_servers import free_port

from cachelayer.errors import StoreFault
from cachelayer.types import Reason


async def test_what_one_process_stores_the_other_reads(pair):
    one, two = pair
    began = time.time()
    details = {"tags": ("kb:1", "kb:2"), "text": "a question", "tokens": 7, "principal": "me"}
    mine = record(created=began + 0.25, seconds=0.25, **details)
    assert await one.put([mine]) == 1
    found = await two.get(mine.key, mine.canonical)
    for field in dataclasses.fields(mine):
        expected = getattr(mine, field.name)
        got = getattr(found, field.name)
        assert got == (pytest.approx(expected, abs=0.1) if isinstance(expected, float) else expected)


async def test_another_request_under_the_same_key_gets_nothing(pair):
    one, two = pair
    mine = record()
    await one.put([mine])
    assert await two.get(mine.key, mine.canonical + b"!") is None
    assert await two.get(mine.key, mine.canonical) is not None  # and the connection still works


@pytest.mark.parametrize("kind", ["unix", "tls", "password", "database"])
async def test_every_kind_of_address_stores_and_finds(kind, own_server, open_store, tmp_path):
    settings = {}
    if kind == "unix":
        path = tmp_path / "r.sock"
        own_server("--unixsocket", str(path))
        url = f"unix://{path}?db=1"
    elif kind == "tls":
        key, cert, port = tmp_path / "key.pem", tmp_path / "cert.pem", free_port()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
            check=True, capture_output=True,
        )  # fmt: skip
        own_server(
            "--tls-port", str(port), "--tls-cert-file", str(cert), "--tls-key-file", str(key), "--tls-ca-cert-file",
            str(cert), "--tls-auth-clients", "no",
        )  # fmt: skip
        url = f"rediss://localhost:{port}/0?ssl_ca_certs={cert}"
    else:
        server = own_server("--requirepass", "open sesame")
        url = f"redis://:open%20sesame@127.0.0.1:{server.port}/{2 if kind == 'database' else 0}"
    store = await open_store(url, **settings)
    mine = record()
    await store.put([mine])
    assert (await store.get(mine.key, mine.canonical)).payload == mine.payload
    await store.invalidate(scopes=[mine.scope])
    assert await reason_of(store, mine) is Reason.INVALIDATED


async def test_a_wrong_password_is_a_fault_that_does_not_show_it(own_server, open_store):
    server = own_server("--requirepass", "right")
    with pytest.raises(StoreFault) as fault:
        await open_store(f"redis://:wrong@127.0.0.1:{server.port}")
    assert "WRONGPASS" in str(fault.value)
    assert "wrong" not in str(fault.value).replace("WRONGPASS", "")


async def test_invalidation_by_tag_and_by_scope_reaches_everyone_and_nothing_else(pair):
    one, two = pair
    tagged, scoped, other = record("a", tags=("t", "u")), record("b", scope=b"s"), record("c", tags=("v",))
    await one.put([tagged, scoped, other])
    await one.invalidate(tags=["u"], scopes=[b"s"])
    await two.sync()
    for store in pair:
        assert await reason_of(store, tagged) is Reason.INVALIDATED
        assert await reason_of(store, scoped) is Reason.INVALIDATED
        assert await reason_of(store, other) is None


async def test_after_an_invalidation_new_answers_are_shared_again(pair):
    one, two = pair
    await one.put([record(tags=("t",))])
    await one.invalidate(tags=["t"])
    again = record(tags=("t",), payload=b"new")
    assert await one.put([again]) == 1
    await two.sync()
    assert (await two.get(again.key, again.canonical)).payload == b"new"


@pytest.mark.parametrize("how", ["tag", "scope", "key"])
@pytest.mark.parametrize("where", ["own", "other"])
async def test_an_answer_whose_computation_began_before_an_invalidation_is_not_stored(pair, how, where):
    one, two = pair
    slow = record(tags=("t",), seconds=0.0)
    invalidator = one if where == "own" else two
    if how == "key":
        await invalidator.delete([slow.key])
    else:
        await invalidator.invalidate(**({"tags": ["t"]} if how == "tag" else {"scopes": [slow.scope]}))
    late = dataclasses.replace(slow, created=time.time(), seconds=time.time() - slow.created)
    await one.put([late])
    assert one.stats()["refused"] == {"invalidated": 1}
    assert await reason_of(two, slow) is Reason.ABSENT


async def test_deleting_counts_what_was_there(pair):
    one, two = pair
    await one.put([record("a"), record("b")])
    assert await two.delete([record("a").key, record("c").key]) == 1
    assert await reason_of(one, record("a")) is Reason.ABSENT
    assert await reason_of(one, record("b")) is None


async def test_entries_expire_with_the_server_too(pair, server):
    one = pair[0]
    await one.put([record(ttl=0.05)])
    assert 0 < server.do("PTTL", one._names.entry(record().key)) <= 50
    assert await one.put([record("past", ttl=-1)]) == 0
    assert one.stats()["refused"] == {"expired": 1}


async def test_an_epoch_that_is_lost_makes_nothing_valid_again(pair, server):
    """Evicted, expired, flushed by hand: an invalidated entry stays invalid."""
    one, two = pair
    mine = record(tags=("t",))
    await one.put([mine])
    raw = server.do("GET", one._names.entry(mine.key))
    await one.invalidate(tags=["t"])
    for name in server.do("KEYS", "cachelayer:e:*"):
        server.do("DEL", name)
    await one.put([record("other", tags=("t",))])  # makes the epochs anew
    server.do("SET", one._names.entry(mine.key), raw)
    await two.sync()
    for store in pair:
        await store.sync()
        assert await reason_of(store, mine) is Reason.INVALIDATED


async def test_what_was_begun_before_an_invalidation_is_not_stored_though_its_epoch_is_lost(pair, server):
    """A full server evicts it, and nobody knew of the invalidation any more."""
    one, two = pair
    await two.put([record("other", tags=("t",))])
    begun = record(tags=("t",))
    await one.invalidate(tags=["t"])
    for name in server.do("KEYS", "cachelayer:e:*"):
        server.do("DEL", name)
    await two.sync()
    assert await two.put([begun]) == 0
    assert await two.put([record(tags=("t",))]) == 1


async def test_entries_of_a_newer_schema_are_ignored_and_survive(server, open_store):
    old, new = await open_store(server.url, schema=1), await open_store(server.url, schema=2)
    mine = record()
    await new.put([mine])
    assert await reason_of(old, mine) is Reason.SCHEMA
    assert await old.put([record(payload=b"old")]) == 0
    assert (await new.get(mine.key, mine.canonical)).payload == mine.payload
    assert old.stats()["refused"] == {"schema": 1}
    await old.put([record("b")])
    assert await new.put([record("b", payload=b"new")]) == 1  # the older one gives way


async def test_entries_are_refused_under_another_key_and_by_other_keys(server, open_store):
    signed, plain = await open_store(server.url, signing_keys=[b"k" * 16]), await open_store(server.url)
    mine, other = record("mine"), record("other")
    await signed.put([mine])
    server.do("COPY", signed._names.entry(mine.key), signed._names.entry(other.key))
    assert await reason_of(signed, other) is Reason.UNTRUSTED
    assert await reason_of(plain, mine) is Reason.UNTRUSTED
    await plain.put([record("third")])
    assert await reason_of(signed, record("third")) is Reason.UNTRUSTED


async def test_prefixes_keep_deployments_apart(server, open_store):
    one, two = await open_store(server.url, prefix="one"), await open_store(server.url, prefix="two")
    await one.put([record()])
    assert await reason_of(two, record()) is Reason.ABSENT
    await two.erase(everything=True)
    assert await reason_of(one, record()) is None


async def test_erasure_removes_what_was_asked_for_in_steps(pair, server):
    one = pair[0]
    kept, gone = [record(f"k{n}") for n in range(700)], [record(f"g{n}", tags=("acme",)) for n in range(700)]
    many = record("many", tags=(*(f"t{n}" for n in range(60)), "acme"))
    await one.put([*kept, *gone, many])
    server.do("CONFIG", "RESETSTAT")
    assert await one.erase(tags=["acme"]) == 701
    steps = re.search(r"cmdstat_scan:calls=(\d+)", server.do("INFO", "commandstats").decode())
    assert steps is not None and int(steps[1]) > 2
    assert len(server.do("KEYS", "cachelayer:v:*")) == 700
    await one.erase(everything=True)
    assert server.do("KEYS", "cachelayer:*") == []


async def test_the_same_store_serves_several_loops(server, open_store):
    """Each loop has connections of its own; they hear of each other's invalidations."""
    store, mine = await open_store(server.url), record(tags=("t",))
    await store.put([mine])
    results: list[object] = []

    async def elsewhere() -> None:
        results.append((await store.get(mine.key, mine.canonical)).payload)
        await store.invalidate(tags=["t"])
        await store.aclose()

    thread = threading.Thread(target=asyncio.run, args=(elsewhere(),))
    thread.start()
    await asyncio.get_running_loop().run_in_executor(None, thread.join)
    assert results == [mine.payload]
    await store.sync()
    assert await reason_of(store, mine) is Reason.INVALIDATED


async def test_many_at_once_and_cancelled_ones_among_them(pair):
    one, two = pair
    records = [record(f"q{n}", b"answer %d" % n, tags=(f"t{n % 7}",)) for n in range(300)]
    await one.put(records)
    tasks = [asyncio.create_task(two.get(r.key, r.canonical)) for r in records]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for n, result in enumerate(results):
        assert (
            isinstance(result, asyncio.CancelledError) if n % 3 == 0 else result.payload == b"answer %d" % n
        )


async def test_connections_are_bounded(server, open_store):
    store = await open_store(server.url, max_connections=3)
    await store.put([record()])
    assert store.stats()["connections"] == 3
    results: list[Exception] = []

    async def elsewhere() -> None:
        try:
            await store.get(record().key, record().canonical)
        except StoreFault as fault:
            results.append(fault)
        await store.aclose()

    thread = threading.Thread(target=asyncio.run, args=(elsewhere(),))
    thread.start()
    await asyncio.get_running_loop().run_in_executor(None, thread.join)
    assert "max_connections" in str(results[0])


async def test_after_closing_nothing_is_left_open(server, open_store):
    store = await open_store(server.url)
    await store.put([record()])
    names = lambda: [line for line in server.do("CLIENT", "LIST").splitlines() if b"name=cachelayer" in line]  # noqa: E731
    before = len(names())
    await store.aclose()
    await eventually(lambda: len(names()) <= before - 3)
    assert await reason_of(store, record()) is None  # and it opens again when asked


async def test_nothing_blocks_the_loop(pair, stall):
    one, two = pair
    records = [record(f"q{n}", bytes(2000)) for n in range(512)]
    await one.put(records)
    await asyncio.gather(*(two.get(r.key, r.canonical) for r in records))
    assert stall.seconds < 0.25


async def test_loops_of_two_threads_may_begin_at_once(make_store):
    """The other thread has its turn while this one looks which loops have ended."""
    store = make_store("redis://127.0.0.1:1")

    class Ended:
        def is_closed(self) -> bool:
            store._lanes.setdefault(other, None)
            return True

    other = asyncio.new_event_loop()
    store._lanes[Ended()] = None
    assert store._lane() is store._lanes[asyncio.get_running_loop()] and other in store._lanes
    other.close()
