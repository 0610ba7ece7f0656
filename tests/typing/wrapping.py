"""A wrapped function keeps its parameters and its answer, as a function, as a method and behind options."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, assert_type

from cachelayer import CacheLayer, Outcome
from cachelayer.exact.wire.codec import Codec

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


@layer.tools(keep="10m")
def price(item: str) -> int:
    return len(item)


@layer.step("rerank", version="2")
async def rerank(texts: list[str]) -> list[str]:
    return sorted(texts)


class Client:
    @layer.cached(self_key="model")
    async def ask(self, question: str) -> float:
        return 1.0

    @layer.cached(share_self=True)
    def count(self, text: str) -> int:
        return 1

    @classmethod
    @layer.cached
    async def made(cls, text: str) -> int:
        return 1

    @layer.cached(ttl="1h")
    @classmethod
    def known(cls, text: str) -> int:
        return 1

    @staticmethod
    @layer.cached
    def length(text: str) -> int:
        return len(text)

    @staticmethod
    @layer.cached
    async def nothing() -> int:
        return 0


class Derived(Client):
    def total(self) -> int:
        return (
            self.count("a") + super().count("a") + self.known("a") + type(self).known("a") + self.length("a")
        )


async def of_classes() -> None:
    assert_type(await Derived.made("a"), int)
    assert_type(await Derived().made("a"), int)
    assert_type((await Client.made.outcome("a")).answer, int)
    assert_type((Client.known("a"), Client().known("a")), tuple[int, int])
    assert_type((Client.length("a"), Client().length(text="a")), tuple[int, int])
    assert_type(await Client().length.aio("a"), int)
    assert_type((await Client().nothing(), await Client.nothing()), tuple[int, int])
    assert_type((Client.count(Derived(), "a"), await Derived().count.aio("a")), tuple[int, int])
    assert_type(await Client.ask(Client(), "a"), float)

    await Client.made(1)  # type: ignore[arg-type]
    Client().length()  # type: ignore[call-arg]
    Derived().count(2)  # type: ignore[arg-type]


async def calls() -> None:
    assert_type(await ask("a", model="b"), int)
    assert_type(await tagged("a"), list[str])
    assert_type(plain("a"), bytes)
    assert_type(await plain.aio("a"), bytes)
    assert_type((await ask.outcome("a")).answer, int)
    assert_type(plain.outcome("a").answer, bytes)
    assert_type((await plain.aio.outcome("a")).answer, bytes)
    assert_type((await stream.outcome("a")).answer, AsyncIterator[str])
    assert_type((await Client().ask.outcome("a")).answer, float)
    assert_type((await ask.refresh("a"), await ask.bypass("a")), tuple[int, int])
    assert_type((plain.refresh("a"), plain.bypass("a")), tuple[bytes, bytes])
    assert_type(await ask.invalidate("a"), int)
    assert_type((ask.function.name, plain.function.name), tuple[str, str])
    async for chunk in stream("a"):
        assert_type(chunk, str)
    assert_type(await Client().ask("a"), float)

    assert_type((price("a"), await rerank(["a"])), tuple[int, list[str]])
    assert_type((await rerank.outcome(["a"])).answer, list[str])

    price(1)  # type: ignore[arg-type]
    await ask(1)  # type: ignore[arg-type]
    await ask("a", modell="b")  # type: ignore[call-arg]
    plain.outcome(2)  # type: ignore[arg-type]
    await Client().ask()  # type: ignore[call-arg]
    layer.cached(tll="1h")  # type: ignore[call-overload]
    layer.cached(ttl=b"1h")  # type: ignore[call-overload]
    layer.wrap(plain, name="wrapped", ignore=3)  # type: ignore[call-overload]


def any_answer(outcome: Outcome) -> object:
    return outcome.answer


def settings(given: dict[str, Any]) -> None:
    layer.wrap(plain, **given)
    layer.wrap(plain, codec=Codec(), tags=("kb",), vary=[str], cache_if=bool, ttl=lambda answer: 60)
