"""Wrapped functions that live in a class: they bind like any method, and what is asked of them binds, too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from types import FunctionType
from typing import Any, Generic

from ..signatures import stand_for
from .handles import InThread
from .wrapped import P, R


class Bound(partial[Any]):
    """A wrapped method bound to its object; `outcome` and the others are bound as well."""

    def __getattr__(self, name: str) -> Any:
        if name == "__self__":
            return self.args[0]
        if name.startswith("__"):
            if name not in ("__name__", "__qualname__", "__annotations__", "__annotate__", "__globals__"):
                raise AttributeError(name)
            return getattr(inspect.unwrap(self.func), name)
        attribute = getattr(self.func, name)
        if name == "aio":
            bound = Bound(attribute, *self.args)
            bound.__dict__.update(_from_class(attribute))
            return bound
        return partial(attribute, *self.args) if callable(attribute) else attribute

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self.func is other.func and self.args[0] is other.args[0]

    def __hash__(self) -> int:
        return hash((self.func, id(self.args[0])))

    def __reduce__(self) -> tuple[Any, ...]:
        path = f"{self.__name__}.aio" if isinstance(self.func, InThread) else self.__name__
        return attrgetter(path), self.args


def _from_class(cached: Any) -> dict[str, Any]:
    """Attributes of a class in place of those of each instance."""
    return {"__module__": cached.__module__, "__doc__": cached.__doc__}


class Method(Generic[P, R]):
    """A wrapped function that lives in a class: binds like any method."""

    # pydantic goes by isinstance, and would take anything in a class that is not a function for a field
    __class__ = property(lambda self: FunctionType)

    def __init__(self, cached: Callable[P, R]) -> None:
        stand_for(cached, self)
        self.__wrapped__ = cached
        # in a class of its own, so that binding costs nothing extra
        self._bound = type(Bound.__name__, (Bound,), _from_class(cached))

    @property
    def __closure__(self) -> Any:  # where attrs puts the class with slots that it makes in place of one
        return inspect.unwrap(self.__wrapped__).__closure__

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        # itself where its class is asked: IPython's autoreload gives an old method the dict of what it finds there
        return self if instance is None else self._bound(self.__wrapped__, instance)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> str:
        return str(self.__wrapped__.__qualname__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)
