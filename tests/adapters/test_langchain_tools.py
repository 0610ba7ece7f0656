"""Tools that LangChain calls with a plain text, before and behind a layer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from cachelayer.adapters.langchain import cached_tool
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForToolRun, Callbacks
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from cachelayer import CacheLayer

LOOKED: list[str] = []


def look(item: str) -> str:
    """Look up an item."""
    LOOKED.append(item)
    return f"{item}: 3"


@pytest.fixture
async def layer() -> AsyncIterator[CacheLayer]:
    LOOKED.clear()
    async with CacheLayer(semantic=False) as layer:
        yield layer


@pytest.mark.parametrize("plain", [tool(look), Tool(name="look", func=look, description="Look up an item.")])
async def test_a_cached_tool_takes_a_plain_text_as_its_first_argument(
    layer: CacheLayer, plain: BaseTool
) -> None:
    cached = cached_tool(plain, layer, keep="1h")
    (field,) = cached.args
    assert plain.invoke("lamp") == cached.invoke("lamp") == await cached.ainvoke("lamp") == "lamp: 3"
    assert cached.invoke({field: "lamp"}) == await cached.ainvoke({field: "lamp"}) == "lamp: 3"
    assert LOOKED == ["lamp", "lamp"]  # the plain tool's, and one for all four


def test_a_cached_tool_of_one_text_shows_a_model_that_text_alone(layer: CacheLayer) -> None:
    cached = cached_tool(Tool(name="look", func=look, description="Look up an item."), layer, keep="1h")
    shown = convert_to_openai_tool(cached)["function"]["parameters"]
    assert list(shown["properties"]) == shown["required"] == ["tool_input"]
    call = {"name": "look", "args": {"tool_input": "lamp"}, "id": "c1", "type": "tool_call"}
    assert cached.invoke(call).content == "lamp: 3"


class Open(BaseTool):
    """Declares no schema."""

    name: str = "open"
    description: str = "Search."

    def _run(self, query: str = "all", **filters: Any) -> str:
        LOOKED.append(query)
        return f"{query!r} {filters}"


@pytest.mark.parametrize(
    ("plain", "given", "runs"),
    [
        (Open(), {"query": "lamps", "color": "red"}, 1),
        (Open(), {"color": "red"}, 1),
        (Open(), {"query": 5}, 1),
        (Tool(name="look", func=look, description="Look up an item."), {"__arg1": "lamp"}, 1),
        (
            Tool(name="look", func=look, description="Look up an item.", handle_tool_error=True),
            {"item": "lamp", "floor": 1},
            0,
        ),
    ],
)
async def test_a_cached_tool_reads_what_it_is_given_as_the_tool_does(
    layer: CacheLayer, plain: BaseTool, given: dict[str, Any], runs: int
) -> None:
    expected, cached = plain.invoke(given), cached_tool(plain, layer, keep="1h")
    assert cached.invoke(given) == await cached.ainvoke(given) == cached.invoke(given) == expected
    assert len(LOOKED) == 2 * runs


def test_arguments_under_a_json_schema_are_compared_by_it(layer: CacheLayer) -> None:
    """As tools of MCP servers have it."""
    schema = {
        "type": "object",
        "properties": {"item": {"type": "string"}, "floor": {"type": "integer", "default": 0}},
        "required": ["item"],
    }
    asked = []
    remote = StructuredTool(
        name="stock",
        description="Look up.",
        args_schema=schema,
        func=lambda **given: asked.append(given) or "3",
    )
    cached = cached_tool(remote, layer, keep="1h")
    for call in ({"item": "hub"}, {"item": "hub", "floor": 0}, {"floor": 0.0, "item": "hub"}):
        assert cached.invoke(call) == "3"
    assert asked == [{"item": "hub", "floor": 0}]


def test_a_cached_tool_is_told_of_and_tells_as_the_tool_does(layer: CacheLayer) -> None:
    class Notes(BaseCallbackHandler):
        ran = 0

        def on_tool_end(self, output: object, **rest: object) -> None:
            self.ran += 1

    notes = Notes()
    plain = StructuredTool.from_function(
        look, extras={"defer_loading": True}, callbacks=[notes], tags=["stock"]
    )
    cached = cached_tool(plain, layer, keep="1h")
    assert (cached.extras, cached.tags) == (plain.extras, ["stock"])
    for _ in range(2):
        cached.invoke("lamp")
    assert notes.ran == 2 and LOOKED == ["lamp"]


class Child(BaseTool):
    """Runs a step under its own run, as tools of several steps do."""

    name: str = "child"
    description: str = "Look up."

    def _run(self, item: str, run_manager: CallbackManagerForToolRun) -> str:
        return str(RunnableLambda(look).invoke(item, {"callbacks": run_manager.get_child()}))


def parent(item: str, callbacks: Callbacks) -> str:
    """Look up an item."""
    return str(RunnableLambda(look).invoke(item, {"callbacks": callbacks}))


@pytest.mark.parametrize("plain", [Child(), tool(parent)])
async def test_a_tool_that_hands_on_its_callbacks_is_given_them(layer: CacheLayer, plain: BaseTool) -> None:
    """It failed for want of an argument, or what it ran was heard by nobody."""

    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.runs: list[str] = []

        def on_chain_start(self, serialized: object, inputs: object, **rest: Any) -> None:
            self.runs.append(rest["name"] if rest["parent_run_id"] else "lost")

    cached = cached_tool(plain, layer, keep="1h")
    for heard, item in ((Heard(), "lamp"), (Heard(), "hub")):
        asked: tuple[Any, Any] = {"item": item}, {"callbacks": [heard]}
        told = cached.invoke(*asked) if item == "lamp" else await cached.ainvoke(*asked)
        assert told == f"{item}: 3" and heard.runs == ["look"]
    assert cached.invoke({"item": "hub"}) == "hub: 3" and LOOKED == ["lamp", "hub"]


async def test_what_is_made_of_a_cached_tool_goes_with_the_tool(layer: CacheLayer) -> None:
    """As that of `layer.tools`: it was dropped by nothing but the name of its function."""
    cached = cached_tool(tool(look), layer, keep="pure")

    @layer.cached
    async def turn(item: str) -> str:
        return f"told {await cached.ainvoke({'item': item})}"

    for _ in range(2):
        assert [cached.invoke({"item": "lamp"}), await turn("lamp")] == ["lamp: 3", "told lamp: 3"]
        assert "tool look" in str(layer.explain(await turn.outcome("lamp")))
        assert await layer.invalidate(tools=["look"]) == 2
    assert LOOKED == ["lamp", "lamp"]
