"""Coherence: what one process invalidates, no other serves 100 ms later, whatever happens to connections."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
import time
from collections.abc import Awaitable

import pytest
from fault_proxy import FaultProxy
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from redis_records import Listener, eventually, record
from redis_servers import Server

from cachelayer.errors import StoreError
from cachelayer.exact.redis import RedisStore


async def test_others_are_told_what_was_invalidated_deleted_and_replaced(pair):
    one, two = pair
    async with Listener(one) as mine, Listener(two) as theirs:
        await one.put([record("a", tags=("t",)), record("b")])
        await one.invalidate(tags=["t"], scopes=[b"scope", b""])
        await one.delete([record("a").key])
        await one.put([record("b", payload=b"again")])
        await eventually(lambda: theirs.replaced == [record("b").key])
        assert "t" in theirs.tags
        assert {b"scope", b""} <= set(theirs.scopes)
        assert record("a").key in theirs.keys
        assert theirs.everything == 0
        assert (
            not mine.tags and not mine.scopes and not mine.keys + mine.replaced and not mine.everything
        )  # they know already


async def test_new_entries_disturb_nobody(pair):
    one, two = pair
    async with Listener(two) as theirs:
        await one.put([record("a")])
        await one.invalidate(tags=["end"])
        await eventually(lambda: "end" in theirs.tags)
        assert not theirs.keys + theirs.replaced


async def test_the_birth_of_an_epoch_is_no_news_unless_one_was_lost_before(pair, server):
    """Whoever first stores under a tag writes its epoch; answers under way elsewhere are none the older for it."""
    one, two = pair
    async with Listener(two) as theirs:
        await one.put([record("a", tags=("t",))])
        await one.invalidate(tags=["end"])
        await eventually(lambda: "end" in theirs.tags)
        assert theirs.tags == ["end"] and not theirs.scopes and not theirs.everything
        await one.invalidate(tags=["t"])
        for name in server.do("KEYS", "cachelayer:e:*"):
            server.do("DEL", name)  # as an eviction does
        await one.put([record("a", tags=("t",))])
        await eventually(lambda: "t" in theirs.tags or theirs.everything)


async def test_of_an_epoch_that_several_need_at_once_nobody_hears(server, open_store):
    """Whoever had looked for it in vain dropped what it held under the tag, the answer that it was storing too."""
    other = await open_store(server.url)
    async with FaultProxy(server.port) as proxy:
        store = await open_store(f"{proxy.url}?lag=5s")
        async with Listener(store) as heard:
            proxy.hold = b"NX"  # it knows by now that there is no epoch
            storing = asyncio.create_task(store.put([record("a", tags=("t",))]))
            await proxy.held.wait()
            await other.put([record("b", tags=("t",))])
            proxy.go.set()
            assert await storing == 1
            await other.invalidate(tags=["end"])
            await eventually(lambda: "end" in heard.tags)
            assert heard.tags == ["end"] and not heard.scopes and not heard.everything


async def test_a_lost_connection_says_everything_and_so_does_the_next(server, open_store):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        async with Listener(store) as listener:
            proxy.cut()
            await eventually(lambda: listener.everything >= 2 and store.coherent)


async def test_a_silent_connection_says_everything(server, open_store):
    async with FaultProxy(server.port) as proxy:
        store = await open_store(proxy.url)
        async with Listener(store) as listener:
            proxy.hang = True
            await eventually(lambda: listener.everything)
            assert not store.coherent
            proxy.heal()
            await eventually(lambda: store.coherent)


async def test_flushing_the_server_says_everything(pair, server):
    two = pair[1]
    async with Listener(two) as theirs:
        server.do("FLUSHALL")
        await eventually(lambda: theirs.everything)


async def test_listening_works_before_there_is_a_server(own_server, make_store, free_port):
    port = free_port()
    store = make_store(f"redis://127.0.0.1:{port}")
    async with Listener(store) as listener:
        await eventually(lambda: listener.everything)
        own_server(port=port)
        await eventually(lambda: store.coherent)


async def test_a_reader_that_sleeps_wakes_to_everything(pair):
    """What waits for a slow reader is bounded."""
    one, two = pair
    async with two.changes() as changes:
        for _ in range(30):
            await one.delete([random.randbytes(16) for _ in range(100)])
        await two.sync()
        await eventually(lambda: len(next(iter(two._lane().coherence.news._mailboxes))._items) > 0)
        seen = [await anext(changes)]
        while not seen[-1].everything and sum(len(change.keys) for change in seen) < 3000:
            seen.append(await anext(changes))
        assert len(seen) <= 1024


async def test_what_is_read_while_it_is_deleted_is_not_served(server, open_store):
    """The value was on its way when the deletion became known."""
    async with FaultProxy(server.port) as proxy:
        slow, fast = await open_store(proxy.url), await open_store(server.strict_url)
        mine = record(payload=b"on its way")
        await fast.put([mine])
        assert await slow.get(mine.key, mine.canonical) is not None
        async with Listener(slow) as heard:
            proxy.hold_reply = mine.payload
            reading = asyncio.create_task(slow.get(mine.key, mine.canonical))
            await proxy.held.wait()
            await fast.delete([mine.key])
            await eventually(lambda: mine.key in heard.keys)
            proxy.go.set()
            assert await reading is None


@pytest.mark.parametrize("broken", ["cut", "hang"])
async def test_an_invalidation_during_a_broken_connection_is_not_missed(server, open_store, broken):
    async with FaultProxy(server.port) as proxy:
        far, near = await open_store(proxy.url), await open_store(server.strict_url)
        mine = record(tags=("t",))
        await near.put([mine])
        assert await far.get(mine.key, mine.canonical) is not None
        if broken == "hang":
            proxy.hang = True
        else:
            proxy.refuse = True
            proxy.cut()
        await near.invalidate(tags=["t"])
        await eventually(lambda: not far.coherent)
        proxy.heal()
        if broken == "hang":
            proxy.cut()  # what was swallowed never comes
        await eventually(lambda: far.coherent)
        await far.start()
        with pytest.raises(StoreError) as refusal:
            await far.get(mine.key, mine.canonical)
        assert refusal.value.reason == "invalidated"


class Model:
    """All invalidations of each tag, scope and key that returned: when they were called, and when they returned."""

    def __init__(self) -> None:
        self.invalidated: dict[str, list[tuple[float, float]]] = {}

    async def declare(self, name: str, work: Awaitable[object]) -> None:
        called = time.time()
        await work
        self.invalidated.setdefault(name, []).append((called, time.time()))

    def forbids(self, dependencies: tuple[str, ...], began: float, known: float) -> bool:
        """Whether an answer whose computation began then is older than an invalidation that returned before `known`.

        One that began while the invalidation was under way saw what the invalidation was about.
        """
        moments = (moment for name in dependencies for moment in self.invalidated.get(name, ()))
        return any(began < called and returned < known for called, returned in moments)


TAGS = ("red", "green")
STEPS = ("put", "put", "put", "get", "get", "get", "tag", "scope", "delete", "cut", "slow")


@settings(max_examples=60, phases=(Phase.generate,))  # what depends on timing shrinks badly
@given(plan=st.lists(st.sampled_from(STEPS), min_size=20, max_size=80), seed=st.integers(0, 2**32))
def test_nothing_older_than_an_invalidation_is_ever_served(model_server: Server, plan, seed):
    """Three processes, one of them behind a connection that breaks, run a plan in any interleaving."""
    asyncio.run(_run(model_server, plan, random.Random(seed)))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_nothing_older_than_an_invalidation_is_ever_served_in_a_thousand_more(
    model_server: Server, first: int
):
    """The same with plans of any kind."""
    for seed in range(first, first + 100):
        chance = random.Random(seed)
        plan = [chance.choice(STEPS) for _ in range(chance.randrange(20, 200))]
        asyncio.run(_run(model_server, plan, chance))


@pytest.fixture(scope="module")
def model_server(shared_server: Server) -> Server:
    return shared_server


async def _run(server: Server, plan: list[str], chance: random.Random) -> None:
    server.do("FLUSHALL")
    model, loop = Model(), asyncio.get_running_loop()
    async with FaultProxy(server.port) as proxy:
        stores = [
            RedisStore(url, prefix="model") for url in (server.strict_url, server.strict_url, proxy.url)
        ]
        for store in stores:
            await store.start()
        running: set[asyncio.Task[None]] = set()
        for step in plan:
            running.add(loop.create_task(_step(step, chance, chance.choice(stores), model, proxy)))
            for _ in range(chance.choice((0, 0, 1, 3, 10))):
                await asyncio.sleep(0)
            if chance.random() < 0.15:
                await asyncio.gather(*running)
        await asyncio.gather(*running)
        proxy.heal()
        await asyncio.gather(*(_step("get", chance, stores[n % 3], model, proxy) for n in range(12)))
        for store in stores:
            await store.aclose()


async def _step(step: str, chance: random.Random, store: RedisStore, model: Model, proxy: FaultProxy) -> None:
    n = chance.choice((0, 0, 0, 1, 2))
    name, tag, scope = f"q{n}", TAGS[n % 2], b"%d" % (n // 2)
    wanted = record(name)
    proxy.refuse = False
    with contextlib.suppress(StoreError):
        if step == "put":
            began = time.time()
            for _ in range(chance.randrange(20)):  # the computation
                await asyncio.sleep(0)
            await asyncio.sleep(chance.choice((0, 0.002, 0.005)))
            made = record(name, b"%r" % began, tags=(tag,), scope=scope)
            await store.put([dataclasses.replace(made, created=time.time(), seconds=time.time() - began)])
        elif step == "get":
            known = time.time() - 0.1
            if chance.random() < 0.7:  # what was invalidated before a synchronization is known after it
                known = time.time()
                await store.sync()
            found = await store.get(wanted.key, wanted.canonical)
            if found is not None:
                assert not model.forbids((tag, f"scope{n // 2}", name), float(found.payload), known), found
        elif step == "tag":
            await model.declare(tag, store.invalidate(tags=[tag]))
        elif step == "scope":
            await model.declare(f"scope{n // 2}", store.invalidate(scopes=[scope]))
        elif step == "delete":
            await model.declare(name, store.delete([wanted.key]))
        elif step == "cut":  # and what happens while it lasts
            proxy.refuse = True
            proxy.cut()
            await model.declare(tag, store.invalidate(tags=[tag]))
        else:
            proxy.delay = 0.01 * n
