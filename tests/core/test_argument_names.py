"""Arguments may be called as they like: no name of theirs is one of the layer's own."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from cachelayer import CacheLayer

NAMED = {"self": 1, "invoke": 2, "args": 3, "scope": 4, "call": 5, "fn": 6, "handle": 7, "arguments": 8}


@pytest.mark.parametrize("traced", [False, True])
async def test_an_argument_may_have_any_name_whatever_is_asked_of_the_function(traced: bool) -> None:
    layer = CacheLayer(semantic=False)
    if traced:
        layer.trace(TracerProvider())

    @layer.cached
    async def later(**given: int) -> list[Any]:
        return sorted(given.items())

    @layer.cached
    def now(**given: int) -> list[Any]:
        return sorted(given.items())

    told, tool = sorted(NAMED.items()), layer.tools(now.__wrapped__, keep="1m", name="tool")
    for asked in (later, later.refresh, later.bypass, now.aio, now.aio.refresh):
        assert await asked(**NAMED) == told
    assert now(**NAMED) == now.refresh(**NAMED) == now.bypass(**NAMED) == tool(**NAMED) == told
    assert (await later.outcome(**NAMED)).match == now.outcome(**NAMED).match == "exact"
    assert (await later.explain(**NAMED)).verdict == now.explain(**NAMED).verdict == "exact hit"
    assert await later.invalidate(**NAMED) == now.invalidate(**NAMED) == 1
