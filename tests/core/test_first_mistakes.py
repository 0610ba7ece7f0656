"""What is said of the slips of a first day: results in place of functions, options without names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError


class Awaited:
    def __await__(self) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda layer: layer.wrap(Awaited()), "the function itself, as in wrap(ask)"),
        (lambda layer: layer.wrap(object()), "a method as in wrap(client.ask)"),
        (lambda layer: layer.cached("1h"), "fn='1h': options have names, as in cached(ttl='10m')"),
    ],
)
def test_what_cannot_be_wrapped_is_told_with_what_can(make: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        make(CacheLayer(semantic=False))
    assert said in str(raised.value)
