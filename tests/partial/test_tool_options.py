"""What tools, steps and retrievals are given beside their function, and that each may be written as a decorator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError


def test_an_option_that_is_misspelled_is_refused_of_a_tool_that_is_never_kept_too() -> None:
    layer = CacheLayer(semantic=False)
    for given, meant in ({"kep": "1m"}, "keep"), ({"shema": {}}, "schema"), ({"tag": ["a"]}, "tags"):
        with pytest.raises(ConfigurationError, match=f"did you mean '{meant}'"):
            layer.tools(str.upper, **given)
    with pytest.raises(ConfigurationError, match="did you mean 'corpus'"):
        layer.retrieval(lambda query: [], corpsu="help")


def test_a_tool_that_is_a_method_is_told_to_be_that_of_an_object() -> None:
    layer = CacheLayer(semantic=False)

    class Shop:
        @layer.tools(keep="1m")
        def price(self, item: str) -> int:
            return len(item)

        def stock(self, item: str) -> int:
            return 3

    with pytest.raises(ConfigurationError, match=r"tools\(shop\.price"):
        Shop().price("lamp")
    with pytest.raises(ConfigurationError, match=r"tools\(shop\.price"):
        layer.tools(Shop.stock, keep="1m", self_key="name")
    assert layer.tools(Shop().stock, keep="1m")("lamp") == 3


def test_a_tool_may_be_a_static_method() -> None:
    layer = CacheLayer(semantic=False)

    class Shop:
        @layer.tools(keep="1m")
        @staticmethod
        def price(item: str) -> int:
            return len(item)

        @layer.tools
        @staticmethod
        def buy(item: str) -> str:
            return item

    for shop in (Shop, Shop()):
        assert (shop.price("lamp"), shop.price(item="lamp"), shop.buy("lamp")) == (4, 4, "lamp")


async def test_a_tool_that_acts_within_what_is_cached_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What it did was not done again on a hit, and nothing said so."""
    layer, ordered = CacheLayer(semantic=False), []
    order = layer.tools(lambda item: ordered.append(item), name="order")

    @layer.cached
    async def turn(item: str) -> str:
        order(item)
        return f"{item} ordered"

    order("lamp")
    with layer.scope():
        order("lamp")
    assert not caplog.records
    assert [await turn(item) for item in ("hub", "hub", "latch")] == ["hub ordered"] * 2 + ["latch ordered"]
    assert ordered == ["lamp", "lamp", "hub", "latch"]
    assert [one.message[:40] for one in caplog.records] == ["tool order runs within a cached function"]


async def test_tools_and_steps_are_decorators_too() -> None:
    layer, sent = CacheLayer(semantic=False), []

    @layer.tools(keep="1m", name="price")
    def look_up(item: str) -> int:
        return len(item)

    @layer.tools
    def mail(to: str) -> None:
        sent.append(to)

    @layer.step("rerank", version="2")
    async def rerank(texts: list[str]) -> list[str]:
        return sorted(texts)

    assert (look_up("lamp"), look_up.name, look_up.keep) == (4, "price", "1m")
    assert [mail("ann"), mail("ann"), sent] == [None, None, ["ann", "ann"]]
    assert await rerank(["b", "a"]) == ["a", "b"] and layer.known("rerank") is rerank


async def test_to_its_options_a_tools_arguments_are_one_dict() -> None:
    def told(city: str, user: str) -> str:
        return f"{city} for {user}"

    layer = CacheLayer(semantic=False)
    tags, key = ["city:{arguments[city]}"], lambda arguments: arguments["city"]
    ask = layer.tools(told, keep="1m", tags=tags, key=key)
    assert ask("Ulm", "ann") == ask(user="bob", city="Ulm") == "Ulm for ann"
    assert await layer.invalidate(tags=["city:Ulm"]) == 1


async def test_a_tool_that_takes_any_number_of_arguments_is_kept_like_any_other() -> None:
    layer, asked = CacheLayer(semantic=False), []

    def total(unit: str, *counts: int, times: int = 1) -> str:
        asked.append(counts)
        return f"{sum(counts) * times} {unit}"

    tool = layer.tools(total, keep="1m")
    for _ in range(2):
        assert (tool("m", 1, 2), tool("m", 2, 2), tool("m", 1, 2, times=2)) == ("3 m", "4 m", "6 m")
    assert asked == [(1, 2), (2, 2), (1, 2)]


_ASKED: list[str] = []


async def _news(topic: str) -> AsyncIterator[str]:
    _ASKED.append(topic)
    yield "first"
    _layer.used(documents=["late"])
    yield topic


def _news_now(topic: str) -> Iterator[str]:
    _ASKED.append(topic)
    yield "first"
    _layer.used(documents=["late"])
    yield topic


_layer = CacheLayer(semantic=False)


@pytest.mark.parametrize(
    "fn", [_news, _news_now, lambda topic: _news_now(topic)], ids=["async", "plain", "made"]
)
async def test_what_a_tool_uses_while_its_stream_is_read_is_used_by_what_is_made_of_it(
    fn: Callable[[str], Any],
) -> None:
    _ASKED.clear()
    tool = _layer.tools(fn, keep="1m", name=f"news {fn.__name__}")

    @_layer.cached(name=f"digest {fn.__name__}")
    async def digest(topic: str) -> str:
        told = tool(topic)
        return " ".join([one async for one in told] if hasattr(told, "__anext__") else list(told))

    for dropped in ({"documents": ["late"]}, {"tools": [tool.name]}):
        assert [await digest("hub") for _ in range(3)] == ["first hub"] * 3
        assert await _layer.invalidate(**dropped) == 2
    assert _ASKED == ["hub", "hub"]
