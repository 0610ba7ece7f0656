"""A report holds in every process: the answer is gone from the store, and from the memory of the others."""

from __future__ import annotations

from redis_records import eventually
from redis_servers import Server
from test_layer_feed import BACKWARDS, FORWARDS, layer_on

from cachelayer import Source
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
        await eventually(lambda: len(there._tiers.apart) == 1)
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
        assert server.do("XLEN", "cachelayer:a") == 1 == len(layer._tiers.apart)
        await layer.erase()
        assert server.do("EXISTS", "cachelayer:a") == 0 == len(layer._tiers.apart)
