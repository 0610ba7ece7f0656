"""A loop of the layer's own, in a thread, for plain functions whose tiers are asynchronous; started when needed."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..errors import CacheLayerError
from .attempt import Faults, interrupted

T = TypeVar("T")


class Portal:
    """Runs coroutines for threads without a loop. `run` blocks; `close`, or dropping the portal, ends its thread."""

    _dropped: weakref.finalize[Any, Portal] | None = None

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.reset()

    def reset(self) -> None:
        """Forget the thread: after a fork the child has none."""
        self._kept()
        self._lock = threading.RLock()  # a stream that the collector drops meanwhile may come here, too
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def _begun(self) -> asyncio.AbstractEventLoop:
        """The portal's loop, running. Under the lock, so that whatever is given to it is there before it closes."""
        if self._loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_serve, args=(loop,), name="cachelayer", daemon=True)
            try:
                thread.start()
            except BaseException:  # whoever waited for a loop that does not run would wait for ever
                loop.close()
                raise
            self._loop, self._thread = loop, thread
            self._dropped = weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)
            self._dropped.atexit = False
        return self._loop

    @property
    def running(self) -> bool:
        """Whether the thread has been started."""
        return self._loop is not None

    @property
    def here(self) -> bool:
        """Whether this is the portal's own thread, in which nobody may wait for it."""
        return self._thread is threading.current_thread()

    def soon(self, act: Callable[..., Any], *args: Any) -> None:
        """Call `act` now if a loop runs in this thread, else soon on the portal's loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.post(act, *args)
        else:
            act(*args)

    def post(self, act: Callable[..., Any], *args: Any) -> None:
        """Call `act` soon on the portal's loop; not at all if the system grants no thread for that."""
        with self._lock, self._faults.guard("thread"):
            self._begun().call_soon_threadsafe(act, *args)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, run on the portal's loop; blocks this thread.

        Raises CacheLayerError in the portal's own thread, where coroutines of the layer may call plain code, and
        whatever the system raises if it grants no thread or no descriptors for a loop.
        """
        if self.here:
            work.close()
            raise CacheLayerError(
                "the layer's own loop calls this, which waits for that loop: await it instead"
            )
        with self._lock:
            try:
                loop = self._begun()
            except BaseException:
                work.close()
                raise
            running = asyncio.run_coroutine_threadsafe(work, loop)
        return running.result()

    async def arun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """`work()` on the portal's loop, awaited from another; None if the portal was never needed, or closes."""
        with self._lock:
            if self._loop is None:
                return None
            running = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError as end:
            if interrupted(end):
                raise
            return None

    def close(self) -> None:
        """Cancel what still runs, stop the loop and join the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            self._kept()
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _kept(self) -> None:
        if self._dropped is not None:
            self._dropped.detach()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
