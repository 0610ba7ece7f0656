"""What is declared invalid before it was written to a store of one's own is not written, and goes from memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest
from shelf import Shelf

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.testing import Gate
from cachelayer.wrap.handles import Handle


class Tagged(Shelf):
    """Forgets by tags."""

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        await self.delete([key for key, one in self.held.items() if {*one.tags} & {*tags}])


Act = Callable[[CacheLayer, Handle], Awaitable[object]]
ACTS: dict[str, Act] = {
    "tag": lambda layer, ask: layer.invalidate(tags=["kb"]),
    "scope": lambda layer, ask: layer.invalidate(scope={"function": "ask"}),
    "call": lambda layer, ask: ask.invalidate("q"),
}


@pytest.mark.parametrize("max_bytes", [0, 2**20])
@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
async def test_what_is_declared_invalid_on_its_way_to_a_store_does_not_get_there(
    act: Act, max_bytes: int
) -> None:
    """Without a memory it was written a moment after, and served from then on."""
    async with CacheLayer(store=Tagged(), semantic=False, policy=Policy(max_bytes=max_bytes)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("q")
        await act(layer, ask)
        await layer.flush()
        assert await ask("q") == "answer 2"


async def test_a_report_of_what_only_a_store_holds_takes_what_was_built_on_it_from_memory() -> None:
    async with CacheLayer(store=Tagged(), semantic=False) as layer:
        price = layer.wrap(Gate(opened=True), name="price", max_bytes=0)

        @layer.cached
        async def offer(of: str) -> str:
            return f"{of}: {await price(of)}"

        assert await offer("tea") == "tea: answer 1"
        await layer.flush()
        assert await layer.report_wrong(await price.outcome("tea"))
        assert await offer("tea") == "tea: answer 2"


async def test_a_tenant_reports_what_only_a_store_holds_as_well() -> None:
    async with CacheLayer(store=Shelf(), semantic=False) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", max_bytes=0)
        with layer.scope(tenant="acme"):
            await ask("q")
            await layer.flush()
            assert await layer.report_wrong(await ask.outcome("q"))
            assert await ask("q") == "answer 2"


class Own:
    """A class that no process is told of."""


async def test_what_cannot_leave_the_process_is_served_in_it_and_counted() -> None:
    shelf, own = Shelf(), Own()
    async with CacheLayer(store=shelf, semantic=False) as layer:
        ask = layer.wrap(Gate(lambda question: own, opened=True), name="ask", share=True)
        assert await ask("q") is own
        await layer.flush()
        assert (await ask.outcome("q")).source is Source.MEMORY and not shelf.held
        assert layer.stats()["functions"]["ask"]["not_stored"] == {Reason.FOREIGN_CLASS: 1}
