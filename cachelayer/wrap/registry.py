"""The functions of a layer: each under one name, with options that are checked when it is wrapped."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property, partialmethod
from typing import Any

from ..errors import ConfigurationError
from ..exact.keys.identity import Identifier
from ..exact.keys.normalize import folding
from ..exact.memory.table import Memory
from ..flow.waiting import limited, limited_start
from ..keep.call import Function
from ..keep.scope import Scope
from ..path.engine import Engine
from ..policy import Policy
from ..semantic.tier import SimilarTier
from ..signatures import signature_of
from ..tiers import wiring
from . import decorator
from .handles import Handle, PlainHandle
from .naming import (
    bound,
    check_tags,
    declared,
    is_method,
    name_of,
    settled,
    takes_json_only,
    with_given,
    with_marks,
    with_receiver,
)
from .options import OPTIONS, check, policy_fields
from .redefinition import Origin, redefines, version_of

_log = logging.getLogger("cachelayer")
STREAM = "\0stream"
"""In the version of a generator: what it returned before it was one is of no use to its callers, nor the reverse."""
AGAIN = "\0again "
"""In the version of a function that was defined differently before, under the same name."""


class Registry:
    """Wraps callables for one layer."""

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        memory: Memory,
        scope: Callable[[], Scope | None],
        *,
        why_off: str,
        tenancy_required: bool,
        wrapped: Callable[[Function], None],
        own_tier: Callable[[object, str], SimilarTier],
    ) -> None:
        self.functions: dict[str, Function] = {}
        self.wrapped: dict[str, Any] = {}
        """The wrapped callables that users hold, by name."""
        self._engine, self._policy, self._memory, self._scope = engine, policy, memory, scope
        self._first: dict[str, tuple[Any, dict[str, Any]]] = {}
        """What was first wrapped under each name, and its options."""
        self._last: dict[str, Any] = {}
        """What was last wrapped under each name."""
        self._why_off, self._tenancy_required = why_off, tenancy_required
        self._wrapped, self._warned, self._own_tier = wrapped, False, own_tier

    @property
    def loosest(self) -> float:
        """The highest bound on wrong answers that the layer or any of its functions allows."""
        return max([self._policy.max_error_rate, *(f.policy.max_error_rate for f in self.functions.values())])

    def wrap(self, fn: Any, *, options: dict[str, Any], wire: bool, origin: Origin | None = None) -> Any:
        """The cached callable. Raises ConfigurationError naming option, value and remedy.

        `origin`: what the owner gave, where `fn` and its name were made of that.
        """
        if isinstance(fn, classmethod | staticmethod):
            made = decorator.OfClass if isinstance(fn, classmethod) else staticmethod
            return made(self.wrap(fn.__func__, options=options, wire=wire))
        if (remedy := self._refused(fn)) is not None:
            raise ConfigurationError("fn", type(fn).__name__ if isinstance(fn, Policy) else fn, remedy)
        options = dict(with_marks(fn, options))
        own = {k: options[k] for k in OPTIONS if k in options}
        check(own)
        fields = policy_fields(options)
        kind = decorator.kind_of(fn)
        function = self._function(fn, kind, fields, own, wire, origin or Origin(fn, bool(own.get("name"))))
        invoke, most = fn, function.backend_budget
        if kind == "async generator":
            invoke = _at_once(limited_start(fn, most))
        elif not function.plain:
            invoke = limited(fn, most)
        handle = (PlainHandle if function.plain else Handle)(
            function, self._engine, self._scope, tenancy_required=self._tenancy_required, invoke=invoke
        )
        self.wrapped[function.name] = cached = decorator.wrapped(handle, kind, fn, self._scope)
        return cached

    def _refused(self, fn: Any) -> str | None:
        """What to do instead of wrapping `fn`; None if it can be wrapped."""
        if isinstance(fn, property | cached_property | partialmethod):
            return f"put {type(fn).__name__} above the layer's decorator"
        if isinstance(fn, type):
            return "a class cannot be cached as a whole: decorate its methods, or a function that makes its objects"
        if isinstance(fn, Policy):
            return (
                "give its fields as options, as in cached(ttl='10m'), or the policy to the layer: policy=..."
            )
        if getattr(fn, "__code__", None) in _ENTERED:
            return "a context manager cannot be cached, since each caller enters its own: wrap what is called inside it"
        if any(fn is one for one in self.wrapped.values()):
            return "this layer has already wrapped it: decorate it once"
        if callable(fn):
            return None
        if inspect.isawaitable(fn):
            return "give the function itself, as in wrap(ask), not what calling it returned"
        if isinstance(fn, str):
            return "options have names, as in cached(ttl='10m')"
        return "give a callable: a function, or a method as in wrap(client.ask)"

    def _function(
        self,
        fn: Any,
        kind: str,
        fields: dict[str, Any],
        options: dict[str, Any],
        wire: bool,
        origin: Origin,
    ) -> Function:
        name = options.get("name") or name_of(fn)
        before, given = self.functions.get(name), {**fields, **options}
        if before is not None:
            known = declared(fn, options) if origin.fn is fn else None
            self._check_again(origin, self._last[name], name, known)
        options = with_given(fn, with_receiver(fn, options))
        policy = self._policy.override(**fields)
        version = "" if before is None else version_of(origin.fn, given, self._first[name])
        identifier = self._identifier(name, fn, kind, policy, options, wire, version)
        tags = tuple(options.get("tags", ()))
        check_tags(tags, fn, name)
        own = self._own_tier(options["vector"], name) if "vector" in options else None
        similar = self._compares(policy, fields, own) and identifier.compares
        function = Function(
            name,
            fn,
            policy=policy,
            identifier=identifier,
            memory=self._memory_for(policy, fields, before),
            tags=tags,
            share=bool(options.get("share", False)),
            similar=similar,
            own=own if similar else None,
            plain=kind in ("plain", "generator"),
            view=options.get("view"),
            judge=options.get("judge"),
            codec=options.get("codec"),
            linkable=not ("key" in options or "vary" in options or callable(identifier.text))
            and settled(fn, options.get("ignore", ())),
        )
        if before is not None:
            function.stats = before.stats
        self._first.setdefault(name, (origin.fn, given))
        self._last[name] = origin.fn
        self.functions[name] = function
        if function.own is not None:
            self._engine.tiers.join(function.own)
        self._wrapped(function)
        return function

    @staticmethod
    def _check_again(origin: Origin, before: Any, name: str, known: bool | None) -> None:
        """`known`: whether it is declared what of a method's object is part of the key; None where that cannot be."""
        if redefines(*origin, before, declared=known is True):
            return
        if origin.fn is before:
            remedy = (
                "it is wrapped under it already: make it once and use that everywhere, or give another name="
            )
            raise ConfigurationError("name", name, remedy)
        remedy = "give another name=, or wrap a function once instead of wherever it is called"
        if known is False and redefines(*origin, before, declared=True):
            remedy = (
                "it is a method of another object; say with self_key= on which of its attributes the answers depend"
                " (share_self=True: on none), or give another name="
            )
        raise ConfigurationError("name", name, f"another function is wrapped under it: {remedy}")

    def _identifier(
        self, name: str, fn: Any, kind: str, policy: Policy, own: dict[str, Any], wire: bool, again: str
    ) -> Identifier:
        return Identifier(
            name,
            signature_of(fn),
            fold=folding(policy.normalize),
            version=str(own.get("version", ""))
            + bound(fn, own)
            + (STREAM if kind.endswith("generator") else "")
            + (again and AGAIN + again),
            text=own.get("text"),
            by_vector="vector" in own,
            semantic=policy.semantic is not False and self._why_off != wiring.BY_CHOICE,
            wire=wire,
            ignore=tuple(own.get("ignore", ())),
            key=own.get("key"),
            vary=own.get("vary", ()),
            self_key=own.get("self_key"),
            shares_self=bool(own.get("share_self", False)),
            method=is_method(fn),
            json_only=takes_json_only(fn),
        )

    def _compares(self, policy: Policy, fields: dict[str, Any], own: SimilarTier | None) -> bool:
        """Whether a function's requests are compared by meaning; if none can be, the log says once why."""
        tiers = self._engine.tiers
        off = self._why_off == wiring.BY_CHOICE if own is not None else tiers.similar is None
        if off and fields.get("semantic") is True:
            wiring.require_similar()
            raise ConfigurationError("semantic", True, f"this layer is exact only: {self._why_off}")
        if off and policy.semantic is not False and self._why_off != wiring.BY_CHOICE and not self._warned:
            self._warned = True
            _log.warning("exact caching only: %s", self._why_off)
        return not off and policy.semantic is not False and policy.max_bytes > 0

    def _memory_for(self, policy: Policy, fields: dict[str, Any], before: Function | None) -> Memory:
        """The layer's memory; or the function's own, if it has limits of its own."""
        if "max_bytes" not in fields and "max_item_bytes" not in fields:
            return self._memory
        limits = policy.max_bytes, policy.max_item_bytes
        if before is not None and limits == (before.policy.max_bytes, before.policy.max_item_bytes):
            return before.memory
        return self._engine.keeper.memory(policy.max_bytes, policy.max_item_bytes)


def _at_once(fn: Callable[..., Any]) -> Callable[..., Any]:
    async def start(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return start


_ENTERING: tuple[Any, ...] = contextmanager, asynccontextmanager
_ENTERED = {make(_at_once).__code__ for make in _ENTERING}
"""The code of what `contextmanager` and `asynccontextmanager` return."""
