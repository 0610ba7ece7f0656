"""Other in-process caches behind one shape: `make(backend)` gives an awaitable call. Used by `exact.py`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

Call = Callable[[Any], Awaitable[Any]]
CAPACITY = 200_000


def _key(body: Any) -> str:
    return json.dumps(body, sort_keys=True)


def cachetools(backend: Call) -> Call:
    """The usual pattern: an LRU dict behind a lock."""
    from cachetools import LRUCache

    data: Any = LRUCache(CAPACITY)
    lock = asyncio.Lock()

    async def call(body: Any) -> Any:
        key = _key(body)
        async with lock:
            if key in data:
                return data[key]
        made = await backend(body)
        async with lock:
            data[key] = made
        return made

    return call


def async_lru(backend: Call) -> Call:
    """Its arguments must be hashable: the request as canonical text."""
    from async_lru import alru_cache

    async def by_text(text: str) -> Any:
        return await backend(json.loads(text))

    kept: Call = alru_cache(maxsize=CAPACITY)(by_text)

    async def call(body: Any) -> Any:
        return await kept(_key(body))

    return call


def aiocache(backend: Call) -> Call:
    """Its decorator, in memory, default key."""
    from aiocache import cached

    async def call(body: Any) -> Any:
        return await backend(body)

    kept: Call = cached()(call)
    return kept


def cashews(backend: Call) -> Call:
    """Its decorator, in memory, key by template."""
    from cashews import Cache

    cache = Cache()
    cache.setup("mem://", size=CAPACITY)

    async def call(body: Any) -> Any:
        return await backend(body)

    kept: Call = cache(ttl="1h", key="k:{body:hash}")(call)
    return kept


def available() -> dict[str, Callable[[Call], Call]]:
    """The peers that can be imported here."""
    known = {"cachetools": cachetools, "async_lru": async_lru, "aiocache": aiocache, "cashews": cashews}
    return {name: make for name, make in known.items() if find_spec(name) is not None}
