"""What has something under every name that is asked of it: mocks, which a user's own tests wrap, and stubs."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest

from cachelayer import CacheLayer, ConfigurationError, Source
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


class Remote:
    """As `xmlrpc.client.ServerProxy` and what it has under any name: calling that asks the server."""

    def __init__(self, asked: list[str], path: str = "") -> None:
        self._asked, self._path = asked, path

    def __getattr__(self, name: str) -> Remote:
        return Remote(self._asked, f"{self._path}.{name}")

    def __call__(self, *args: Any) -> str:
        self._asked.append(self._path)
        return f"{self._path}{args}"


async def test_of_a_stub_of_a_remote_function_nothing_is_asked_but_the_calls() -> None:
    layer, asked = CacheLayer(semantic=False), list[str]()
    add = layer.wrap(Remote(asked).add)
    with pytest.raises(
        ConfigurationError, match=r"another function is wrapped under it: .* give another name="
    ):
        layer.wrap(Remote(asked).subtract)
    layer.wrap(Remote(asked).subtract, name="subtract")
    assert asked == []
    assert add(1, 2) == add(1, 2) == await add.aio(1, 2) == ".add(1, 2)" and asked == [".add"]
