"""Wrapping functions: what kind a callable is, and the wrapper that answers a hit with next to no work.

The code of a hit is written out in each wrapper, because a shared function would cost a hit a call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from orjson import dumps
from xxhash import xxh3_64_intdigest

from ..errors import StoreFault
from ..exact.memory.raw_forms import STRICT
from ..flow.breaker import CLOSED
from ..flow.readers import Closable, PlainReader
from ..keep.parts import take_kept
from ..keep.scope import Scope
from ..keep.scope_blocks import in_scope
from ..observe.pace import timed
from ..signatures import told
from ..tiers.shortcuts import Shortcuts
from .handles import Handle, InThread, PlainHandle
from .methods import Method
from .naming import is_method
from .scoped_generators import ScopedGenerator, scoped_async_generator

ScopeOf = Callable[[], Scope | None]
FACE = ("outcome", "bypass", "refresh", "invalidate", "explain", "aio")
"""What a wrapped function offers beside being called; `aio` only a plain one."""
_LONE = frozenset({str, dict})
"""Classes of a single argument whose raw form is looked up without a function call."""


def kind_of(fn: Callable[..., Any]) -> str:
    """'coroutine', 'async generator', 'generator' or 'plain'; looks through partials, wrappers and `__call__`.

    A plain function around a generator is plain: it may make a list of what the generator yields, or pass it on.
    """
    if inspect.iscoroutinefunction(fn):  # objects can be marked as such, as mocks are
        return "coroutine"
    if not inspect.isroutine(fn) and not isinstance(fn, functools.partial):
        fn = getattr(type(fn), "__call__", fn)  # noqa: B004 - the method itself, not whether there is one
    for seen in (fn, inspect.unwrap(fn)):
        if inspect.iscoroutinefunction(seen):
            return "coroutine"
        if inspect.isasyncgenfunction(seen):
            return "async generator"
    return "generator" if inspect.isgeneratorfunction(fn) else "plain"


class OfClass(classmethod):  # type: ignore[type-arg]
    """A wrapped class method; since Python 3.13 `classmethod` binds calls only, not `outcome` and the others."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.__func__.__get__(type(instance) if owner is None else owner)


def wrapped(handle: Handle, kind: str, fn: Callable[..., Any], current: ScopeOf) -> Any:
    """The callable that users hold."""
    make = {
        "coroutine": _coroutine,
        "async generator": _async_generator,
        "generator": _generator,
        "plain": _plain,
    }
    cached = make[kind](handle, current)
    functools.update_wrapper(cached, fn, told(fn))
    in_thread = InThread(handle) if isinstance(handle, PlainHandle) else None
    for name in FACE[:-1]:
        setattr(cached, name, getattr(handle, f"{name}_now" if in_thread else name))
    if in_thread:
        cached.aio = in_thread
    cached.function, cached.handle = handle.function, handle
    return Method(cached) if is_method(fn) else cached


def _past_memory(handle: Handle, shortcuts: Shortcuts, current: ScopeOf) -> Any:
    """For a function that keeps nothing in process: answers by raw form from the shared store, else by the path."""
    function, answer, now = handle.function, handle.engine.answer, handle.engine.clock.monotonic
    find, serve, breaker = shortcuts.find, shortcuts.served, shortcuts.breaker
    ask, budget = shortcuts.recall.ask, function.store_budget

    async def cached(*args: Any, **kwargs: Any) -> Any:
        scope, at, looked = current(), now(), None
        known = find(function, scope, args, kwargs)
        if known is not None and breaker.state is CLOSED:
            try:
                reply = ask(known.meta, budget)
                if reply is not None:
                    served, looked = serve(function, known.meta, await reply, at)
                    if served:
                        return looked
            except StoreFault as fault:
                looked = shortcuts.failed(fault)
        call = handle.call(args, kwargs, scope, at)
        call.looked = looked
        return await answer(call)

    return cached


def _coroutine(handle: Handle, current: ScopeOf) -> Any:
    function, answer, now = handle.function, handle.engine.answer, handle.engine.clock.monotonic
    forms, forms_by = function.raw_forms, function.raw_forms_by
    stats, linkable = function.stats, function.linkable
    texts, dicts, find = forms.texts, forms.positional, forms.find
    shortcuts = handle.engine.tiers.shortcuts
    if function.formed and shortcuts is not None:
        return _past_memory(handle, shortcuts, current)

    async def cached(*args: Any, **kwargs: Any) -> Any:
        scope, at = current(), now()
        if linkable and (scope is None or scope.direct):
            if scope is not None:
                own = forms if scope.tenant is None else forms_by.get(scope.tenant)
                slot = None if own is None else own.find(args, kwargs)
            elif kwargs or len(args) != 1 or (kind := type(args[0])) not in _LONE:
                slot = find(args, kwargs)
            elif kind is str:
                known = texts.get(args[0])
                slot = None if known is None else known[1]
            else:  # what `find` would do, without a call
                try:
                    raw = dumps(args, None, STRICT)
                    pair = dicts.get(xxh3_64_intdigest(raw))
                    slot = None if pair is None or pair[0] != raw else pair[1]
                except TypeError:
                    slot = None
                if slot is None and forms.marshalled:
                    slot = forms.by_marshal(args, dicts)
            if slot is not None and slot.fresh_until > at:
                if scope is not None and scope.build is not None:
                    take_kept(scope, function, slot)
                slot.hits += 1
                slot.used = at
                stats.fast_hits = n = stats.fast_hits + 1
                frozen = slot.answer
                thaw = frozen.thaw
                if n < stats.look_at:
                    return frozen.value if thaw is None else thaw(frozen.value)
                own_answer = frozen.answer()
                stats.look(now() - at, slot)
                return own_answer
        return await answer(handle.call(args, kwargs, scope, at))

    return cached


def _plain(handle: Handle, current: ScopeOf) -> Any:
    function, answer, now = handle.function, handle.engine.answer_now, handle.engine.clock.monotonic
    forms, forms_by = function.raw_forms, function.raw_forms_by
    stats, linkable = function.stats, function.linkable

    def cached(*args: Any, **kwargs: Any) -> Any:
        scope, at = current(), now()
        if linkable and (scope is None or scope.direct):
            own = forms if scope is None or scope.tenant is None else forms_by.get(scope.tenant)
            slot = None if own is None else own.find(args, kwargs)
            if slot is not None and slot.fresh_until > at:
                if scope is not None and scope.build is not None:
                    take_kept(scope, function, slot)
                slot.hits += 1
                slot.used = at
                stats.fast_hits = n = stats.fast_hits + 1
                frozen = slot.answer
                thaw = frozen.thaw
                if n < stats.look_at:
                    return frozen.value if thaw is None else thaw(frozen.value)
                own_answer = frozen.answer()
                stats.look(now() - at, slot)
                return own_answer
        return answer(handle.call(args, kwargs, scope, at))

    return cached


def _fresh_stream(handle: Handle, args: Any, kwargs: Any, scope: Scope | None) -> Any:
    """The replay of a stored stream if the raw form leads to one, else None."""
    function, now = handle.function, handle.engine.clock.monotonic
    at, stats = now(), function.stats
    if function.linkable and (scope is None or scope.direct):
        tenant = None if scope is None else scope.tenant
        forms = function.raw_forms if tenant is None else function.raw_forms_by.get(tenant)
        slot = None if forms is None else forms.find(args, kwargs)
        if slot is not None and slot.fresh_until > at:
            if scope is not None and scope.build is not None:
                take_kept(scope, function, slot)
            slot.hits += 1
            slot.used = at
            stats.fast_hits += 1
            if stats.fast_hits >= stats.look_at:
                stats.look(now() - at, slot)
            replay = slot.answer.answer()
            return timed(replay, stats, "hit", at, now) if stats.paced else replay
    return None


def _async_generator(handle: Handle, current: ScopeOf) -> Any:
    def cached(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        scope = current()
        replay = _fresh_stream(handle, args, kwargs, scope)
        return replay if replay is not None else Stream(handle, args, kwargs, scope)

    return cached


def _generator(handle: Handle, current: ScopeOf) -> Any:
    def cached(*args: Any, **kwargs: Any) -> Iterator[Any]:
        scope = current()
        replay: Iterator[Any] | None = _fresh_stream(handle, args, kwargs, scope)
        return replay if replay is not None else PlainReader(_generate(handle, args, kwargs, scope))

    return cached


def _generate(handle: Handle, args: Any, kwargs: Any, scope: Scope | None) -> Generator[Any, None, Any]:
    engine = handle.engine
    with in_scope(engine.noting.scope, scope):
        chunks = engine.answer_now(handle.call(args, kwargs, scope))
    if type(chunks) is GeneratorType:
        where = functools.partial(in_scope, engine.noting.scope, scope)
        chunks = ScopedGenerator(chunks, where, handle.function.stats.broke)
    return (yield from chunks)


class Stream(Closable):
    """An asynchronous generator's answer: the call starts when the first chunk is asked for."""

    __slots__ = ("_closed", "_inner", "_start")

    def __init__(self, handle: Handle, args: Any, kwargs: Any, scope: Scope | None) -> None:
        self._start = (handle, args, kwargs, scope)
        self._inner: Any = None
        self._closed = False

    async def __anext__(self) -> Any:
        if self._closed:
            raise StopAsyncIteration
        if self._inner is None:
            await self._begin()
        return await self._inner.__anext__()

    async def _begin(self) -> None:
        handle, args, kwargs, scope = self._start
        engine, shortcuts = handle.engine, handle.engine.tiers.shortcuts
        with in_scope(engine.noting.scope, scope):
            if handle.function.formed and shortcuts is not None:
                inner = await _past_memory(handle, shortcuts, lambda: scope)(*args, **kwargs)
            else:
                inner = await engine.answer(handle.call(args, kwargs, scope))
        if type(inner) is AsyncGeneratorType:
            inner = scoped_async_generator(inner, engine.noting.scope, scope, handle.function.stats.broke)
        if self._closed:  # meanwhile
            await inner.aclose()
            raise StopAsyncIteration
        self._inner = inner

    async def aclose(self) -> None:
        """Leave the stream."""
        self._closed = True
        if self._inner is not None:
            await self._inner.aclose()
