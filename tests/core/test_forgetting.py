"""What tenants and functions left is forgotten when their owner says so, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from shelf import SlowShelf

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy, Reason, Source
from cachelayer.keep.holdings import STEP
from cachelayer.testing import Gate
from cachelayer.tiers.implied import implied, scope_of
from cachelayer.types import Record


@pytest.mark.parametrize(
    "scope", [{"tenant": "acme"}, {"function": "ask"}, {"tenant": "acme", "function": "ask"}]
)
async def test_the_first_answer_of_a_scope_is_not_kept_where_it_was_forgotten_meanwhile(
    scope: dict[str, str],
) -> None:
    layer, gate = CacheLayer(semantic=False), Gate()
    ask = layer.wrap(gate, name="ask")
    with layer.scope(tenant="acme"):
        asking = asyncio.create_task(ask.outcome("q"))
    await gate.entered()
    await (layer.invalidate(scope=scope) if "function" in scope else layer.erase(tenant="acme"))
    gate.open()
    assert (await asking).stored is Reason.INVALIDATED and layer.stats()["entries"] == 0


@pytest.mark.parametrize("what", [{"tags": ["mine"]}, {"scope": {"function": "ask"}}, None])
async def test_forgetting_comes_to_an_end_though_in_every_turn_of_the_loop_another_answer_is_made(
    what: dict[str, Any] | None,
) -> None:
    layer = CacheLayer(semantic=False)
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["mine"])
    for made in range(3 * STEP):
        await ask(str(made))
    forgetting = asyncio.create_task(layer.erase() if what is None else layer.invalidate(**what))
    while not forgetting.done():
        made += 1
        assert made < 20 * STEP, "it waits for a turn in which nothing is made"
        await ask(str(made))
        await asyncio.sleep(0)
    assert await forgetting >= 3 * STEP
    assert (await ask.outcome("0")).source is Source.BACKEND


@pytest.mark.parametrize("name", [None, "", 7])
async def test_no_name_by_accident_takes_everything(name: object) -> None:
    layer = CacheLayer(semantic=False)
    ask = layer.wrap(Gate(opened=True), name="ask")
    await ask("a")
    mistakes = (
        layer.erase(tenant=name),  # type: ignore[arg-type]
        layer.invalidate(scope={"tenant": name}),  # type: ignore[dict-item]
        layer.invalidate(scope={"function": name}),  # type: ignore[dict-item]
    )
    for mistake in mistakes:
        with pytest.raises(ConfigurationError, match=f"={name!r}: name a (tenant|function)"):
            await mistake
    assert (await ask.outcome("a")).source is Source.MEMORY


async def each_tag(layer: CacheLayer, ask: Any) -> None:
    await layer.invalidate(tags=["mine"])
    for n in range(1500):
        await layer.invalidate(tags=[f"t{n}"])


async def each_call(layer: CacheLayer, ask: Any) -> None:
    await ask.invalidate("q")
    for n in range(17_000):
        await ask.invalidate(str(n))


@pytest.mark.parametrize("forget", [each_tag, each_call])
async def test_what_was_forgotten_while_an_answer_was_made_counts_however_much_was_forgotten_after_it(
    forget: Callable[[CacheLayer, Any], Awaitable[None]],
) -> None:
    layer, gate = CacheLayer(semantic=False), Gate()
    ask = layer.wrap(gate, name="ask", tags=["mine"])
    asking = asyncio.create_task(ask.outcome("q"))
    await gate.entered()
    await forget(layer, ask)
    gate.open()
    assert (await asking).stored is Reason.INVALIDATED and layer.stats()["entries"] == 0


@pytest.mark.parametrize(
    "forget",
    [
        lambda layer, ask: ask.invalidate("q"),
        lambda layer, ask: layer.invalidate(tags=["mine"]),
        lambda layer, ask: layer.invalidate(scope={"tenant": "acme"}),
        lambda layer, ask: layer.invalidate(scope={"function": "ask"}),
        lambda layer, ask: layer.erase(tenant="acme"),
        lambda layer, ask: layer.erase(),
    ],
    ids=["call", "tag", "tenant", "function", "erase", "erase all"],
)
@pytest.mark.parametrize("late", [True, False])
async def test_what_is_read_from_the_store_while_it_is_forgotten_is_gone_once_it_is_forgotten(
    forget: Callable[[CacheLayer, Any], Awaitable[int]], late: bool
) -> None:
    """It came after all was cleared (`late`), or between memory and store: it stayed in memory."""
    shelf, policy = SlowShelf(), Policy(budgets=Budgets(store="1h"))
    here, there = (CacheLayer(store=shelf, semantic=False, policy=policy) for _ in range(2))
    ask, elsewhere = (layer.wrap(Gate(opened=True), name="ask", tags=["mine"]) for layer in (here, there))
    async with here, there:
        with here.scope(tenant="acme"), there.scope(tenant="acme"):
            await elsewhere("q")
            await there.flush()
            if late:
                shelf.giving.clear()
                asking = asyncio.create_task(ask.outcome("q"))
                await asyncio.sleep(0)
            forgetting = asyncio.ensure_future(forget(here, ask))
            await shelf.told.wait()
            outcome = None if late else await ask.outcome("q")
            shelf.hearing.set()
            await forgetting
            shelf.giving.set()
            assert (outcome or await asking).source is Source.REDIS
            assert (await ask.outcome("q")).source is Source.BACKEND


class Deaf(SlowShelf):
    """Its news end once `deaf` is set: what is invalidated elsewhere is not heard of."""

    def __init__(self, *, checks: bool) -> None:
        super().__init__()
        self.checks, self.deaf = checks, asyncio.Event()

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Any]]:
        await self.deaf.wait()
        raise ConnectionError
        yield  # type: ignore[unreachable]


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("read", [True, False])
async def test_what_is_made_or_read_from_the_store_while_its_news_are_lost_does_not_stay_in_memory(
    read: bool, checks: bool
) -> None:
    shelf, gate, policy = Deaf(checks=checks), Gate(opened=read), Policy(budgets=Budgets(store="1h"))
    async with CacheLayer(store=shelf, semantic=False, policy=policy) as there:
        if read:
            await there.wrap(gate, name="ask")("q")
    async with CacheLayer(store=shelf, semantic=False, policy=policy) as here:
        ask = here.wrap(gate, name="ask")
        if read:
            shelf.giving.clear()
        asking = asyncio.create_task(ask.outcome("q"))
        await (asyncio.sleep(0) if read else gate.entered())
        epoch = here._keeper.epoch
        shelf.deaf.set()
        while here._keeper.epoch == epoch:
            await asyncio.sleep(0)
        shelf.giving.set()
        gate.open()
        assert (await asking).source is Source.BACKEND  # nor is what was read meanwhile served
        await here.flush()
        assert (await ask.outcome("q")).source is not Source.MEMORY


@pytest.mark.parametrize("by_tag", [True, False])
async def test_what_was_forgotten_before_an_answer_was_begun_or_of_others_does_not_count_against_it(
    by_tag: bool,
) -> None:
    layer, gate = CacheLayer(semantic=False), Gate()
    ask = layer.wrap(gate, name="ask", tags=["mine"])
    other = layer.wrap(Gate(opened=True), name="other", tags=["other"])
    await (layer.invalidate(tags=["mine"]) if by_tag else ask.invalidate("q"))
    asking = asyncio.create_task(ask.outcome("q"))
    await gate.entered()
    await layer.invalidate(tags=["other"])
    await layer.invalidate(scope={"function": "other"})
    await other.invalidate("q")
    gate.open()
    assert (await asking).stored is None and (await ask.outcome("q")).source is Source.MEMORY


@pytest.mark.parametrize("tenant", [None, "acme", "\ud800"])
async def test_what_a_function_left_goes_with_its_name_for_every_tenant_and_no_other_s_does(
    tenant: str | None,
) -> None:
    layer = CacheLayer(semantic=False)
    ask, asks = (layer.wrap(Gate(opened=True), name=name) for name in ("ask", "ask, s"))
    with layer.scope(tenant=tenant):
        await ask("q")
        await asks("q")
        assert await layer.invalidate(scope={"function": "ask"}) == 1
        assert (await asks.outcome("q")).source is Source.MEMORY
        assert (await ask.outcome("q")).source is Source.BACKEND


def test_no_tag_of_a_users_stands_for_a_scope_whatever_it_is_called() -> None:
    for name, tenant in (("ask", None), ("ask", "acme"), ("a:b", "c:d")):
        for tag in implied(name, tenant):
            assert scope_of(tag) in ({}, {"function": name}, {"tenant": tenant})
            assert scope_of(tag.removeprefix("\0")) is None


class Busy(Deaf):
    """It writes once `writing` is set."""

    def __init__(self) -> None:
        super().__init__(checks=True)
        self.begun, self.writing = asyncio.Event(), asyncio.Event()
        self.hearing.set()

    async def put(self, records: Sequence[Record], leases: Sequence[object] = ()) -> None:
        self.begun.set()
        await self.writing.wait()
        await super().put(records, leases)


@pytest.mark.parametrize("forgotten", [True, False])
async def test_what_was_made_while_news_were_lost_goes_to_a_store_that_checks_unless_it_was_forgotten_here(
    forgotten: bool,
) -> None:
    shelf, gate = Busy(), Gate()
    async with CacheLayer(store=shelf, semantic=False) as layer:
        ask = layer.wrap(gate, name="ask", tags=["mine"])
        asking = asyncio.create_task(ask("q"))
        await gate.entered()
        await layer.wrap(Gate(opened=True), name="other")("q")
        await shelf.begun.wait()
        epoch = layer._keeper.epoch
        shelf.deaf.set()
        while layer._keeper.epoch == epoch:
            await asyncio.sleep(0)
        gate.open()
        await asking
        if forgotten:
            await layer.invalidate(tags=["mine"])
        shelf.writing.set()
        await layer.flush()
        assert len(shelf.held) == 2 - forgotten
