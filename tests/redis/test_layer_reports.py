"""A report holds in every process: the answer is gone from the store, and from the memory of the others."""

from __future__ import annotations

from typing import Any

from redis_records import eventually
from redis_servers import Server
from test_layer_feed import BACKWARDS, FORWARDS, layer_on

from cachelayer import Budgets, CacheLayer, Outcome, Policy, Source
from cachelayer.testing import Gate


async def test_a_reported_answer_is_gone_from_the_store_and_from_other_processes(server: Server) -> None:
    async with layer_on(server.url) as here, layer_on(server.url) as there:
        gate = Gate(opened=True)
        ask, elsewhere = (layer.wrap(gate, name="ask") for layer in (here, there))
        wrong = await ask.outcome(FORWARDS)
        await here.flush()
        assert (await elsewhere.outcome(FORWARDS)).source is Source.REDIS
        await there.flush()
        assert (await elsewhere.outcome(BACKWARDS)).match == "similar"
        assert await here.report_wrong(wrong)
        await eventually(lambda: there.stats()["entries"] == 0)
        for caller in (ask, elsewhere):
            assert (await caller.outcome(FORWARDS)).answer != wrong.answer


async def test_without_a_memory_of_its_own_a_process_reports_what_the_store_gave_it(server: Server) -> None:
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", max_bytes=0)
        made = await ask.outcome("q")
        await layer.flush()
        served = await ask.outcome("q")
        assert (served.source, served.answer) == (Source.REDIS, made.answer)
        assert await layer.report_wrong(served) and not await layer.report_wrong(served)
        assert (await ask.outcome("q")).source is Source.BACKEND


async def test_nor_does_it_matter_that_its_memory_has_no_room_for_what_the_store_gave_it(
    server: Server,
) -> None:
    """It was unknown there by its id, and the store went on giving it."""
    async with layer_on(server.url) as here, layer_on(server.url) as there:
        gate = Gate(lambda question: question * 1000, opened=True)
        large = here.wrap(gate, name="ask", semantic=False)
        small = there.wrap(gate, name="ask", semantic=False, max_item_bytes=500)
        await large("q")
        await here.flush()
        served = await small.outcome("q")
        assert served.source is Source.REDIS and there.stats()["entries"] == 0
        assert await there.report_wrong(served)
        await eventually(lambda: here.stats()["entries"] == 0)
        assert (await large.outcome("q")).source is Source.BACKEND


async def test_an_outcome_is_reported_in_whatever_process_and_no_other_answer_goes(server: Server) -> None:
    async with layer_on(server.url) as here, layer_on(server.url) as there, layer_on(server.url) as third:
        gate = Gate(opened=True)
        ask, elsewhere, thirdly = (layer.wrap(gate, name="ask") for layer in (here, there, third))
        wrong, right = await ask.outcome(FORWARDS), await elsewhere.outcome("quite another thing")
        await here.flush()
        await there.flush()
        for caller in (elsewhere, thirdly):
            met = await caller.outcome(FORWARDS)
            assert (met.answer, met.id) == (wrong.answer, wrong.id)
        await eventually(lambda: here.stats()["entries"] == 2)  # the other one came by the feed
        assert right.id != wrong.id and await there.report_wrong(wrong.id)
        await eventually(lambda: here.stats()["entries"] == 1)
        assert (await ask.outcome(FORWARDS)).source is Source.BACKEND
        for caller in (ask, elsewhere):
            assert (await caller.outcome("quite another thing")).source is Source.MEMORY


async def test_requests_that_were_reported_are_apart_in_every_process_and_in_later_ones(
    server: Server,
) -> None:
    gate = Gate(lambda question: f"answer to {question}", opened=True)
    async with layer_on(server.url) as here, layer_on(server.url) as there:
        ask, elsewhere = (layer.wrap(gate, name="ask") for layer in (here, there))
        await ask(FORWARDS)
        await here.flush()
        served = await ask.outcome(BACKWARDS)
        assert served.match == "similar" and await here.report_wrong(served)
        await eventually(lambda: len(there._tiers.reported) == 1)
        await ask(FORWARDS)
        await here.flush()
        async with layer_on(server.url) as later:
            for caller in (ask, elsewhere, later.wrap(gate, name="ask")):
                assert (await caller.outcome(BACKWARDS)).answer == f"answer to {BACKWARDS}"
    assert b"parcel" not in repr(server.do("XRANGE", "cachelayer:a", "-", "+")).encode()


async def test_what_a_tenant_reported_is_erased_with_its_answers(server: Server) -> None:
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        for tenant in ("acme", "other"):
            with layer.scope(tenant=tenant):
                await ask(FORWARDS)
                await layer.flush()
                assert await layer.report_wrong(await ask.outcome(BACKWARDS))
        assert server.do("XLEN", "cachelayer:a") == 2
        await layer.erase(tenant="acme")
        assert server.do("XLEN", "cachelayer:a") == 1 == len(layer._tiers.reported)
        await layer.erase()
        assert server.do("EXISTS", "cachelayer:a") == 0 == len(layer._tiers.reported)


async def evicted(server: Server, ask: Any, layer: CacheLayer) -> Outcome:
    """The outcome of a request whose answer is in the store and no longer in memory."""
    made: Outcome = await ask.outcome("wrong")
    assert made.source is Source.BACKEND
    for number in range(100):
        for _ in range(2):
            await ask(f"another {number}")
    await layer.flush()
    assert layer._keeper.by_id(made.id) is None
    return made


def small(server: Server) -> tuple[CacheLayer, Any]:
    layer = CacheLayer(
        store=server.url, semantic=False, policy=Policy(max_bytes=70_000, budgets=Budgets(store="2s"))
    )
    return layer, layer.wrap(Gate(lambda question: question * 50, opened=True), name="ask")


async def test_an_answer_that_made_room_in_memory_is_reported_and_the_store_gives_it_no_more(
    server: Server,
) -> None:
    """It was unknown, and served on."""
    layer, ask = small(server)
    async with layer:
        made = await evicted(server, ask, layer)
        assert await layer.report_wrong(made) and not await layer.report_wrong(made)
        assert (await ask.outcome("wrong")).source is Source.BACKEND


async def test_a_process_that_never_held_an_answer_reports_it_by_its_id(server: Server) -> None:
    here, ask = small(server)
    there, elsewhere = small(server)
    async with here, there:
        made = await ask.outcome("wrong")
        await here.flush()
        assert await there.report_wrong(made.id)
        await eventually(lambda: here.stats()["entries"] == 0)
        assert (await elsewhere.outcome("wrong")).source is Source.BACKEND


async def test_what_took_an_answers_place_is_not_reported_with_it(server: Server) -> None:
    layer, ask = small(server)
    async with layer:
        made = await ask.outcome("wrong")
        await ask.refresh("wrong")
        await layer.flush()
        assert not await layer.report_wrong(made)
        assert (await ask.outcome("wrong")).source is Source.MEMORY


async def test_no_tenant_reports_what_another_ones_id_names_though_only_the_store_holds_it(
    server: Server,
) -> None:
    layer, ask = small(server)
    async with layer:
        with layer.scope(tenant="acme"):
            made = await evicted(server, ask, layer)
        for other in ("other", "acm"):
            with layer.scope(tenant=other):
                assert not await layer.report_wrong(made)
        with layer.scope(tenant="acme"):
            assert (await ask.outcome("wrong")).source is Source.REDIS
            assert await layer.report_wrong(made)
            assert (await ask.outcome("wrong")).source is Source.BACKEND
        common = await evicted(server, ask, layer)
        with layer.scope(tenant="acme"):
            assert not await layer.report_wrong(common)
        assert await layer.report_wrong(common)
