"""What `layer.scope` and `layer.tighten` return: blocks of code, or functions of any kind, whose calls they cover."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, TypeVar

from ..errors import ConfigurationError
from ..keep.scope import Scope
from ..keep.scope_blocks import ScopeBlock
from .decorator import FACE, OfClass, kind_of
from .handles import Handle, InThread
from .methods import Method
from .scoped_generators import ScopedGenerator

F = TypeVar("F", bound=Callable[..., Any])
Fn = Callable[..., Any]


class Scoped(ScopeBlock):
    """For `with`, or as a decorator: entered anew for each call, and left when the function has come to its end.

    A generator runs in it step by step, and its reader does not.
    """

    def __call__(self, fn: F) -> F:
        if isinstance(fn, classmethod | staticmethod):
            made: Any = OfClass if isinstance(fn, classmethod) else staticmethod
            return made(self(fn.__func__))  # type: ignore[no-any-return]
        if isinstance(fn, type) or not callable(fn):
            remedy = "give a function of any kind; of a class cover the methods, and put property above"
            raise ConfigurationError("fn", fn, remedy)
        cover = {
            "coroutine": self._coroutine,
            "async generator": self._async_generator,
            "generator": self._generator,
            "plain": self._plain,
        }
        covered: Any = cover[kind_of(fn)](fn)
        functools.update_wrapper(covered, fn)
        if isinstance(fn, InThread) or isinstance(getattr(fn, "handle", None), Handle):
            for name in FACE:  # else they would be the function's own, outside of the scope
                if hasattr(fn, name):
                    setattr(covered, name, self(getattr(fn, name)))
        return Method(covered) if type(fn) is Method else covered  # type: ignore[return-value]

    def _anew(self) -> ScopeBlock:
        """A block for one call: others may be under way."""
        return ScopeBlock(self.variable, self._inner)

    def _plain(self, fn: Fn) -> Fn:
        def covered(*args: Any, **kwargs: Any) -> Any:
            with self._anew():
                made = fn(*args, **kwargs)
            match made:  # what has not begun yet
                case CoroutineType():
                    return self._coroutine(lambda: made)()
                case GeneratorType():
                    return self._generator(lambda: made)()
                case AsyncGeneratorType():
                    return self._async_generator(lambda: made)()
            return made

        return covered

    def _coroutine(self, fn: Fn) -> Fn:
        async def covered(*args: Any, **kwargs: Any) -> Any:
            with self._anew():
                return await fn(*args, **kwargs)

        return covered

    def _generator(self, fn: Fn) -> Fn:
        def covered(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            step = _Step(self._anew())
            with step:
                made = fn(*args, **kwargs)
            return (yield from ScopedGenerator(made, lambda: step))

        return covered

    def _async_generator(self, fn: Fn) -> Fn:
        async def covered(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            step, thrown, given = _Step(self._anew()), _Thrown(), None
            with step:
                made = fn(*args, **kwargs)
            try:
                while True:
                    with step:
                        try:
                            if thrown.fault is None:
                                item = await (made.__anext__() if given is None else made.asend(given))
                            elif hasattr(made, "athrow"):
                                item = await made.athrow(thrown.fault)
                            else:  # a cached one can only be read
                                raise thrown.fault
                        except StopAsyncIteration:
                            return
                    with thrown:
                        given = yield item
            finally:
                with step:
                    await made.aclose()

        return covered


class _Step:
    """Each step of one generator, in a scope that lasts from the first to the last of them."""

    def __init__(self, block: ScopeBlock) -> None:
        self._block, self._variable = block, block.variable
        self._scope: Scope | None = None

    def __enter__(self) -> None:
        self._token = self._variable.set(self._scope or self._block.scope())

    def __exit__(self, *_: object) -> None:
        self._scope = self._variable.get()  # with what was noted in it
        with suppress(ValueError):  # the collector ends what a closed loop left, in another context
            self._variable.reset(self._token)


class _Thrown:
    """What a reader throws into a generator, held for its source."""

    fault: Exception | None = None

    def __enter__(self) -> None:
        self.fault = None

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> bool:
        self.fault = fault if isinstance(fault, Exception) else None
        return self.fault is not None
