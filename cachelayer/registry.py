"""The functions of a layer: each under one name, its options checked where it is wrapped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from . import decorator, wiring
from .call import Function, Scope
from .engine import Engine
from .errors import ConfigurationError
from .exact.identity import Identifier
from .exact.memory import Memory
from .exact.normalize import folding
from .handles import Handle, PlainHandle
from .naming import check_tags, name_of, names, signature_of, takes_json_only
from .policy import Policy, check_names

_log = logging.getLogger("cachelayer")
OPTIONS = (
    "name",
    "version",
    "text",
    "tags",
    "ignore",
    "key",
    "vary",
    "self_key",
    "share_self",
    "share",
    "view",
    "codec",
)
"""What `cached` and `wrap` take beside the fields of `Policy`."""


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
    ) -> None:
        self.functions: dict[str, Function] = {}
        self.wrapped: dict[str, Any] = {}
        """What users hold of them."""
        self._engine, self._policy, self._memory, self._scope = engine, policy, memory, scope
        self._why_off, self._tenancy_required = why_off, tenancy_required
        self._wrapped, self._told = wrapped, False

    def wrap(self, fn: Any, *, options: dict[str, Any], wire: bool) -> Any:
        """The cached callable. Raises ConfigurationError naming option, value and remedy."""
        if isinstance(fn, classmethod | staticmethod):
            return type(fn)(self.wrap(fn.__func__, options=options, wire=wire))
        if not callable(fn):
            raise ConfigurationError("fn", fn, "give a callable")
        own = {k: options[k] for k in OPTIONS if k in options}
        fields = {k: v for k, v in options.items() if k not in own}
        check_names("option", fields, [*Policy.__dataclass_fields__, *OPTIONS])
        kind = decorator.kind_of(fn)
        function = self._function(fn, kind, fields, own, wire)
        handle = (PlainHandle if function.plain else Handle)(
            function,
            self._engine,
            self._scope,
            tenancy_required=self._tenancy_required,
            invoke=_at_once(fn) if kind == "async generator" else fn,
        )
        self.wrapped[function.name] = cached = decorator.wrapped(handle, kind, fn, self._scope)
        return cached

    def _function(
        self, fn: Any, kind: str, fields: dict[str, Any], own: dict[str, Any], wire: bool
    ) -> Function:
        name = own.get("name") or name_of(fn)
        if name in self.functions:
            raise ConfigurationError("name", name, "another function is wrapped under it; give another name=")
        policy = self._policy.override(**fields)
        identifier = self._identifier(name, fn, policy, own, wire)
        tags = names("tags", own.get("tags", ()))
        check_tags(tags, fn, name)
        similar = self._compares(policy, fields) and identifier.text is not None
        function = Function(
            name,
            fn,
            policy=policy,
            identifier=identifier,
            memory=self._memory_for(policy, fields),
            tags=tags,
            share=bool(own.get("share", False)),
            similar=similar,
            plain=kind in ("plain", "generator"),
            view=own.get("view"),
            codec=own.get("codec"),
            linkable=not ("key" in own or "vary" in own or callable(identifier.text)),
        )
        self.functions[name] = function
        self._wrapped(function)
        return function

    def _identifier(self, name: str, fn: Any, policy: Policy, own: dict[str, Any], wire: bool) -> Identifier:
        return Identifier(
            name,
            signature_of(fn),
            fold=folding(policy.normalize),
            version=str(own.get("version", "")),
            text=own.get("text"),
            semantic=policy.semantic is not False and self._why_off != wiring.BY_CHOICE,
            wire=wire,
            ignore=names("ignore", own.get("ignore", ())),
            key=own.get("key"),
            vary=own.get("vary", ()),
            self_key=own.get("self_key"),
            shares_self=bool(own.get("share_self", False)),
            method=decorator.is_method(fn),
            json_only=takes_json_only(fn),
        )

    def _compares(self, policy: Policy, fields: dict[str, Any]) -> bool:
        """Whether a function's requests are compared by meaning; says once in the log why none are."""
        off = self._engine.tiers.similar is None
        if off and fields.get("semantic") is True:
            wiring.require_similar()
            raise ConfigurationError("semantic", True, f"this layer is exact only: {self._why_off}")
        if off and policy.semantic is not False and self._why_off != wiring.BY_CHOICE and not self._told:
            self._told = True
            _log.warning("exact caching only: %s", self._why_off)
        return not off and policy.semantic is not False and policy.max_bytes > 0

    def _memory_for(self, policy: Policy, fields: dict[str, Any]) -> Memory:
        """The layer's memory, or one of the function's own where it has limits of its own."""
        if "max_bytes" not in fields and "max_item_bytes" not in fields:
            return self._memory
        return self._engine.keeper.memory(policy.max_bytes, policy.max_item_bytes)


def _at_once(fn: Callable[..., Any]) -> Callable[..., Any]:
    async def start(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return start
