"""From when to when the similar tier serves: its model is loaded and let go, its index and its directory opened."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from ..errors import CacheLayerError
from ..flow.attempt import Faults, interrupted
from ..flow.background import Background, offload, offload_whole
from ..flow.waiting import Turns
from ..protocols import Embedder, VectorIndex
from .pairs.verifier import load
from .types import Entry, State

CLOSE_BUDGET = 5.0
"""Seconds that an embedder has to close."""


class Lifetime:
    """The state of a tier, and what changes it."""

    def __init__(self, embedder: Embedder, index: VectorIndex | None, make_index: Callable[[int, str], VectorIndex],
                 faults: Faults, background: Background) -> None:  # fmt: skip
        self.embedder, self.index, self._own_index = embedder, index, index is None
        self.make_index = make_index
        self.restore: Callable[[], Awaitable[None]] | None = None
        """Fills the index before the tier serves, where answers survive a restart."""
        self.leave: Callable[[], Awaitable[None]] | None = None
        """Ends what `restore` began, where the tier does not serve after all."""
        self.outdated: Callable[[Sequence[tuple[Entry, str]]], None] = lambda left: None
        """Told which entries, and made by whom, it has let go of since they proved wrong."""
        self.served: Callable[[], None] = lambda: None
        """Told whenever it begins to serve."""
        self._faults, self._background = faults, background
        self.state = State.COLD
        self.failure, self._failed_at = "", 0.0
        self.retry = 60.0  # seconds after which a start in the background that failed is tried again
        self._loop: asyncio.AbstractEventLoop | None = None
        """On which the model is loaded, while it is."""
        self._starts = Turns()
        self.now: Callable[[], float] = time.monotonic
        """The clock of those who ask."""
        self._closed = -math.inf
        """When it was closed: what was asked before and looks up or is kept late does not start it again."""

    async def start(self) -> None:
        """Load model and index; until then lookups miss with reason WARMING. Raises what the embedder raises."""
        async with self._starts.turn():
            if self.state is not State.READY:
                await self._start()

    async def _start(self) -> None:
        self.state, self._loop = State.WARMING, asyncio.get_running_loop()
        loaded: Embedder | None = None
        try:
            await self.embedder.start()
            loaded = self.embedder
            await offload(load)
            if self.index is None and self.embedder.dimension:
                self.index = self.make_index(self.embedder.dimension, self.embedder.identity)
            if self._own_index:
                await offload_whole(getattr(self.index, "load", lambda: None))
            if self.restore is not None:
                await self.restore()
            if self.state is State.COLD:
                raise CacheLayerError("the layer was closed while it started")
        except BaseException as fault:
            if self.state is State.READY:  # by another's start
                raise
            # closed, its loop ended, or its caller had no time: the next lookup begins again
            ended = interrupted(fault) or self.state is State.COLD
            self.state = State.COLD if ended else State.FAILED
            self.failure = "" if ended else f"{type(fault).__name__}: {fault}"
            self._failed_at = time.monotonic()
            if not isinstance(fault, GeneratorExit):  # what is not started is not closed
                await self._let_all_go(loaded)
            raise
        finally:
            self._loop = None
        self.state, self.failure = State.READY, ""
        self.served()

    def closing(self) -> None:
        """Nothing that was asked so far starts it again; nor does anything until it is closed."""
        self._closed = math.inf

    def warm(self, asked: float) -> None:
        """Start to load the model in the background; again where the loop of that ended, or some time after a fault.

        `asked`: when that arrived which needs it.
        """
        if asked < self._closed:
            return
        left = self._loop is not None and self._loop.is_closed()
        due = self.state is State.FAILED and time.monotonic() - self._failed_at >= self.retry
        if self.state is State.COLD or due or (left and self.state is State.WARMING):
            self.state, self._loop = State.WARMING, asyncio.get_running_loop()
            if not self._background.spawn(partial(self._faults.behind, "warm-up", self.start)):
                self.state, self._loop = State.COLD, None

    def reset(self) -> None:
        """After a fork, nobody here goes on loading the model."""
        self.state = State.COLD if self.state is State.WARMING else self.state
        self._closed = -math.inf

    async def _let_all_go(self, loaded: Embedder | None) -> None:
        if loaded is not None:
            await self.let_go(loaded)
        if self.leave is not None:
            await self.leave()
        if self._own_index:
            await offload_whole(getattr(self.index, "close", lambda: None))

    async def let_go(self, embedder: Embedder) -> None:
        """Release a model that is not to serve; whatever it makes of that is a fault that nobody is told of."""
        await self._faults.attempt("close", embedder.aclose(), CLOSE_BUDGET)
