"""`cached_tool`: results of tools that only read, under the policy of `layer.cached`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final, Literal, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, Tool
from pydantic import PrivateAttr, create_model

from cachelayer import CacheLayer
from cachelayer.durations import Duration, seconds
from cachelayer.errors import ConfigurationError
from cachelayer.partial.schemas import canonical
from cachelayer.partial.tools import FOREVER, KEPT
from cachelayer.partial.twin import Twin
from cachelayer.policy import strings
from cachelayer.wrap.options import refuse

from .configs import check_named, configurable_here, reads_config
from .serial import LangChainCodec

_INJECTED: Final = ("InjectedStore", "InjectedToolCallId")
_RUN: ContextVar[Any] = ContextVar("cachelayer_langchain_run", default=None)
"""The run of the cached tool that is being called: what the tool hands on its callbacks by, and no part of any key."""


class CachedTool(BaseTool):
    """A tool whose results are kept; made by `cached_tool`."""

    _step: Twin = PrivateAttr()
    _tool: BaseTool = PrivateAttr()

    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[Any, dict[str, Any]]:
        """As the tool itself reads them: one that declares no schema takes what comes."""
        return self._tool._to_args_and_kwargs(tool_input, tool_call_id)

    def _run(self, *args: Any, run_manager: Any = None, **kwargs: Any) -> Any:
        _RUN.set(run_manager)  # LangChain runs each call in a context of its own
        return self._step.now(**self._named(args, kwargs))

    async def _arun(self, *args: Any, run_manager: Any = None, **kwargs: Any) -> Any:
        _RUN.set(run_manager)
        return await self._step.later(**self._named(args, kwargs))

    def _named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """A plain text is the first argument, as LangChain reads it, which leaves JSON schemas unread."""
        named = {**dict(zip(self.args, args, strict=False)), **kwargs} if args else kwargs
        return canonical(named, self.args_schema) if isinstance(self.args_schema, dict) else named


def cached_tool(
    tool: BaseTool,
    layer: CacheLayer,
    *,
    keep: Duration | Literal["pure"],
    name: str | None = None,
    **options: Any,
) -> BaseTool:
    """`tool` with a layer before it. Only for tools that read: whoever caches one says so by `keep`, for how long, or
    by "pure" that its arguments alone decide. `layer.invalidate(tools=[...])` drops the results by the tool's name.

    A tool that writes, sends or buys must not be cached: a result taken from the cache skips what it does. Arguments
    are compared after the tool's own schema read them, so that defaults and spellings do not matter; where the tool
    asks for the config, what that makes configurable is part of the key. `options` are those of `layer.cached`.
    Raises ConfigurationError for `keep` missing or 0, for what is no tool, and for one that is handed what is another
    in each call (a ToolRuntime, the store, the whole state, the id of the call), unless `ignore` or `key` says what of
    it counts.
    """
    if not isinstance(tool, BaseTool):
        raise ConfigurationError("tool", tool, "give a LangChain tool (BaseTool, or a function under @tool)")
    check_named(layer, tool.name if name is None else name)
    refuse(options, KEPT)
    called = name or tool.name
    ttl = FOREVER if keep == "pure" else seconds("keep", keep, zero=False)
    if "key" not in options:
        _check_injected(tool, strings("ignore", options.get("ignore", ())))
    takes = "config" in inspect.signature(tool._run).parameters
    reads = takes and any(map(reads_config, _functions(tool)))

    awaited = tool._run if type(tool)._arun is BaseTool._arun else tool._arun
    told, atold = ("run_manager" in inspect.signature(one).parameters for one in (tool._run, awaited))

    def beside(told: bool) -> dict[str, Any]:
        config = {"config": ensure_config() if reads else RunnableConfig()} if takes else {}
        return {**config, "run_manager": _RUN.get()} if told else config

    def run(**kwargs: Any) -> Any:
        layer.used(tools=[called])
        args, named = _handed(tool, kwargs)
        return tool._run(*args, **named, **beside(told))

    async def arun(**kwargs: Any) -> Any:
        layer.used(tools=[called])
        args, named = _handed(tool, kwargs)
        return await tool._arun(*args, **named, **beside(atold))

    options = {"codec": LangChainCodec(), **options, "semantic": False, "ttl": ttl}
    if reads:
        options["vary"] = [*options.get("vary", ()), configurable_here]
    step = Twin(layer.wrap(run, name=f"tool:{called}", **options), arun)
    own = {name: getattr(tool, name) for name in BaseTool.model_fields}
    made = CachedTool(**{**own, "args_schema": _schema(tool)})
    made._step, made._tool = step, tool
    return made


def _check_injected(tool: BaseTool, ignored: Sequence[str]) -> None:
    for fn in filter(None, _functions(tool)):
        for name, hint in _hints(fn).items():
            if name not in ignored and _of_one_call(hint):
                remedy = (
                    f"it is handed {name!r}, which differs in every call, so that no result would be found again: "
                    f"ignore=[{name!r}] if the result does not depend on it, else key=<function of the arguments>"
                )
                raise ConfigurationError("tool", tool.name, remedy)


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(fn, include_extras=True)
    except (NameError, TypeError):
        return {}


def _of_one_call(hint: Any) -> bool:
    """Whether an argument is handed what belongs to one call: LangGraph's by name, as it need not be installed."""
    marks = getattr(hint, "__metadata__", ())
    if any((one if isinstance(one, type) else type(one)).__name__ in _INJECTED for one in marks):
        return True
    whole = [one for one in marks if "InjectedState" in (getattr(one, "__name__", ""), type(one).__name__)]
    return getattr(get_origin(hint) or hint, "__name__", "") == "ToolRuntime" or any(
        getattr(one, "field", None) is None for one in whole
    )


def _schema(tool: BaseTool) -> Any:
    """What models are shown. A `Tool` of one text declares no schema, and one read off its `_run` is not its own."""
    if tool.args_schema is not None:
        return tool.args_schema
    return (
        create_model(tool.name, tool_input=(str, ...)) if isinstance(tool, Tool) else tool.get_input_schema()
    )


def _handed(tool: BaseTool, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A `Tool` hands its only argument by position, whatever its function calls it."""
    return (tuple(kwargs.values()), {}) if isinstance(tool, Tool) else ((), kwargs)


def _functions(tool: BaseTool) -> list[Any]:
    """What of `tool` is handed the config in the end: the functions that it was made of, else its own methods."""
    made_of = [getattr(tool, "func", None), getattr(tool, "coroutine", None)]
    return made_of if any(made_of) else [tool._run, tool._arun]
