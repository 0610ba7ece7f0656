"""A fault costs a moment, not an entry or a report: what could not be told or read then is told or read later."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from fault_proxy import FaultProxy
from held_model import Slow
from redis_records import eventually
from redis_servers import Server
from test_layer_feed import BACKWARDS, FORWARDS, layer_on
from test_layer_owed import refusing_writes

from cachelayer import Source
from cachelayer.errors import StoreFault
from cachelayer.exact.redis import RedisStore
from cachelayer.testing import Gate
from cachelayer.tiers.feed import TRIES
from cachelayer.tiers.outbox import BATCH, MOST, Outbox
from cachelayer.types import Findable, Record

PROSE = "hold the only button for as long as it takes until the light has blinked two times"


class Faulty(RedisStore):
    """Fails the next calls of a method, as often as `failing` says."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.failing: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def _call(self, method: str) -> None:
        self.asked[method] += 1
        if self.failing[method]:
            self.failing[method] -= 1
            raise StoreFault("for a moment")

    async def get(self, key: bytes, canonical: bytes, *rest: Any, **more: Any) -> Record | None:
        self._call("get")
        return await super().get(key, canonical, *rest, **more)

    async def publish(self, findable: Sequence[Findable]) -> None:
        self._call("publish")
        await super().publish(findable)


async def test_an_entry_that_could_not_be_fetched_is_fetched_later(server: Server) -> None:
    store = Faulty(server.url)
    async with layer_on(server.url) as one, layer_on(store) as two:
        ask, other = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        store.failing["get"] = 3
        await ask(FORWARDS)
        await one.flush()
        await eventually(lambda: two.stats()["elsewhere"]["taken"] == 1)
        assert two.stats()["faults"] == {"store:StoreFault": 3}
        assert (await other.outcome(BACKWARDS)).match == "similar"


async def test_an_entry_that_can_never_be_fetched_keeps_no_other_from_being_found(server: Server) -> None:
    store = Faulty(server.url)
    async with layer_on(server.url) as one, layer_on(store) as two:
        ask, _ = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        store.failing["get"] = TRIES + 1
        await ask("the broken one")
        await ask(FORWARDS)
        await one.flush()
        await eventually(lambda: two.stats()["elsewhere"]["taken"] == 1)
        assert store.failing["get"] == 0


async def test_what_could_not_be_fetched_before_memory_was_emptied_is_fetched_after(server: Server) -> None:
    """Memory is emptied when a connection comes back; the first look at the feed forgot that, and went on."""
    async with layer_on(server.url) as one:
        await one.wrap(Gate(opened=True), name="ask")(FORWARDS)
        await one.flush()
    async with FaultProxy(server.port) as proxy:
        proxy.hold_reply = b"in Lyon"
        layer = layer_on(f"{proxy.url}?lag=5s")
        ask = layer.wrap(Gate(lambda question: "in Lyon", opened=True), name="ask")
        async with layer_on(server.url) as one:
            await one.wrap(Gate(lambda question: "in Lyon", opened=True), name="ask")("the last one")
            await one.flush()
        starting = asyncio.create_task(layer.start())
        await proxy.held.wait()  # the first one is taken in, the second is on its way
        assert layer.stats()["entries"] == 1
        layer._shared.invalidations._unheard()
        assert layer.stats()["entries"] == 0
        proxy.go.set()
        await starting
        await eventually(lambda: layer.stats()["entries"] == 2)
        assert (await ask.outcome(BACKWARDS)).match == "similar"
        await layer.aclose()


async def test_an_entry_that_could_not_be_announced_is_announced_later(server: Server) -> None:
    store = Faulty(server.url)
    async with layer_on(store) as one, layer_on(server.url) as two:
        ask, other = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        store.failing["publish"] = 2
        await ask(FORWARDS)
        await one.flush()
        await eventually(lambda: two.stats()["elsewhere"]["taken"] == 1)
        assert (await other.outcome(BACKWARDS)).match == "similar"
        assert one.stats()["elsewhere"]["untold"] == 0


async def test_what_became_findable_while_the_breaker_was_open_is_announced_once_it_is_closed(
    server: Server,
) -> None:
    store = Faulty(server.url)
    async with layer_on(store) as one, layer_on(server.url) as two:
        ask, _ = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        breaker = one._shared.breaker
        store.failing["publish"] = 1
        await ask(FORWARDS)
        await one.flush()
        breaker.hold()
        await one._tiers.elsewhere.wrote([], [], 0.0)
        asked = store.asked["publish"]
        await one._tiers.elsewhere.wrote([], [], 0.0)
        assert (store.asked["publish"], one.stats()["elsewhere"]["untold"]) == (asked, 1)
        breaker.release()
        await eventually(lambda: two.stats()["elsewhere"]["taken"] == 1)


async def test_a_report_that_the_store_refused_for_a_moment_holds_in_every_process(server: Server) -> None:
    gate = Gate(lambda question: f"answer to {question}", opened=True)
    async with layer_on(server.url) as here, layer_on(server.url) as there:
        ask, elsewhere = (layer.wrap(gate, name="ask") for layer in (here, there))
        await ask(FORWARDS)
        await here.flush()
        served = await ask.outcome(BACKWARDS)
        with refusing_writes(server):
            assert served.match == "similar" and await here.report_wrong(served)
        await eventually(lambda: len(there._tiers.reported) == 1)
        await ask(FORWARDS)
        await here.flush()
        assert (await elsewhere.outcome(BACKWARDS)).answer == f"answer to {BACKWARDS}"


async def test_while_the_store_does_not_know_what_is_invalid_the_feed_brings_none_of_it_back(
    own_server: Any,
) -> None:
    """It came back from the feed after a reconnect, and memory served it, in the process that had dropped it."""
    server = own_server()
    async with layer_on(server.strict_url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask(FORWARDS)
        await layer.flush()
        with refusing_writes(server):
            await layer.invalidate(tags=["kb"])
            begun = layer._tiers.elsewhere._place
            server.do("CLIENT", "KILL", "TYPE", "normal")
            await eventually(lambda: layer._tiers.elsewhere._place is not begun)
            await eventually(lambda: layer.stats()["shared"]["store"]["coherent"])
            for _ in range(3):
                await layer._tiers.elsewhere._catch_up()
            assert layer.stats()["entries"] == 0 and layer.stats()["shared"]["owed"] > 0
            outcome = await ask.outcome(FORWARDS)
            assert (outcome.source, outcome.answer) == (Source.BACKEND, "answer 2")
        await eventually(lambda: layer.stats()["shared"]["owed"] == 0)


@pytest.mark.parametrize("eraser", ["itself", "another"])
async def test_an_erasure_leaves_nothing_of_what_waits_for_its_function(server: Server, eraser: str) -> None:
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        ask = one.wrap(Gate(opened=True), name="ask")
        for tenant in ("acme", "other"):
            with one.scope(tenant=tenant):
                await ask(FORWARDS)
        await one.flush()
        await eventually(lambda: two.stats()["elsewhere"]["waiting"] == 2)
        await (two if eraser == "itself" else one).erase(tenant="acme")
        await eventually(lambda: two.stats()["elsewhere"]["waiting"] == 1)
        (waiting,) = two._tiers.elsewhere.arrivals._waiting["ask"].values()
        assert waiting.item.tenant == "other"


async def test_an_erasure_leaves_nothing_of_what_was_not_announced_yet(server: Server) -> None:
    store = Faulty(server.url)
    async with layer_on(store) as layer:
        store.failing["publish"] = 1_000_000
        ask = layer.wrap(Gate(opened=True), name="ask")
        for tenant in ("acme", "other"):
            with layer.scope(tenant=tenant):
                await ask(FORWARDS)
        await layer.flush()
        assert layer.stats()["elsewhere"]["untold"] == 2
        await layer.erase(tenant="acme")
        assert layer.stats()["elsewhere"]["untold"] == 1
        await layer.erase()
        assert layer.stats()["elsewhere"]["untold"] == 0


async def test_the_owner_must_know_that_reports_of_whom_was_erased_lie_there_still(own_server: Any) -> None:
    server = own_server()
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        with layer.scope(tenant="acme"):
            await ask(FORWARDS)
            await layer.flush()
            assert await layer.report_wrong(await ask.outcome(BACKWARDS))
        server.do("ACL", "SETUSER", "default", "-xdel")
        with pytest.raises(StoreFault, match="not erased from the store redis"):
            await layer.erase(tenant="acme")
        server.do("ACL", "SETUSER", "default", "+xdel")
        await layer.erase(tenant="acme")
        assert server.do("XLEN", "cachelayer:a") == 0


async def test_of_what_waits_to_be_told_the_latest_are_kept_and_told_in_batches() -> None:
    told: list[Sequence[int]] = []

    async def tell(items: Sequence[int]) -> None:
        told.append(items)

    async with layer_on(None) as layer:
        outbox = Outbox("feed", tell, layer._engine.faults, 5.0)
        outbox.add({number.to_bytes(4, "big"): number for number in range(MOST + 5)})
        assert (len(outbox), outbox.dropped) == (MOST, 5)
        await outbox.tell()
        assert [one for batch in told for one in batch] == list(range(5, MOST + 5))
        assert max(map(len, told)) == BATCH and len(outbox) == 0


async def test_what_comes_while_nobody_hears_of_invalidations_is_not_taken_in(server: Server) -> None:
    """A fault ended the listening and emptied memory; the feed filled it again, and nobody heard any more."""
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        ask, other = (layer.wrap(Gate(opened=True), name="ask", tags=["kb"]) for layer in (one, two))
        await ask(FORWARDS)
        await one.flush()
        await eventually(lambda: two.stats()["entries"] == 1)

        def fail(key: bytes) -> None:
            two._shared.invalidations.outdated = lambda key: None
            raise MemoryError

        two._shared.invalidations.outdated = fail
        await ask.invalidate("another")
        await eventually(lambda: two.stats()["faults"] == {"changes:MemoryError": 1})
        await eventually(lambda: two.stats()["entries"] == 1)
        assert two.stats()["shared"]["listening"]
        await one.invalidate(tags=["kb"])
        await eventually(lambda: two.stats()["entries"] == 0)
        assert (await other.outcome(FORWARDS)).source is Source.BACKEND


class Telling(RedisStore):
    """Remembers what was announced."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.told: list[Findable] = []

    async def publish(self, findable: Sequence[Findable]) -> None:
        self.told += findable
        await super().publish(findable)


async def test_an_erasure_leaves_nothing_of_what_is_announced_with_an_answer_that_is_still_read(
    server: Server,
) -> None:
    store, model = Telling(server.url), Slow(about="button")
    async with layer_on(store, embedder=model) as layer:
        gate = Gate(lambda asked: f"{asked}: {PROSE}" if "hub" in asked else "short", opened=True)
        ask = layer.wrap(gate, name="ask")
        await ask("reset the hub")
        await model.asked.wait()
        with layer.scope(tenant="acme"):
            await ask("where is it")
        await ask("pair the hub")  # these two are written together
        model.go.set()
        model.go.clear()
        model.asked.clear()
        await model.asked.wait()
        await layer.erase(tenant="acme")
        model.go.set()
        await layer.flush()
        assert [item.text for item in store.told] == ["reset the hub", "pair the hub"]
