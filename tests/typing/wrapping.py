"""A wrapped function keeps its parameters and its answer, as a function, as a method and behind options."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_type

from cachelayer import CacheLayer, Outcome

layer = CacheLayer()


@layer.cached
async def ask(question: str, *, model: str = "m") -> int:
    return 1


@layer.cached(ttl="10m", tags=["kb"])
async def tagged(question: str) -> list[str]:
    return []


@layer.cached
def plain(text: str) -> bytes:
    return b""


@layer.cached
async def stream(prompt: str) -> AsyncIterator[str]:
    yield prompt


class Client:
    @layer.cached(self_key="model")
    async def ask(self, question: str) -> float:
        return 1.0


async def calls() -> None:
    assert_type(await ask("a", model="b"), int)
    assert_type(await tagged("a"), list[str])
    assert_type(plain("a"), bytes)
    assert_type(await plain.aio("a"), bytes)
    assert_type(await ask.outcome("a"), Outcome)
    assert_type(plain.outcome("a"), Outcome)
    assert_type(await ask.invalidate("a"), int)
    assert_type((ask.function.name, plain.function.name), tuple[str, str])
    async for chunk in stream("a"):
        assert_type(chunk, str)
    assert_type(await Client().ask("a"), float)

    await ask(1)  # type: ignore[arg-type]
    await ask("a", modell="b")  # type: ignore[call-arg]
    plain.outcome(2)  # type: ignore[arg-type]
    await Client().ask()  # type: ignore[call-arg]
