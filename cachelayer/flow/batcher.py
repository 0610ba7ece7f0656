"""Micro-batcher: concurrent awaits become one call; in an idle system nothing is delayed.

What arrives while a call is under way leaves together when that returns (group commit), so batches grow with the load
by themselves, and no timer holds anything back.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from ..errors import CacheLayerError
from ..types import Reason
from .loops import left_behind

T = TypeVar("T")
R = TypeVar("R")
_SMOOTHING = 0.2
"""Weight of the newest measurement in the estimate of a call's pace."""


class Overloaded(CacheLayerError):
    """Work was refused rather than queued without bound, or came too late; `reason` says which."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(eq=False, slots=True)
class _Item:
    value: Any
    scope: Hashable
    weight: float
    deadline: float
    future: asyncio.Future[Any]
    batch: _Batch | None = None


@dataclass(eq=False, slots=True)
class _Batch:
    items: list[_Item]
    weight: float = 0.0
    riders: int = 0
    """Callers who still wait."""
    task: asyncio.Task[Sequence[Any]] | None = None


class Batcher(Generic[T, R]):
    """Turns concurrent `submit(item)` into calls of `call(items)`, which returns one result or exception per item.

    A call takes at most `limit` items and `max_weight` of `weigh(item)` (tokens, rows; one item always fits), and
    no more than are likely to be done by the earliest deadline among them. Scopes take turns, an item each.
    `concurrency` calls run at once; one makes a single owner of a device. Beyond `queue` waiting items `submit`
    raises Overloaded (OVERLOAD); an item whose deadline passed while it waited gets Overloaded (BUDGET).
    Every loop has a queue of its own; nothing is shared between loops but the settings.
    """

    def __init__(
        self,
        call: Callable[[Sequence[T]], Coroutine[Any, Any, Sequence[R | BaseException]]],
        *,
        limit: int = 64,
        max_weight: float = float("inf"),
        weigh: Callable[[T], float] | None = None,
        concurrency: int = 1,
        queue: int = 1024,
    ) -> None:
        for name, value in {"limit": limit, "concurrency": concurrency, "queue": queue}.items():
            if value < 1:
                raise ValueError(f"{name}={value}: at least 1")
        self.call, self.weigh = call, weigh or _one
        self.alike = weigh is None and max_weight == float("inf")
        self.limit, self.max_weight = limit, max_weight
        self.concurrency, self.queue = concurrency, queue
        self.calls = self.items = self.shed = 0
        self.reset()

    def reset(self) -> None:
        """Forget all queues: after a fork they are the parent's."""
        self._lanes: dict[asyncio.AbstractEventLoop, _Lane] = {}
        self._latest: _Lane | None = None
        self._pid = os.getpid()

    async def submit(self, item: T, *, scope: Hashable = None, deadline: float = float("inf")) -> R:
        """The item's result. `deadline` is a time of the running loop's clock, in seconds."""
        lane = self._lane()
        if lane.waiting >= self.queue:
            self.shed += 1
            raise Overloaded(f"{lane.waiting} items wait already", Reason.OVERLOAD)
        entry = _Item(item, scope, self.weigh(item), deadline, lane.loop.create_future())
        lane.enqueue(entry)
        try:
            result: R = await entry.future
            return result
        except asyncio.CancelledError:
            lane.leave(entry)
            raise

    async def aclose(self) -> None:
        """Cancel what is under way or waits on this loop."""
        lane, self._latest = self._lanes.pop(asyncio.get_running_loop(), None), None
        if lane is not None:
            await lane.aclose()

    @property
    def busy(self) -> bool:
        """Whether something is under way or waits on the running loop."""
        lane = self._lane()
        return lane.waiting > 0 or lane.running > 0

    def stats(self) -> dict[str, float]:
        """Calls made, items in them, items per call, items shed, items that wait."""
        mean = self.items / self.calls if self.calls else 0.0
        waiting = sum(lane.waiting for lane in list(self._lanes.values()))
        counts = {"calls": self.calls, "items": self.items, "mean": mean, "shed": self.shed}
        return {**counts, "waiting": waiting}

    def _lane(self) -> _Lane:
        if self._pid != os.getpid():
            self.reset()
        loop, lane = asyncio.get_running_loop(), self._latest
        if lane is None or lane.loop is not loop:
            lane = self._lanes.get(loop)
            if lane is None:
                left_behind(self._lanes)
                lane = self._lanes[loop] = _Lane(self, loop)
            self._latest = lane
        return lane


class _Lane:
    """The queue of one loop."""

    def __init__(self, owner: Batcher[Any, Any], loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting = 0
        self._owner = owner
        self._scopes: dict[Hashable, dict[_Item, None]] = {}
        """Waiting items by scope; the first scope is the next to take its turn."""
        self._running: set[_Batch] = set()
        self._pace = 0.0
        """Seconds per unit of weight, smoothed."""
        self._due = False
        self._dated = 0
        """Waiting items with a deadline."""

    @property
    def running(self) -> int:
        """Calls under way."""
        return len(self._running)

    def enqueue(self, item: _Item) -> None:
        self._scopes.setdefault(item.scope, {})[item] = None
        self.waiting += 1
        self._dated += item.deadline < math.inf
        if not self._due and len(self._running) < self._owner.concurrency:
            self._due = True  # at the end of this turn of the loop: what is submitted in it rides along
            self.loop.call_soon(self._start)

    def leave(self, item: _Item) -> None:
        """A caller was cancelled: its item goes, and the call with the last rider."""
        batch = item.batch
        if batch is not None:
            batch.riders -= 1
            if batch.riders == 0 and batch.task is not None:
                batch.task.cancel()
        elif item in self._scopes.get(item.scope, {}):
            self._take(item)

    async def aclose(self) -> None:
        for item in [item for queue in self._scopes.values() for item in queue]:
            _settle(self._take(item).future, Overloaded("the batcher was closed", Reason.FAULT))
        tasks = [batch.task for batch in self._running if batch.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _start(self) -> None:
        self._due = False
        owner = self._owner
        while self.waiting and len(self._running) < owner.concurrency:
            batch = self._gather()
            if not batch.items:
                return
            owner.calls += 1
            owner.items += len(batch.items)
            self._running.add(batch)
            batch.task = self.loop.create_task(owner.call([item.value for item in batch.items]))
            batch.task.add_done_callback(partial(self._landed, batch, self.loop.time()))

    def _gather(self) -> _Batch:
        """The next batch: one item a scope in turn, up to the limits and the earliest deadline."""
        owner, now = self._owner, self.loop.time()
        batch, earliest = _Batch([]), float("inf")
        if len(self._scopes) == 1 and owner.alike and not self._dated:
            return self._first(batch)
        while self._scopes and len(batch.items) < owner.limit:
            scope, queue = next(iter(self._scopes.items()))
            item = next(iter(queue))
            if item.deadline < now:
                owner.shed += 1
                _settle(self._take(item).future, Overloaded("too late", Reason.BUDGET))
                continue
            weight, earliest = batch.weight + item.weight, min(earliest, item.deadline)
            if batch.items and (weight > owner.max_weight or now + weight * self._pace > earliest):
                break
            batch.items.append(self._take(item))
            item.batch, batch.weight = batch, weight
            if queue:
                self._scopes[scope] = self._scopes.pop(scope)
        batch.riders = len(batch.items)
        return batch

    def _first(self, batch: _Batch) -> _Batch:
        """The same where items are of one scope and one weight, and none has a deadline."""
        ((scope, queue),) = self._scopes.items()
        batch.items = list(islice(queue, self._owner.limit))
        batch.riders = count = len(batch.items)
        batch.weight = float(count)
        for item in batch.items:
            item.batch = batch
        if count == len(queue):
            del self._scopes[scope]
        else:
            for item in batch.items:
                del queue[item]
        self.waiting -= count
        return batch

    def _take(self, item: _Item) -> _Item:
        queue = self._scopes[item.scope]
        del queue[item]
        self._dated -= item.deadline < math.inf
        if not queue:
            del self._scopes[item.scope]
        self.waiting -= 1
        return item

    def _landed(self, batch: _Batch, started: float, task: asyncio.Task[Sequence[Any]]) -> None:
        results: Sequence[Any]
        if task.cancelled():
            results = [Overloaded("the call was cancelled", Reason.FAULT)] * len(batch.items)
        elif (fault := task.exception()) is not None:
            results = [fault] * len(batch.items)
        else:
            results = task.result()
            if len(results) != len(batch.items):
                short = RuntimeError(f"the call returned {len(results)} results for {len(batch.items)} items")
                results = [short] * len(batch.items)
            pace = (self.loop.time() - started) / max(batch.weight, 1e-9)
            self._pace += (pace - self._pace) * (_SMOOTHING if self._pace else 1.0)
        for item, result in zip(batch.items, results, strict=True):
            _settle(item.future, result)
        self._running.discard(batch)
        self._start()


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():
        return
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)


def _one(item: object) -> float:
    return 1.0
