"""Threads for work that would hold up the loop; made when first needed, and anew in a forked child."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Pool:
    """`workers` threads shared by all loops. What waits for a free one is bounded by those who await it."""

    def __init__(self, workers: int | None, name: str) -> None:
        """`workers` is by default the number of cores this process may use."""
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: pass at least 1, or None for one per core")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._name = name
        self._threads: ThreadPoolExecutor | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def run(self, work: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """`work(*args)` on a thread; a future of the running loop. Cancelling it drops work not begun yet."""
        return asyncio.get_running_loop().run_in_executor(self._executor(), work, *args)

    def close(self) -> None:
        """Let the threads end after what they are at; a later `run` makes new ones."""
        threads, self._threads = self._threads, None
        if threads is not None and self._pid == os.getpid():
            threads.shutdown(wait=False, cancel_futures=True)

    def _executor(self) -> ThreadPoolExecutor:
        pid, pool = os.getpid(), self._threads
        if pool is None or self._pid != pid:
            if self._pid != pid:
                self._lock = threading.Lock()  # the parent's may have been held when it forked
            with self._lock:
                if self._threads is None or self._pid != pid:
                    self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix=self._name)
                    self._pid = pid
                pool = self._threads
        return pool
