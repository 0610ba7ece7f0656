"""What is made of a failure goes with what failed: a table that was not there may be there now."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from cachelayer import CacheLayer, Source

DROPS: dict[str, Any] = {
    "its function": {"scope": {"function": "price"}},
    "a tag of its own": {"tags": ["goods:tea"]},
    "what it used": {"documents": ["list"]},
}
EACH = pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)


def failing(layer: CacheLayer) -> Any:
    @layer.cached(name="price", tags=["goods:{of}"])
    async def price(of: str) -> int:
        layer.used(documents=["list"])
        await asyncio.sleep(0)
        raise LookupError(of)

    return price


@EACH
async def test_what_is_made_of_a_failure_goes_with_what_failed(drop: Any) -> None:
    async with CacheLayer(semantic=False) as layer:
        price = failing(layer)

        @layer.cached
        async def offer(of: str) -> str:
            try:
                return f"{of} at {await price(of)}"
            except LookupError:
                return f"no {of}"

        await offer("tea")
        assert (await offer.outcome("tea")).source is Source.MEMORY
        await layer.invalidate(**drop)
        assert (await offer.outcome("tea")).source is Source.BACKEND
        await price.invalidate("tea")
        assert (await offer.outcome("tea")).source is Source.BACKEND


@EACH
async def test_it_does_for_who_joined_another_s_call_of_it(drop: Any) -> None:
    async with CacheLayer(semantic=False) as layer:
        price = failing(layer)

        @layer.cached
        async def offer(of: str, to: str) -> str:
            try:
                return f"{to}: {of} at {await price(of)}"
            except LookupError:
                return f"{to}: no {of}"

        everybody = ("ann", "bob", "eve")
        await asyncio.gather(*(offer("tea", to) for to in everybody))
        assert price.function.stats.backend_calls == 1
        assert {(await offer.outcome("tea", to)).source for to in everybody} == {Source.MEMORY}
        await layer.invalidate(**drop)
        assert {(await offer.outcome("tea", to)).source for to in everybody} == {Source.BACKEND}


def test_it_does_in_threads_as_well() -> None:
    layer, asked, go_on = CacheLayer(semantic=False), threading.Semaphore(0), threading.Event()

    @layer.cached
    def price(of: str) -> int:
        go_on.wait()
        raise LookupError(of)

    @layer.cached
    def offer(of: str, to: str) -> str:
        asked.release()
        try:
            return f"{to}: {of} at {price(of)}"
        except LookupError:
            return f"{to}: no {of}"

    threads = [threading.Thread(target=offer, args=("tea", to)) for to in ("ann", "bob")]
    for thread in threads:
        thread.start()
        asked.acquire()
    go_on.set()
    for thread in threads:
        thread.join()
    assert price.invalidate("tea") == 2


async def test_it_does_where_a_step_of_a_pipeline_failed() -> None:
    async def look(of: str) -> str:
        raise LookupError(of)

    def render(of: str) -> str:
        raise LookupError(of)

    async with CacheLayer(semantic=False) as layer:
        tool, search = layer.tools(look, keep="10m"), layer.retrieval(look, corpus="shelf")
        hello = layer.prompts.template("hello", render)
        steps: dict[str, Any] = {"tool": tool, "search": search, "hello": lambda of: hello(of=of)}

        @layer.cached
        async def offer(step: str) -> str:
            try:
                found = steps[step]("tea")
                return str(await found)
            except LookupError:
                return "none"

        changes: dict[str, Any] = {"tool": {"tools": ["look"]}, "search": {"corpus": "shelf"}}
        for step, changed in (changes | {"hello": {"prompts": ["hello"]}}).items():
            await offer(step)
            assert (await offer.outcome(step)).source is Source.MEMORY
            await layer.invalidate(**changed)
            assert (await offer.outcome(step)).source is Source.BACKEND
