"""`layer.scope` and `layer.tighten` above functions, instead of around calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from cachelayer import CacheLayer, ConfigurationError, Reason, Source


async def test_above_a_coroutine_function_a_block_holds_until_it_has_ended() -> None:
    """It ended before the function began: its calls shared answers with everybody, and stored what they must not."""
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def ask(question: str) -> str:
        return question.upper()

    @layer.scope(tenant="acme")
    async def of_acme() -> Source:
        return (await ask.outcome("how?")).source

    @layer.tighten(no_store=True)
    async def private(question: str) -> Reason | None:
        return (await ask.outcome(question)).stored

    assert [await of_acme(), await of_acme()] == [Source.BACKEND, Source.MEMORY]
    assert (await ask.outcome("how?")).source is Source.BACKEND  # nobody's: not acme's
    assert await private("mine?") is Reason.NO_STORE


def test_above_a_plain_function_a_block_holds_at_each_call_and_may_be_entered_again() -> None:
    layer = CacheLayer(semantic=False)
    ask = layer.wrap(str.upper, name="ask")
    strict = layer.tighten(no_store=True)

    @strict
    def private(question: str) -> Reason | None:
        """A docstring."""
        return ask.outcome(question).stored

    assert private("one?") is private("one?") is Reason.NO_STORE and private.__doc__ == "A docstring."
    for _ in range(2):
        with strict:
            assert ask.outcome("two?").stored is Reason.NO_STORE
    assert ask.outcome("two?").stored is None


def test_above_a_generator_a_block_is_refused_with_what_to_do() -> None:
    layer = CacheLayer(semantic=False)

    def plain() -> Iterator[str]:
        yield ""

    async def awaited() -> AsyncIterator[str]:
        yield ""

    for fn in (plain, awaited):
        with pytest.raises(ConfigurationError, match="open it around the calls"):
            layer.scope(tenant="acme")(fn)
