"""What an answer is built on is known whatever makes it, whoever reads it, and however it was used."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator

import pytest

from cachelayer import CacheLayer, Source


@pytest.mark.parametrize("kind", ["generator", "plain around a generator"])
def test_a_plain_generator_is_built_on_what_it_uses_while_it_is_read(kind: str) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def price(of: str) -> int:
        return len(of)

    def lines(of: str) -> Iterator[str]:
        yield "offer"
        yield f"{of} at {price(of)}"

    offer = layer.wrap(lines if kind == "generator" else lambda of: lines(of), name="offer")

    @layer.cached
    def letter(of: str) -> str:
        return "\n".join(offer(of))

    letter("tea")
    assert [f.outcome("tea").source for f in (offer, letter)] == [Source.MEMORY] * 2
    assert price.invalidate("tea") == 3
    assert letter.outcome("tea").source is Source.BACKEND


def test_a_plain_generator_runs_in_the_context_of_its_call_whoever_reads_it() -> None:
    layer = CacheLayer(semantic=False)
    whose: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="nobody")

    @layer.cached
    def secret(of: str) -> str:
        return f"{of} of {whose.get()}"

    @layer.cached
    def told(of: str) -> Iterator[str]:
        yield of
        yield secret(of)

    with layer.scope(tenant="ann"):
        whose.set("ann")
        chunks = told("key")
        assert next(chunks) == "key"
    whose.set("bob")
    assert list(chunks) == ["key of ann"]
    assert secret("key") == "key of bob"
