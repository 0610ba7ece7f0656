"""`layer.tools`: results of tools that only read, and decisions which tool to call."""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal, TypeVar, overload

from ..checks import function, named
from ..durations import Duration, seconds
from ..errors import ConfigurationError
from ..exact.keys.canonical import NotKeyable, argument
from ..keep.parts import Noting, tool_tag
from ..keep.scope import Scope, enclosing
from ..path.engine import Engine
from ..signatures import signature_of, text_of
from ..wrap.decorator import kind_of
from ..wrap.options import policy_fields, refuse
from ..wrap.redefinition import Origin
from ..wrap.registry import Registry
from .schemas import canonical

_log = logging.getLogger("cachelayer")
_UNDONE = (
    "tool %s runs within a cached function, whose hits will not run it: cache the steps around it, or say by keep= for "
    "how long its result holds if it only reads"
)
FOREVER = "30d"
Keep = Duration | Literal["pure", "never"]
F = TypeVar("F", bound=Callable[..., Any])
_OF_OBJECTS = "give each object's method as a tool of its own: tools(shop.price, name='price')"
KEPT = {
    "ttl": "say by keep= for how long a result holds, as in keep='10m'",
    "semantic": "the arguments of a tool are compared exactly: leave it out",
}
"""Options that `keep` and the kind of a tool settle, and what to do instead."""
_SETTLED = {
    **KEPT,
    "ignore": "give key=, a function of the arguments as one dict: key=lambda arguments: arguments['city']",
    **dict.fromkeys(("self_key", "share_self"), _OF_OBJECTS),
}


class Tools:
    """Wraps tools for one layer. A tool is never cached unless its owner says that it only reads."""

    def __init__(self, registry: Registry, engine: Engine) -> None:
        self._registry, self._engine = registry, engine
        self._told: set[str] = set()
        """Tools of which the log has said that they run within what is cached."""

    @overload
    def __call__(
        self,
        fn: Callable[..., Any],
        *,
        keep: Keep = "never",
        name: str | None = None,
        schema: Mapping[str, Any] | None = None,
        version: str = "",
        **options: Any,
    ) -> Any: ...
    @overload
    def __call__(self, fn: None = None, *, keep: Keep = "never", **options: Any) -> Callable[[F], F]: ...
    def __call__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        keep: Keep = "never",
        name: str | None = None,
        schema: Mapping[str, Any] | None = None,
        version: str = "",
        **options: Any,
    ) -> Any:
        """A tool under a policy of its own: a function as `fn` is, awaited where that is.

        `keep`: "never" (what writes, sends or buys; the default: every call runs), "pure" (its arguments alone decide),
        or for how long a result holds. `schema`: the JSON schema of its arguments, by which they are compared and
        handed on: defaults filled in, 2.0 as 2 where it asks for an integer, sets in order. `options` are those of
        `layer.cached`, to which the arguments are one dict (`tags=["{arguments[city]}"]`). A decorator as well, with
        options or without. Raises ConfigurationError for a name taken, an unknown option or a `keep` that is none of
        these.
        """
        again = functools.partial(self, keep=keep, name=name, schema=schema, version=version, **options)
        if fn is None:
            return again
        if isinstance(fn, staticmethod):
            return staticmethod(again(fn.__func__))
        function(fn)
        refuse(options, _SETTLED)
        policy_fields(options, ("keep", "schema"))
        if name is not None:
            named("name", name)
        if not (schema is None or isinstance(schema, Mapping)):
            raise ConfigurationError("schema", schema, "give the JSON schema of its arguments, a mapping")
        called = name or str(getattr(fn, "__name__", type(fn).__name__))
        if keep != "never":
            try:
                seconds("keep", FOREVER if keep == "pure" else keep, zero=False)
            except ConfigurationError as fault:
                raise ConfigurationError(
                    "keep", keep, f"give 'never', 'pure', or a time: {fault.remedy}"
                ) from None
        return _Tool(self, called, fn, keep, schema, {**options, "version": version}).held()

    def decision(self, fn: Callable[..., Any], *, name: str, version: str = "", **options: Any) -> Any:
        """A function that decides which tool to call with what, for a turn: exact unless `semantic=True` is given.

        All its arguments are the key: messages, tools, tool_choice. What it was decided on (documents, results of
        tools read before) are parts of the decision.
        """
        named("name", name)
        options = {"semantic": False, **options, "name": f"decision:{name}", "version": version}
        return self._registry.wrap(fn, options=options, wire=False)

    def cached(self, tool: _Tool, fn: Callable[..., Any], keep: Keep, options: dict[str, Any]) -> Any:
        """The cached function of a tool."""
        ttl = FOREVER if keep == "pure" else keep
        options = {**options, "semantic": False, "ttl": ttl, "name": f"tool:{tool.name}"}
        named = tool.name != text_of(tool.fn, "__name__")
        return self._registry.wrap(fn, options=options, wire=False, origin=Origin(tool.fn, named))

    def ran(self, name: str) -> None:
        """The answer that is being made here used a tool that is not kept."""
        if name not in self._told and enclosing(self.noting.scope.get() or Scope()) is not None:
            self._told.add(name)
            _log.warning(_UNDONE, name)
        self._engine.noting.note([tool_tag(name)], self.epoch)

    @property
    def epoch(self) -> int:
        """The count of invalidations."""
        return self._engine.keeper.epoch

    @property
    def noting(self) -> Noting:
        return self._engine.noting


class _Tool:
    """A tool under its policy, which runs or answers from the cache."""

    def __init__(
        self,
        tools: Tools,
        name: str,
        fn: Callable[..., Any],
        keep: Keep,
        schema: Mapping[str, Any] | None,
        options: dict[str, Any],
    ) -> None:
        self.name, self.keep, self.fn, self._schema, self._tools = name, keep, fn, schema, tools
        self._kind = kind_of(fn)
        self.awaited = self._kind == "coroutine"
        self._parameters = signature_of(fn).parameters.values()
        self._rest = next((f"*{one.name}" for one in self._parameters if one.kind is one.VAR_POSITIONAL), "")
        """What arguments beyond those that have names are called among these."""
        self.cached: Any = None if keep == "never" else tools.cached(self, self._run(), keep, options)

    def held(self) -> Any:
        """What users hold: a function that whoever reads names, signatures and docstrings takes for the tool's own."""
        call: Any = self._kept() if self.cached is not None else self._always()
        functools.update_wrapper(call, self.fn, updated=())
        call.__name__, call.name, call.keep, call.cached = self.name, self.name, self.keep, self.cached
        call.runs = 0
        """Calls that went past the cache because the tool is kept 'never'."""
        return call

    def _always(self) -> Any:
        def call(*args: Any, **arguments: Any) -> Any:
            me.runs += 1
            self._tools.ran(self.name)
            return self.fn(*args, **arguments)

        async def later(*args: Any, **arguments: Any) -> Any:
            return await call(*args, **arguments)

        me: Any = later if self.awaited else call
        return me

    def _kept(self) -> Any:
        noting, pure = self._tools.noting, self.keep == "pure"

        def now(*args: Any, **arguments: Any) -> Any:
            named, since = self._named(args, arguments), self._tools.epoch
            with noting.step(since, pure=pure):
                return self.cached(named)

        async def later(*args: Any, **arguments: Any) -> Any:
            named, since = self._named(args, arguments), self._tools.epoch
            with noting.step(since, pure=pure):
                return await self.cached(named)

        def begun(*args: Any, **arguments: Any) -> Any:
            stream = self.cached(self._named(args, arguments))
            noting.note([tool_tag(self.name)], self._tools.epoch)
            return stream

        return {"coroutine": later, "async generator": begun}.get(self._kind, now)

    def _named(self, args: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, in canonical form. Raises ConfigurationError for those without a key, and TypeError as
        the tool itself would for too many."""
        if args:
            arguments = {**self._placed(args, arguments), **arguments}
        arguments = canonical(arguments, self._schema)
        for name, value in arguments.items():
            try:
                argument(value)
            except (NotKeyable, RecursionError) as fault:
                plainly = "give the tool plain values, or keep='never'"
                raise ConfigurationError(
                    f"{self.name}({name})",
                    type(value).__qualname__,
                    f"it cannot be compared ({fault}): {_OF_OBJECTS if name == 'self' else plainly}",
                ) from None
        return arguments

    def _placed(self, args: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
        names = [one.name for one in self._parameters if one.kind <= one.POSITIONAL_OR_KEYWORD]
        if len(args) > len(names) and not self._rest:
            raise TypeError(
                f"{self.name}() takes {len(names)} positional arguments but {len(args)} were given"
            )
        placed = dict(zip(names, args, strict=False))
        for name in placed.keys() & arguments.keys():
            raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
        if more := args[len(names) :]:
            placed[self._rest] = list(more)
        return placed

    def _run(self) -> Callable[..., Any]:
        fn, some = self.fn, list(self._parameters)
        unnamed = [one.name for one in some if one.kind is one.POSITIONAL_ONLY]
        ahead = [one.name for one in some if one.kind <= one.POSITIONAL_OR_KEYWORD]

        def now(arguments: dict[str, Any]) -> Any:
            self._tools.noting.note([tool_tag(self.name)])
            named = dict(arguments)
            rest = named.pop(self._rest, ())
            first = [named.pop(name) for name in (ahead if rest else unnamed) if name in named]
            return fn(*first, *rest, **named)

        async def later(arguments: dict[str, Any]) -> Any:
            return await now(arguments)

        async def chunks(arguments: dict[str, Any]) -> AsyncIterator[Any]:
            async with aclosing(now(arguments)) as found:
                async for chunk in found:
                    yield chunk

        return {"coroutine": later, "async generator": chunks}.get(self._kind, now)
