"""Settings that cannot work are refused where they are given, by field, value and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.tensorrt_llm.admission import Lane, LimitPolicy
from cachelayer.adapters.tensorrt_llm.brownout import BrownoutPolicy
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.exact.redis import RedisStore
from cachelayer.observe.cost import Price
from cachelayer.semantic.cross_encoder import CrossEncoderVerifier
from cachelayer.semantic.embed.from_callable import CallableEmbedder
from cachelayer.semantic.embed.http import HttpEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI app that nobody asks."""


async def _vectors(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0] for _ in texts]


class _Pairs:
    def predict(self, pairs: Any, **_: Any) -> Any:
        return [0.5 for _ in pairs]


def _of(kind: Any, name: str, given: Any) -> object:
    return kind(**{name: given})


@pytest.mark.parametrize("given", [0, 1, 0.0, "off", None])
@pytest.mark.parametrize(
    "make",
    [
        lambda given: Policy(semantic=given),
        lambda given: CacheLayer(semantic=given),
        lambda given: CacheLayer().cached(semantic=given)(len),
    ],
)
def test_semantic_is_true_false_or_auto_and_no_number_that_equals_one(make: Any, given: object) -> None:
    with pytest.raises(ConfigurationError) as fault:
        make(given)
    assert str(fault.value) == f"semantic={given!r}: give True, False or 'auto'"


_GIVEN: dict[str, Callable[[Any], object]] = {
    "feed": lambda given: RedisStore("redis://h", feed=given),
    "schema": lambda given: RedisStore("redis://h", schema=given),
    "compress_above": lambda given: RedisStore("redis://h", compress_above=given),
    "max_connections": lambda given: RedisStore("redis://h", max_connections=given),
    "batch": lambda given: HttpEmbedder("http://h", model="m", batch=given),
    "window": lambda given: HttpEmbedder("http://h", model="m", window=given),
    "connections": lambda given: HttpEmbedder("http://h", model="m", connections=given),
    "dimensions": lambda given: HttpEmbedder("http://h", model="m", dimensions=given),
    "timeout": lambda given: HttpEmbedder("http://h", model="m", timeout=given),
    "max_chars": lambda given: CallableEmbedder(_vectors, max_chars=given),
    "dimension": lambda given: CallableEmbedder(_vectors, dimension=given),
    "workers": lambda given: OnnxEmbedder(workers=given),
    "seconds": lambda given: CrossEncoderVerifier(_Pairs(), seconds=given),
    "max_body": lambda given: CacheLayerMiddleware(_app, layer=CacheLayer(semantic=False), max_body=given),
    "pace": lambda given: CacheLayerMiddleware(_app, layer=CacheLayer(semantic=False), pace=given),
    "keep": lambda given: CacheLayer(semantic=False).quality(keep=given),
    "max_wait": lambda given: Lane(reserve=0.1, max_wait=given),
    "max_queue": lambda given: Lane(reserve=0.1, max_wait=1, max_queue=given),
    "reserve": lambda given: Lane(reserve=given, max_wait=1),
    **{name: partial(_of, LimitPolicy, name) for name in LimitPolicy.__slots__},
    **{name: partial(_of, BrownoutPolicy, name) for name in BrownoutPolicy.__slots__},
    **{name: partial(_of, RouterPolicy, name) for name in RouterPolicy.__slots__},
    **{f"price.{name}": partial(_of, Price, name) for name in Price.__slots__[:6]},
}
"""Settings that are numbers, by the name that their errors give."""


@pytest.mark.parametrize("wrong", ["5", math.nan, math.inf, -1, True, [1]])
@pytest.mark.parametrize("name", _GIVEN)
def test_a_number_that_is_none_is_refused_by_field_and_value(name: str, wrong: object) -> None:
    with pytest.raises(ConfigurationError) as fault:
        _GIVEN[name](wrong)
    assert str(fault.value).startswith(f"{name}={wrong!r}: give ")


def test_an_embedder_takes_its_timeout_as_every_other_setting_does() -> None:
    assert HttpEmbedder("http://h", model="m", timeout="30s")._timeout == 30
