"""Stores of one's own, in a dict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from cachelayer.types import Record


class Lease:
    """Until it is released, other processes wait."""

    released = False

    async def release(self) -> None:
        self.released = True


class Shelf:
    """A store in a dict, which leaves budgets to the layer."""

    name = "shelf"

    def __init__(self) -> None:
        self.held: dict[bytes, Record] = {}
        self.given: list[Lease] = []
        self.leases: list[object] = []
        """Those that came with what was written."""
        self.stuck = False

    async def start(self) -> None: ...

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        if self.stuck:
            await asyncio.Event().wait()
        return self.held.get(key)

    async def put(self, records: Sequence[Record], leases: Sequence[object] = ()) -> None:
        self.held.update((record.key, record) for record in records)
        self.leases += leases

    async def delete(self, keys: Sequence[bytes]) -> int:
        return sum(self.held.pop(key, None) is not None for key in keys)

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None: ...

    async def acquire(self, key: bytes, ttl: float) -> Lease:
        self.given.append(Lease())
        return self.given[-1]

    async def wait(self, key: bytes, timeout: float) -> None: ...

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Any]]:
        yield _nothing()

    async def aclose(self) -> None: ...


class SlowShelf(Shelf):
    """Gives what it held when it was asked once `giving` is set, and forgets once `hearing` is."""

    def __init__(self) -> None:
        super().__init__()
        self.giving, self.told, self.hearing = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.giving.set()

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        found = self.held.get(key)
        await self.giving.wait()
        return found

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        await self.delete([key for key, one in self.held.items() if {*one.tags} & {*tags}])

    async def delete(self, keys: Sequence[bytes]) -> int:
        self.told.set()
        await self.hearing.wait()
        return await super().delete(keys)


async def _nothing() -> AsyncIterator[Any]:
    await asyncio.Event().wait()
    yield
