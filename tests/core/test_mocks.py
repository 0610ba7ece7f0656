"""What tests of a user's own wrap: mocks, which have something under every name that is asked of them."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest

from cachelayer import CacheLayer, Source
from cachelayer.observe.cost import Price, Prices


async def test_an_async_mock_is_cached_as_the_coroutine_function_that_it_stands_for() -> None:
    layer, backend = CacheLayer(semantic=False), AsyncMock(side_effect=[ValueError("down"), {"a": 1}])
    ask = layer.wrap(backend)
    with pytest.raises(ValueError, match="down"):
        await ask(question="how?")
    assert await ask(question="how?") == await ask(question="how?") == {"a": 1}
    assert backend.await_count == 2


@pytest.mark.parametrize("mock", [Mock, MagicMock])
def test_a_mock_of_a_plain_function_is_cached(mock: Any) -> None:
    layer, backend = CacheLayer(semantic=False), mock(return_value="yes")
    layer.account(Prices({"m": Price(prompt=1.0)}))
    ask = layer.wrap(backend, name="ask")
    assert ask("how?", user="ann") == ask("how?", user="ann") == "yes"
    backend.assert_called_once_with("how?", user="ann")
    assert (
        ask.outcome("how?", user="bob").source is Source.BACKEND
    )  # not OpenAI's `user`, which changes nothing
