"""`layer.tools`: results of tools that only read, and decisions which tool to call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..durations import Duration, seconds
from ..errors import ConfigurationError
from ..exact.keys.canonical import NotKeyable, argument
from ..keep.parts import answer_tag, tool_tag
from ..path.engine import Engine
from ..wrap.decorator import kind_of
from ..wrap.handles import Handle
from ..wrap.registry import Registry
from .schemas import canonical

FOREVER = "30d"
Keep = Duration | Literal["pure", "never"]


class Tools:
    """Wraps tools for one layer. A tool is never cached unless its owner says that it only reads."""

    def __init__(self, registry: Registry, engine: Engine) -> None:
        self._registry, self._engine = registry, engine
        self.kept: dict[str, Tool] = {}

    def __call__(
        self,
        fn: Callable[..., Any],
        *,
        keep: Keep = "never",
        name: str | None = None,
        schema: Mapping[str, Any] | None = None,
        version: str = "",
        **options: Any,
    ) -> Tool:
        """A tool under a policy of its own.

        `keep`: "never" (what writes, sends or buys; the default: every call runs), "pure" (its arguments alone decide),
        or for how long a result holds. `schema`: the JSON schema of its arguments, by which they are compared and
        handed on: defaults filled in, 2.0 as 2 where it asks for an integer, sets in order. `options` are those of
        `layer.cached`. Raises ConfigurationError for a name taken or a `keep` that is none of these.
        """
        called = name or str(getattr(fn, "__name__", type(fn).__name__))
        if keep != "never":
            try:
                seconds("keep", FOREVER if keep == "pure" else keep, zero=False)
            except ConfigurationError as fault:
                raise ConfigurationError(
                    "keep", keep, f"give 'never', 'pure', or a time: {fault.remedy}"
                ) from None
        self._engine.noting.on = True
        return Tool(self, called, fn, keep, schema, {**options, "version": version})

    def decision(self, fn: Callable[..., Any], *, name: str, version: str = "", **options: Any) -> Any:
        """A function that decides which tool to call with what, for a turn: exact unless `semantic=True` is given.

        All its arguments are the key: messages, tools, tool_choice. What it was decided on (documents, results of
        tools read before) are parts of the decision.
        """
        self._engine.noting.on = True
        options = {"semantic": False, **options, "name": f"decision:{name}", "version": version}
        return self._registry.wrap(fn, options=options, wire=False)

    def cached(self, tool: Tool, fn: Callable[..., Any], keep: Keep, options: dict[str, Any]) -> Any:
        """The cached function of a tool."""
        noted = _noting(fn, self._engine, tool.name)
        ttl = FOREVER if keep == "pure" else keep
        options = {**options, "semantic": False, "ttl": ttl, "name": f"tool:{tool.name}"}
        return self._registry.wrap(noted, options=options, wire=False)

    def ran(self, name: str) -> None:
        """The answer that is being made here used a tool that is not kept."""
        self._engine.noting.note([tool_tag(name)])

    def note(self, handle: Handle, arguments: dict[str, Any], name: str) -> None:
        """The answer that is being made here used the tool."""
        digest = handle.now((arguments,), {}).digest
        self._engine.noting.note([tool_tag(name), *([answer_tag(digest)] if digest else [])])


class Tool:
    """A tool: called with its arguments by name, it runs or answers from the cache. Awaits where the tool does."""

    def __init__(
        self,
        tools: Tools,
        name: str,
        fn: Callable[..., Any],
        keep: Keep,
        schema: Mapping[str, Any] | None,
        options: dict[str, Any],
    ) -> None:
        self.name, self.keep, self._fn, self._schema, self._tools = name, keep, fn, schema, tools
        self.awaited = kind_of(fn) == "coroutine"
        self.runs = 0
        """Calls that went past the cache because the tool is kept 'never'."""
        self.cached: Any = None if keep == "never" else tools.cached(self, self._run(), keep, options)
        if self.cached is not None:
            self.cached.handle.function.closed = True

    def __call__(self, **arguments: Any) -> Any:
        """The result; of an asynchronous tool to be awaited. Raises ConfigurationError for arguments without a key."""
        if self.cached is None:
            self.runs += 1
            self._tools.ran(self.name)
            return self._fn(**arguments)
        arguments = canonical(arguments, self._schema)
        self._check(arguments)
        return self._later(arguments) if self.awaited else self._now(arguments)

    async def _later(self, arguments: dict[str, Any]) -> Any:
        result = await self.cached(arguments)
        self._tools.note(self.cached.handle, arguments, self.name)
        return result

    def _now(self, arguments: dict[str, Any]) -> Any:
        result = self.cached(arguments)
        self._tools.note(self.cached.handle, arguments, self.name)
        return result

    def _check(self, arguments: dict[str, Any]) -> None:
        for name, value in arguments.items():
            try:
                argument(value)
            except (NotKeyable, RecursionError) as fault:
                raise ConfigurationError(
                    f"{self.name}({name})",
                    type(value).__qualname__,
                    f"it cannot be compared ({fault}): give the tool plain values, or keep='never'",
                ) from None

    def _run(self) -> Callable[..., Any]:
        fn = self._fn
        if self.awaited:

            async def later(arguments: dict[str, Any]) -> Any:
                return await fn(**arguments)

            return later

        def now(arguments: dict[str, Any]) -> Any:
            return fn(**arguments)

        return now


def _noting(fn: Callable[..., Any], engine: Engine, name: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(fn):

        async def later(arguments: dict[str, Any]) -> Any:
            engine.noting.note([tool_tag(name)])
            return await fn(arguments)

        return later

    def now(arguments: dict[str, Any]) -> Any:
        engine.noting.note([tool_tag(name)])
        return fn(arguments)

    return now
