"""Arguments by the names of the parameters, as `inspect.Signature.bind` gives them, but fast. Pure."""

from __future__ import annotations

import inspect
from typing import Any

from ..answers.fields import absent


def says_nothing(default: Any) -> bool:
    """Whether a default only marks that its argument was not given: a bare `object()`, `...`, a client's word."""
    return type(default) is object or default is ... or absent(default)


class Parameters:
    """The parameters of one signature, sorted once by how they take arguments."""

    __slots__ = (
        "_defaults",
        "_foreign",
        "_known",
        "_required",
        "_simple",
        "extra",
        "markers",
        "named",
        "positional",
        "rest",
    )

    def __init__(self, signature: inspect.Signature) -> None:
        every = list(signature.parameters.values())
        self.named = {
            p.name: p for p in every if p.kind is not p.VAR_POSITIONAL and p.kind is not p.VAR_KEYWORD
        }
        """All but `*args` and `**kwargs`."""
        self.extra = any(p.kind is p.VAR_KEYWORD for p in every)
        """Whether keywords of any name are taken."""
        self._known = frozenset(self.named)
        self.positional = [p.name for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        """Those that arguments by position go to, in order."""
        self.rest = next((f"*{p.name}" for p in every if p.kind is p.VAR_POSITIONAL), None)
        """Under which name `bind` gives what is beyond these; None where nothing is taken."""
        self._foreign = {self.rest, *(n for n, p in self.named.items() if p.kind is p.POSITIONAL_ONLY)}
        """Names that stand for something else where they come as keywords: `f(1, a=2)` of `f(a, /, **more)`."""
        self._defaults = {n: p.default for n, p in self.named.items() if p.default is not p.empty}
        self.markers = {n: default for n, default in self._defaults.items() if says_nothing(default)}
        """Defaults that identify nothing: an argument that has its own is as good as not given."""
        self._required = [n for n, p in self.named.items() if p.default is p.empty]
        self._simple = len(self.positional) == len(self.named)
        """Whether arguments given by position alone, as many as there are parameters, are all of them."""

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """Arguments by parameter name, defaults filled in and `*rest` under that name; None if the call does not
        fit the signature.
        """
        if self._simple and not kwargs and len(args) == len(self.positional):
            if len(args) == 1:
                return {self.positional[0]: args[0]}
            return dict(zip(self.positional, args, strict=True))
        if kwargs and not kwargs.keys().isdisjoint(self._foreign):
            return None
        if kwargs and args and not kwargs.keys().isdisjoint(self.positional[: len(args)]):
            return None
        if args or self._defaults:
            bound = {**self._defaults, **dict(zip(self.positional, args, strict=False)), **kwargs}
        else:
            bound = kwargs
        if len(args) > len(self.positional):
            if self.rest is None:
                return None
            bound[self.rest] = args[len(self.positional) :]
        for name in self._required:
            if name not in bound:
                return None
        if len(bound) > len(self._known) and not self.extra and not kwargs.keys() <= self._known:
            return None
        return bound
