"""Records, waiting for what comes about by itself, and hearing of it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from cachelayer.errors import StoreError, StoreFault, Unusable
from cachelayer.exact.redis import Changed, RedisStore
from cachelayer.types import Reason, Record

PATIENCE = 20.0


def record(name: str = "q", payload: bytes = b"answer", *, ttl: float = 60.0, **fields: Any) -> Record:
    """A record whose key is a hash of its canonical form, computed this very moment."""
    canonical = fields.pop("canonical", b"canonical:" + name.encode())
    created = fields.pop("created", None) or time.time()
    values: dict[str, Any] = {
        "key": hashlib.md5(canonical).digest(), "canonical": canonical, "payload": payload, "created": created,
        "fresh_until": created + ttl, "stale_until": created + ttl, "scope": b"scope", "function": "app.ask",
    }  # fmt: skip
    return Record(**values | fields)


async def eventually(holds: Callable[[], Any], *, within: float = PATIENCE) -> None:
    """Return once `holds()` is true; an error where it never is."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, "it does not come about"
        await asyncio.sleep(0.005)


async def served(store: RedisStore, name: str = "q") -> bytes | None:
    """The payload, or None if the store gives none, for whatever reason."""
    wanted = record(name)
    try:
        found = await store.get(wanted.key, wanted.canonical, 2.0)
    except StoreError:
        return None
    return found.payload if found is not None else None


async def reason_of(store: RedisStore, wanted: Record) -> Reason | None:
    """Why the store does not serve the record; None if it does."""
    try:
        found = await store.get(wanted.key, wanted.canonical)
    except Unusable as refusal:
        return refusal.reason
    return None if found is not None else Reason.ABSENT


async def refusal_of(store: RedisStore) -> str:
    """Why it cannot connect."""
    with pytest.raises(StoreFault) as caught:
        await store.start()
    return str(caught.value)


class Skewed:
    """A clock that is wrong by `by` seconds."""

    def __init__(self, by: float) -> None:
        self.by = by

    def time(self) -> float:
        return time.time() + self.by

    def monotonic(self) -> float:
        return time.monotonic()


class Listener:
    """All that `changes` tells."""

    def __init__(self, store: RedisStore) -> None:
        self.store = store
        self.keys: list[bytes] = []
        self.replaced: list[bytes] = []
        self.tags: list[str] = []
        self.scopes: list[bytes] = []
        self.everything = 0

    async def __aenter__(self) -> Listener:
        self._context = self.store.changes()
        self._changes = await self._context.__aenter__()
        self._task = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self._context.__aexit__(None, None, None)

    async def _listen(self) -> None:
        async for change in self._changes:
            assert isinstance(change, Changed)
            self.keys += change.keys
            self.replaced += change.replaced
            self.tags += change.tags
            self.scopes += change.scopes
            self.everything += change.everything
