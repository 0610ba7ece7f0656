"""Tools: what only reads is kept, what acts always runs, arguments that mean the same are the same."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import pytest
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy, Source
from cachelayer.partial.schemas import canonical
from cachelayer.testing import Gate, ManualClock, WordEmbedder

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "default": 3},
        "weight": {"type": "number"},
        "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "place": {"$ref": "#/$defs/Place"},
    },
    "required": ["city"],
    "$defs": {"Place": {"type": "object", "properties": {"floor": {"type": "integer", "default": 0}}}},
}


def test_arguments_that_mean_the_same_become_the_same() -> None:
    one = canonical({"city": "Ulm", "tags": ["b", "a"], "weight": 2, "place": {}, "note": None}, SCHEMA)
    other = canonical(
        {"place": {"floor": 0.0}, "weight": 2.0, "days": 3.0, "tags": ["a", "b"], "city": "Ulm"}, SCHEMA
    )
    assert one == other and type(one["weight"]) is type(other["weight"]) and type(other["days"]) is int
    assert one != canonical({"city": "Ulm", "tags": ["a"], "weight": 2, "place": {}}, SCHEMA)
    assert canonical({"x": [2, 1]}, None) == {"x": [2, 1]}


async def test_whole_numbers_that_no_float_is_stay_themselves() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "number"}}}
    async with CacheLayer(semantic=False) as layer:
        look = layer.tools(lambda id: id, keep="1m", name="look", schema=schema)
        ids = [2**53, 2**53 + 1, -(2**53) - 1, 10**400]
        assert [look(id=id) for id in ids] == ids


@pytest.mark.parametrize(
    "may_be_null", [{"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": ["integer", "null"]}]
)
def test_null_is_not_the_default_where_it_says_something_else(may_be_null: Any) -> None:
    schema = {"type": "object", "properties": {"limit": {**may_be_null, "default": 10}}}
    assert canonical({}, schema) == canonical({"limit": 10}, schema) == {"limit": 10}
    assert canonical({"limit": None}, schema) == {"limit": None}
    schema = {"type": "object", "properties": {"limit": {**may_be_null, "default": None}}}
    assert canonical({"limit": None}, schema) == canonical({}, schema) == {}
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "default": 10}}}
    assert canonical({"limit": None}, schema) == {"limit": 10}  # a model's word for nothing


NULL = {"type": "null"}
COLOR, MAYBE = {"enum": ["red", "blue"], "type": "string"}, {"anyOf": [{"type": "string"}, NULL]}


@pytest.mark.parametrize(
    "color",
    [
        {"anyOf": [{"$ref": "#/$defs/Color"}, NULL]},
        {"$ref": "#/$defs/Maybe"},
        {"enum": ["red", "blue", None]},
    ],
)
async def test_null_is_handed_on_where_the_default_stands_beside_a_reference(color: Any) -> None:
    """As pydantic writes `color: Color | None = Color.red`."""
    schema = {"properties": {"color": {**color, "default": "red"}}, "$defs": {"Color": COLOR, "Maybe": MAYBE}}

    async def paint(color: str | None = "red") -> str:
        return f"in {color}"

    async with CacheLayer(semantic=False) as layer:
        tool = layer.tools(paint, keep="pure", schema=schema)
        assert [await tool(color=None), await tool(), await tool(color="red")] == [
            "in None",
            "in red",
            "in red",
        ]


@pytest.mark.parametrize(
    "limit", [{}, {"type": "integer"}, {"type": ["integer", "null"]}, {"$ref": "#/$defs/X"}]
)
async def test_null_is_handed_on_where_the_schema_names_no_default(limit: Any) -> None:
    """The tool may have one of its own, or none at all."""
    schema = {"properties": {"limit": limit, "page": limit}}

    def search(page: int | None, limit: int | None = 10) -> str:
        return f"{page} {limit}"

    async with CacheLayer(semantic=False) as layer:
        tool = layer.tools(search, keep="pure", schema=schema)
        assert [tool(page=None), tool(page=None, limit=None), tool(page=None)] == [
            "None 10",
            "None None",
            "None 10",
        ]


def test_a_reference_to_itself_or_to_nothing_describes_nothing() -> None:
    ring = {"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}
    for schema in (ring, {**ring, "$defs": {}}, {"properties": {"x": True}}):
        assert canonical({"x": 2.0}, schema) == {"x": 2.0}
        assert canonical({"x": None}, schema) == {"x": None}


async def test_a_tool_that_reads_runs_once_and_gets_its_canonical_arguments() -> None:
    calls: list[Any] = []

    async def weather(city: str, days: int) -> str:
        calls.append((city, days))
        return f"{city} {days}"

    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock) as layer:
        tool = layer.tools(weather, keep="10m", schema=SCHEMA)
        assert await tool(city="Ulm") == await tool(city="Ulm", days=3.0) == "Ulm 3"
        clock.advance(601)
        await tool(city="Ulm")
    assert calls == [("Ulm", 3)] * 2


async def test_a_tool_that_acts_runs_every_time_unless_its_owner_says_that_it_only_reads() -> None:
    sent: list[str] = []
    async with CacheLayer(semantic=False) as layer:
        send = layer.tools(sent.append, name="send")
        assert send.cached is None
        mail = layer.tools(lambda to: sent.append(to), name="mail")
        for _ in range(3):
            mail(to="a")
        assert sent == ["a"] * 3 and mail.runs == 3


async def test_arguments_that_cannot_be_compared_are_refused_by_name() -> None:
    async with CacheLayer(semantic=False) as layer:
        tool = layer.tools(lambda lock: 1, keep="pure", name="t")
        with pytest.raises(ConfigurationError, match=r"t\(lock\)"):
            tool(lock=threading.Lock())
        with pytest.raises(ConfigurationError, match="keep"):
            layer.tools(lambda: 1, keep="sometimes", name="u")


async def test_what_a_tool_told_is_part_of_the_answer_and_of_decisions_made_on_it() -> None:
    stock = {"hub": 3}
    async with CacheLayer(semantic=False) as layer:
        look = layer.tools(lambda item: stock[item], keep="1h", name="stock")

        async def model(messages: list[dict[str, str]], tools: list[str]) -> dict[str, Any]:
            return {"tool": tools[0], "arguments": {"item": messages[-1]["content"]}}

        decide = layer.tools.decision(model, name="desk")

        @layer.cached(semantic=False)
        async def turn(question: str) -> str:
            chosen = await decide([{"role": "user", "content": question}], ["stock"])
            return f"{look(**chosen['arguments'])} left"

        assert await turn("hub") == await turn("hub") == "3 left"
        stock["hub"] = 2
        assert await layer.invalidate(tools=["stock"]) == 2
        assert await turn("hub") == "2 left"
        kept = await decide.outcome([{"role": "user", "content": "hub"}], ["stock"])
        assert kept.source is Source.MEMORY
        fresh = await decide.outcome([{"role": "user", "content": "hub"}], ["other"])
        assert fresh.source is Source.BACKEND


async def test_what_an_asynchronous_tool_told_from_the_cache_is_part_of_the_answer() -> None:
    stock = {"hub": 3}

    async def read(item: str) -> int:
        return stock[item]

    async with CacheLayer(semantic=False) as layer:
        look = layer.tools(read, keep="1h", name="stock")

        @layer.cached(semantic=False)
        async def turn(question: str) -> str:
            return f"{await look(item=question)} left"

        assert await look(item="hub") == 3
        assert await turn("hub") == "3 left"
        stock["hub"] = 2
        assert await layer.invalidate(tools=["stock"]) == 2
        assert await turn("hub") == "2 left"


async def test_what_a_tool_that_always_runs_told_is_part_of_the_answer_too() -> None:
    stock = {"hub": 3}
    async with CacheLayer(semantic=False) as layer:
        look = layer.tools(lambda item: stock[item], name="stock")

        @layer.cached
        async def turn(question: str) -> str:
            return f"{look(item=question)} left"

        assert await turn("hub") == "3 left"
        assert ("tool", "stock") in layer.explain(await turn.outcome("hub")).leaves()
        stock["hub"] = 2
        assert await layer.invalidate(tools=["stock"]) == 1
        assert await turn("hub") == "2 left"


async def test_an_object_with_an_asynchronous_call_is_an_asynchronous_tool() -> None:
    class Weather:
        calls = 0

        async def __call__(self, city: str) -> str:
            self.calls += 1
            return f"sun in {city}"

    weather = Weather()
    async with CacheLayer(semantic=False) as layer:
        tool = layer.tools(weather, keep="10m", name="weather")
        assert await tool(city="Ulm") == await tool(city="Ulm") == "sun in Ulm"
    assert weather.calls == 1


@pytest.mark.parametrize("keep", ["10m", "never"])
async def test_agents_are_given_a_tool_as_the_function_that_it_is(keep: str) -> None:
    """They read name, signature and docstring for the model, and whether it is to be awaited."""

    async def weather(city: str, days: int = 3) -> str:
        """The weather of a city."""
        return f"{city} {days}"

    async with CacheLayer(semantic=False) as layer:
        tool = layer.tools(weather, keep=keep, name="forecast")
        retrieve = layer.retrieval(weather)
        plain = layer.tools(lambda city: city, keep=keep, name="plain")
        assert (tool.__name__, tool.__doc__) == ("forecast", "The weather of a city.")
        assert inspect.signature(tool) == inspect.signature(retrieve) == inspect.signature(weather)
        assert inspect.iscoroutinefunction(tool) and not inspect.iscoroutinefunction(plain)
        assert await tool("Ulm", days=2) == await tool(days=2, city="Ulm") == "Ulm 2"
        assert plain("Ulm") == plain(city="Ulm") == "Ulm"
        assert layer.stats()["functions"].get("tool:forecast", {}).get("backend_calls", 1) == 1


@pytest.mark.parametrize("keep", ["10m", "never"])
def test_a_tool_takes_no_more_than_its_function_takes(keep: str) -> None:
    tool = CacheLayer(semantic=False).tools(lambda city, days=3: city, keep=keep, name="t")
    with pytest.raises(TypeError, match="2 positional arguments but 3 were given"):
        tool("Ulm", 1, 2)
    with pytest.raises(TypeError, match="multiple values for argument 'city'"):
        tool("Ulm", city="Ulm")


@pytest.mark.parametrize("keep", ["never", "1m"])
def test_a_tool_may_take_arguments_by_position_alone(keep: str) -> None:
    def price(item: str, /, shop: str = "ours") -> str:
        return f"{item} at {shop}"

    ask = CacheLayer(semantic=False).tools(price, keep=keep)
    assert ask("lamp") == ask("lamp", "ours") == ask("lamp", shop="ours") == "lamp at ours"


async def test_steps_are_compared_exactly_unless_they_say_otherwise() -> None:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=patient)
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords()) as layer:
        for name, options, match in (("exactly", {}, None), ("by meaning", {"semantic": True}, "similar")):
            step = layer.step(name, Gate(opened=True), **options)
            await step("where is my red parcel")
            await layer.flush()
            assert (await step.outcome("my red parcel is where")).match == match
