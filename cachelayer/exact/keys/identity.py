"""Arguments to identity: what identifies an answer, and nothing else. Pure but for the callables of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from ...errors import ConfigurationError
from ...types import Turn
from ..answers.kinds import Kinds
from . import chat
from .canonical import NotKeyable, Tree, argument, compact, decode, encode, tree
from .held import MOST, held
from .meaning import compared
from .normalize import Fold
from .parameters import Parameters
from .plain import encode_plain
from .refusal import unkeyable

_HEADS = 4096
Vary = Callable[[], Any] | ContextVar[Any]


class Identity:
    """One request's identity: `canonical` bytes are equal for equal requests and for no others."""

    __slots__ = ("_fields", "_scope", "canonical", "head", "text", "turns")

    def __init__(
        self,
        head: bytes,
        canonical: bytes,
        fields: dict[str, Tree] | None = None,
        scope: dict[str, Tree] | None = None,
        text: str | None = None,
        turns: tuple[Turn, ...] = (),
    ) -> None:
        self.head, self.canonical, self.text, self.turns = head, canonical, text, turns
        self._fields, self._scope = fields, scope

    @property
    def fields(self) -> dict[str, Tree]:
        """Canonical trees of the arguments."""
        if self._fields is None:
            self._fields = decode(self.canonical[len(self.head) :])
        return self._fields

    @property
    def scope(self) -> dict[str, Tree]:
        """`fields` without the text and the earlier turns, which are compared by meaning."""
        return self.fields if self._scope is None else self._scope

    def partition(self) -> bytes:
        """Canonical bytes of the scope: all of the identity but what is compared by meaning."""
        return self.head + encode(self.scope)


class Identifier:
    """How one function's arguments become an identity; built at decoration, raises ConfigurationError there."""

    def __init__(
        self,
        name: str,
        signature: inspect.Signature,
        *,
        fold: Fold,
        version: str = "",
        text: str | Callable[..., str] | None = None,
        by_vector: bool = False,
        semantic: bool = True,
        wire: bool = False,
        ignore: Sequence[str] = (),
        key: Callable[..., Any] | None = None,
        vary: Sequence[Vary] = (),
        self_key: str | Sequence[str] | Callable[[Any], Any] | None = None,
        shares_self: bool = False,
        method: bool = False,
        json_only: bool = False,
    ) -> None:
        self.name, self.version, self._fold, self._wire = name, version, fold, wire
        self._key, self._vary, self._self_key, self._shares_self = key, tuple(vary), self_key, shares_self
        self.json_only = json_only or wire
        """Whether arguments are JSON values by declaration: JSON's rules hold for them, an enum is its value."""
        self._of = tree if self.json_only else argument
        self._heads: dict[str | None, bytes] = {}
        self._kinds = Kinds()
        self._receiver = next(iter(signature.parameters)) if method else None
        parameters = Parameters(signature)
        self.arguments, named, self._positional = parameters.bind, parameters.named, parameters.positional
        """Arguments by parameter name, defaults filled in; None if the call does not fit the signature."""
        self._markers, self._rest = parameters.markers, parameters.rest
        for unknown in (n for n in ignore if n not in named and not parameters.extra):
            raise ConfigurationError(
                "ignore", unknown, f"{name} has no such parameter; it has {', '.join(named)}"
            )
        self._ignore = frozenset(ignore)
        candidates = [n for n in named if n != self._receiver and n not in self._ignore]
        self.by_vector = by_vector
        """Whether what is compared need not be text: the owner makes its vector; the text is the parameter's name."""
        if by_vector and text is None and len(candidates) == 1:
            text = candidates[0]
        if by_vector and (callable(text) or key is not None):
            raise ConfigurationError(
                "vector", name, "name the parameter that it reads: text='name', without key="
            )
        self.text = compared(name, candidates, named, text, parameters.extra, semantic and key is None)
        self.compares = self.text is not None and (key is None or text is not None)
        """Whether two requests can be near each other: not where all that `key` returns must be equal."""
        if semantic and callable(text) and key is None and not ignore:
            remedy = (
                "with a function here, give key= as well: a function that returns what else must be equal"
            )
            raise ConfigurationError("text", text, f"{name}: {remedy}")
        self._passed = self._ignore | {self._receiver, self.text if isinstance(self.text, str) else None}
        """Parameters that are no fields like others: left out, or read by rules of their own."""
        self._exact = self.text is None and not wire and self._receiver is None and key is None
        """Whether arguments are compared as they are, none by meaning."""

    def identify(self, args: tuple[Any, ...], kwargs: dict[str, Any], tenant: str | None) -> Identity | None:
        """The identity of a call; None of one that does not fit the signature (the function will say so) or acts.

        Raises NotKeyable naming the parameter that cannot be compared.
        """
        bound = self.arguments(args, kwargs)
        if bound is None or (self._wire and chat.acts(bound)):
            return None
        if self._markers:
            bound = {n: value for n, value in bound.items() if value is not self._markers.get(n, self)}
        if (head := self._heads.get(tenant)) is None or self._vary:
            head = self._head(tenant)
        if self._exact:
            fields = {n: v for n, v in bound.items() if n not in self._ignore} if self._ignore else bound
            canonical = encode_plain(fields)
            if canonical is not None:
                return Identity(head, head + canonical)
        raw = chat.wire_fields(bound) if self._wire else bound
        if self._key is not None:
            fields = {"\0key": _field("key=", self._key(*args, **kwargs))}
            if self._self_key is not None and self._receiver in raw:
                fields[self._receiver] = self._receiver_tree(raw[self._receiver])
            if self.compares:
                return self._with_meaning(head, fields, raw, args, kwargs)
            text = bound.get(self.text) if isinstance(self.text, str) else None
            return _identity(head, fields, fields, self._fold(text) if isinstance(text, str) else None)
        passed, of, fields = self._passed, self._of, {}
        try:
            for name, value in raw.items():
                if name == self._rest:  # each is an argument of its own
                    fields[name] = list(map(of, value))
                elif name not in passed:
                    fields[name] = value if type(value) is str else of(value)
        except (NotKeyable, RecursionError) as fault:
            raise unkeyable(name, value, fault) from None
        if self._receiver in raw and self._receiver not in self._ignore:
            fields[self._receiver] = self._receiver_tree(raw[self._receiver])
        return self._with_meaning(head, fields, raw, args, kwargs)

    def held(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as they are now, for a call that is made later: see `held.held`.

        A method's self and what `ignore` leaves out of the key stay the same objects: clients, sessions; unless their
        class has a method `cachelayer_held`, which gives another.
        """
        apart, names = self._ignore | {self._receiver}, self._positional
        most = None if self._key is None else MOST  # what is in the key was copied for that

        def own(name: str, value: Any) -> Any:
            if name not in apart:
                return held(value, self._kinds, most)
            other = getattr(type(value), "cachelayer_held", None)
            return value if other is None else other(value)

        beside = [*names[: len(args)], *[""] * (len(args) - len(names))]
        return tuple(map(own, beside, args)), {name: own(name, value) for name, value in kwargs.items()}

    def still(self, identity: Identity | None, args: Any, kwargs: Any, tenant: str | None) -> bool:
        """Whether arguments, and what else is in the key, are what they were when `identity` was made of them."""
        now = self.identify(args, kwargs, tenant)
        return now is not None and identity is not None and now.canonical == identity.canonical

    def _with_meaning(
        self, head: bytes, fields: dict[str, Tree], raw: Mapping[str, Any], args: Any, kwargs: Any
    ) -> Identity:
        name = self.text
        if name is None or (isinstance(name, str) and name not in raw):
            return _identity(head, fields, fields)
        if isinstance(name, str):
            value = raw[name]
        else:
            value, name = name(*args, **kwargs), "\0text"
        if self.by_vector:
            whole = {**fields, name: _field(name, value, self._of)}
            if value is None:
                return _identity(head, whole, whole)
            return _identity(head, whole, fields, name)
        if type(value) is str:
            text = self._fold(value)
            return _identity(head, {**fields, name: text}, fields, text)
        trees = _field(name, value, self._messages) if name == "messages" else None
        if trees is not None:
            parts = chat.split(trees)
            whole = {**fields, name: trees}
            if parts is None:
                return _identity(head, whole, whole)
            equal, turns, said = parts
            return _identity(head, whole, {**fields, name: equal}, said, turns)
        whole = {**fields, name: _field(name, value, self._of)}
        return _identity(head, whole, whole)

    def _messages(self, value: Any) -> list[Tree] | None:
        return chat.message_trees(value, self._fold, sent=self._wire)

    def _head(self, tenant: str | None) -> bytes:
        """Canonical bytes of what is the same for all arguments; JSON, so that no head is another's beginning."""
        head = encode([self.name, self.version, tenant, [self._varied(v) for v in self._vary]])
        if len(self._heads) < _HEADS:
            self._heads[tenant] = compact(head)
        return head

    def _varied(self, vary: Vary) -> Tree:
        if not isinstance(vary, ContextVar):
            return _field("vary=", vary())
        try:
            return _field("vary=", vary.get())
        except LookupError:
            return None

    def _receiver_tree(self, value: Any) -> Tree:
        if self._shares_self:
            return None
        if isinstance(value, type):
            return argument(value)
        key = self._self_key
        if key is None:
            frozen = getattr(type(value), "__dataclass_params__", None)
            if (frozen is not None and frozen.frozen) or hasattr(type(value), "model_fields"):
                return _field("self", value)
            raise ConfigurationError(
                "self_key", None,
                f"{self.name} is a method of {type(value).__qualname__}: say what of self changes the answer, as "
                "self_key='model' (an attribute, a list of them or a function), or share_self=True if nothing does",
            )  # fmt: skip
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        # subclasses may answer in their own way
        return [kind, *(_field(name, found) for name, found in attributes(value, key))]


def _identity(
    head: bytes,
    fields: dict[str, Tree],
    scope: dict[str, Tree],
    text: str | None = None,
    turns: tuple[Turn, ...] = (),
) -> Identity:
    return Identity(head, head + encode(fields), fields, scope, text, turns)


def _field(name: str, value: Any, of: Callable[[Any], Tree] = argument) -> Tree:
    try:
        return of(value)
    except (NotKeyable, RecursionError) as fault:
        raise unkeyable(name, value, fault) from None


def attributes(thing: object, key: str | Iterable[str] | Callable[[Any], Any]) -> list[tuple[str, Any]]:
    """What `self_key` names of an object, with names for messages. Raises NotKeyable for an attribute that it lacks."""
    if callable(key):
        return [("self_key=", key(thing))]
    found = []
    for name in [key] if isinstance(key, str) else key:
        if not hasattr(thing, name):
            lacks = f"{type(thing).__qualname__} has no such attribute"
            raise NotKeyable(f"self_key={name!r}: {lacks}; name one that every object has")
        found.append((f"self.{name}", getattr(thing, name)))
    return found
