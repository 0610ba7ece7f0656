"""What is asked for again and again takes the shortest way there is, and keeps to tenants and lifetimes there, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock

KINDS = pytest.mark.parametrize("kind", ["plain", "coroutine", "generator", "async generator"])
FORMS = pytest.mark.parametrize(
    ("args", "kwargs"),
    [(("q",), {}), ((["q"],), {}), ((), {"question": "q"}), (("q",), {"more": 1}), ((None,), {})],
)


class Backend:
    """A function of a kind, and how its answers are read; `told` is what it answers."""

    def __init__(self, kind: str, layer: CacheLayer) -> None:
        self.kind, self.told, self.calls = kind, "", 0
        made: Any = {"plain": self._plain, "coroutine": self._coroutine, "generator": self._generator}
        self.cached = layer.wrap(made.get(kind, self._async_generator), name="ask", share_self=True)

    def _plain(self, question: Any, more: int = 0) -> str:
        self.calls += 1
        return self.told

    async def _coroutine(self, question: Any, more: int = 0) -> str:
        return self._plain(question)

    def _generator(self, question: Any, more: int = 0) -> Iterator[str]:
        yield from self._plain(question)

    async def _async_generator(self, question: Any, more: int = 0) -> AsyncIterator[str]:
        for piece in self._plain(question):
            yield piece

    async def ask(self, *args: Any, **kwargs: Any) -> str:
        asked: Any = self.cached(*args, **kwargs)
        if self.kind == "async generator":
            return "".join([piece async for piece in asked])
        return "".join(await asked if self.kind == "coroutine" else asked)


def scope_of(layer: CacheLayer, tenant: str | None) -> AbstractContextManager[Any]:
    return nullcontext() if tenant is None else layer.scope(tenant=tenant)


@KINDS
@FORMS
async def test_nobody_is_given_what_another_was_however_often_they_ask(
    kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    layer = CacheLayer(semantic=False)
    backend = Backend(kind, layer)
    for tenant in (None, "acme", "beta", None, "beta", "acme") * 2:
        backend.told = f"for {tenant}"
        for _ in range(3):
            with scope_of(layer, tenant):
                assert await backend.ask(*args, **kwargs) == f"for {tenant}"
    assert backend.calls == 3


@KINDS
@FORMS
@pytest.mark.parametrize("tenant", [None, "acme"])
async def test_what_has_expired_is_made_anew_however_often_it_was_given(
    kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], tenant: str | None
) -> None:
    clock = ManualClock()
    layer = CacheLayer(semantic=False, policy=Policy(ttl="10s", ttl_jitter=0), clock=clock)
    backend = Backend(kind, layer)
    with scope_of(layer, tenant):
        for made in ("first", "second", "third"):
            backend.told = made
            assert [await backend.ask(*args, **kwargs) for _ in range(4)] == [made] * 4
            await asyncio.sleep(0)  # equal calls of one turn of the loop are one
            clock.advance(9.9)
            assert await backend.ask(*args, **kwargs) == made
            clock.advance(0.2)
    assert backend.calls == 3
