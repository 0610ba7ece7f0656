"""Tools that are handed more than a model says: what belongs to one call is no part of what is kept unasked."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from cachelayer.adapters.langchain import cached_tool
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, tool

from cachelayer import CacheLayer, ConfigurationError


class InjectedStore(InjectedToolArg):
    """LangGraph's, which is known by its name."""


class InjectedState(InjectedToolArg):
    def __init__(self, field: str | None = None) -> None:
        self.field = field


class ToolRuntime:
    pass


@pytest.mark.parametrize(
    "handed",
    [
        Annotated[str, InjectedToolCallId],
        Annotated[Any, InjectedStore()],
        Annotated[dict[str, Any], InjectedState],
        Annotated[dict[str, Any], InjectedState()],
        ToolRuntime,
    ],
    ids=str,
)
def test_a_tool_that_is_handed_what_belongs_to_one_call_says_what_of_it_counts(
    layer: CacheLayer, handed: Any
) -> None:
    """The store and the runtime cannot be compared: the model was told of a ConfigurationError in place of a result."""
    ran = []

    def look(item: str, here: Any) -> str:
        """Look."""
        ran.append(item)
        return item

    look.__annotations__["here"] = handed
    made = StructuredTool.from_function(look, args_schema={"properties": {"item": {"type": "string"}}})
    with pytest.raises(ConfigurationError, match=r"ignore=\['here'\]"):
        cached_tool(made, layer, keep="10m")
    for name, options in (("a", {"ignore": ["here"]}), ("b", {"key": lambda item, here: item})):
        tool: Any = cached_tool(made, layer, keep="10m", name=name, **options)
        assert [tool._run(item="hub", here=object()) for _ in range(2)] == ["hub"] * 2
    assert ran == ["hub"] * 2


def test_what_is_handed_and_can_be_compared_is_part_of_the_key(layer: CacheLayer) -> None:
    @tool
    def look(
        item: str, user: Annotated[str, InjectedState("user")], team: Annotated[str, InjectedToolArg]
    ) -> str:
        """Look."""
        return f"{item} {user} {team}"

    found: Any = cached_tool(look, layer, keep="10m")
    for user in ("ann", "bob"):
        assert found.invoke({"item": "hub", "user": user, "team": "t"}) == f"hub {user} t"
