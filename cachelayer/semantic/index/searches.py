"""Searches an index from coroutines: at once on the loop while that is cheapest, in batches on threads under load."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...flow.batcher import Batcher
from ...flow.pool import Pool
from ...protocols import VectorIndex

LIMIT, DEVICE_LIMIT = 32, 1024
Neighbours = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Scores (k,) descending and ids (k,), padded with -inf and -1."""


class _Search(NamedTuple):
    partition: bytes
    vector: NDArray[np.float32]
    k: int


class Searches:
    """Searches of `index` for many tasks of many loops.

    Searches run on the loop while those of one turn are compared with at most `inline_work` rows together: a hop to a
    thread costs 30-50 us, more than 1,000 rows do. What comes beyond that in the same turn, or while a batch is under
    way, goes in batches of up to LIMIT to `workers` threads, where queries of one partition share a call; but of at
    most `tiny` rows none does. More than `queue` waiting searches are refused with Overloaded.

    What waits for a device, as `index.on_device` says, goes there in one call at a time, of up to DEVICE_LIMIT
    queries: what comes meanwhile shares the next.
    """

    def __init__(
        self,
        index: VectorIndex,
        *,
        workers: int | None = None,
        inline_work: int = 4096,
        tiny: int = 512,
        queue: int = 1024,
    ) -> None:
        self.index = index
        self._work: Callable[[bytes], int] = getattr(index, "work", index.size)
        self._on_device: Callable[[bytes], bool] = getattr(index, "on_device", lambda partition: False)
        self._inline_work, self._tiny = inline_work, tiny
        self._pool = Pool(workers, "cachelayer-search")
        self._batcher: Batcher[_Search, Neighbours] = Batcher(
            self._call, limit=LIMIT, concurrency=self._pool.workers, queue=queue
        )
        self._device: Batcher[_Search, Neighbours] = Batcher(self._call, limit=DEVICE_LIMIT, queue=queue)
        self._turn: asyncio.AbstractEventLoop | None = None
        """The loop whose turn has had searches."""
        self._spent = 0
        """Rows that they were compared with."""

    async def search(
        self, partition: bytes, vector: NDArray[np.float32], k: int, *, deadline: float = float("inf")
    ) -> Neighbours:
        """The k nearest to `vector` (d,). Raises what the index raises, and Overloaded."""
        loop = asyncio.get_running_loop()
        work = self._work(partition)
        if self._turn is not loop:
            self._turn, self._spent = loop, 0
            loop.call_soon(self._next_turn)
        if work <= self._tiny or (self._spent + work <= self._inline_work and not self._batcher.busy):
            self._spent += work
            scores, ids = self.index.search(partition, vector[None], k)
            return scores[0], ids[0]
        batcher = self._device if self._on_device(partition) else self._batcher
        return await batcher.submit(_Search(partition, vector, k), scope=partition, deadline=deadline)

    async def aclose(self) -> None:
        """End what waits on this loop, and the threads."""
        await self._batcher.aclose()
        await self._device.aclose()
        self._pool.close()

    def stats(self) -> dict[str, float]:
        """Statistics of what went to threads and to a device."""
        return self._batcher.stats() | {f"device_{k}": v for k, v in self._device.stats().items()}

    def _next_turn(self) -> None:
        self._turn = None

    async def _call(self, searches: Sequence[_Search]) -> list[Neighbours | BaseException]:
        return await self._pool.run(self._search_all, searches)

    def _search_all(self, searches: Sequence[_Search]) -> list[Neighbours | BaseException]:
        alike: dict[tuple[bytes, int], list[int]] = defaultdict(list)
        for place, one in enumerate(searches):
            alike[one.partition, one.k].append(place)
        out: list[Neighbours | BaseException] = [RuntimeError("not searched")] * len(searches)
        for (partition, k), places in alike.items():
            try:
                found = self.index.search(partition, np.stack([searches[i].vector for i in places]), k)
            except ValueError as fault:
                for i in places:
                    out[i] = self._alone(searches[i]) if len(places) > 1 else fault
            else:
                for i, scores, ids in zip(places, *found, strict=True):
                    out[i] = (scores, ids)
        return out

    def _alone(self, one: _Search) -> Neighbours | BaseException:
        """One bad vector must not spoil its neighbours in the batch."""
        try:
            scores, ids = self.index.search(one.partition, one.vector[None], one.k)
            return scores[0], ids[0]
        except ValueError as fault:
            return fault
