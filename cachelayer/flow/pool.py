"""Threads for work that would hold up the loop; made when first needed, and anew in a forked child.

A job is one put to a queue and a result one append to a list; results that come while the loop is being woken ride
along. (An executor's job makes two futures with a lock each, and wakes the loop for every result.)
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = 5.0
"""Seconds for which the end of the process waits for a working thread."""


class Pool:
    """`workers` threads shared by all loops. The queue is bounded only by how many callers await results."""

    def __init__(self, workers: int | None, name: str) -> None:
        """`workers` is by default the number of cores this process may use."""
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: pass at least 1, or None for one per core")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._name = name
        self._forget()

    def _forget(self) -> None:
        """After a fork threads and locks are the parent's."""
        self._lock = threading.Lock()
        self._crew: _Crew | None = None
        self._lanes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Lane] = weakref.WeakKeyDictionary()
        self._latest: _Lane | None = None
        self._pid = os.getpid()

    def run(self, work: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """`work(*args)` on a thread; a future of the running loop. Cancelling it drops work not begun yet."""
        if self._pid != os.getpid():
            self._forget()
        loop, lane = asyncio.get_running_loop(), self._latest
        if lane is None or lane.loop() is not loop:
            with self._lock:
                lane = self._latest = self._lanes.setdefault(loop, _Lane(loop))
        job = _Job(loop.create_future(), lane, work, args)
        with self._lock:
            crew = self._crew
            if crew is None:
                crew = self._crew = _Crew(self._name)
            if len(crew.threads) < self.workers:
                crew.grow()
            crew.jobs.put(job)
        return job.future

    def close(self) -> None:
        """Let the threads finish their current work and end, and cancel what waits; a later `run` makes new ones."""
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()


class _Job:
    """One work, and where its result goes."""

    __slots__ = ("args", "fault", "future", "lane", "result", "work")

    def __init__(
        self, future: asyncio.Future[Any], lane: _Lane, work: Callable[..., Any], args: tuple[object, ...]
    ) -> None:
        self.future, self.lane, self.work, self.args = future, lane, work, args
        self.result: Any = None
        self.fault: BaseException | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Whatever the work raised goes to its awaiter, and nowhere else."""
        self.fault = RuntimeError("the work raised StopIteration") if kind is StopIteration else fault
        return True

    def settle(self) -> None:
        """Tell the awaiter; on the loop."""
        if self.future.done():
            return
        if self.fault is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.fault)


class _Lane:
    """The way back to one loop."""

    __slots__ = ("_done", "_waking", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = weakref.ref(loop)
        self._done: deque[_Job] = deque()
        self._waking = False

    def deliver(self, job: _Job) -> None:
        """Called by a thread. The loop may be gone."""
        self._done.append(job)
        if not self._waking:
            self._waking = True
            self.call(self._settle)

    def call(self, callback: Callable[[], object]) -> None:
        """Call on the loop, from any thread, unless it is gone."""
        loop = self.loop()
        if loop is not None:
            with suppress(RuntimeError):  # closed
                loop.call_soon_threadsafe(callback)

    def _settle(self) -> None:
        self._waking = False  # what comes from here on wakes the loop again
        while self._done:
            self._done.popleft().settle()


class _Crew:
    """Threads and what waits for them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.threads: list[threading.Thread] = []
        self._ending = weakref.finalize(self, _end, self.jobs, self.threads, os.getpid())

    def grow(self) -> None:
        """Start one more thread."""
        name = f"{self._name}_{len(self.threads)}"
        thread = threading.Thread(target=_work, args=(self.jobs,), name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Nothing may be put any more."""
        self._ending.detach()
        with suppress(Empty):
            while True:
                job = self.jobs.get_nowait()
                if job is not None:
                    job.lane.call(job.future.cancel)
        for thread in self.threads:
            self.jobs.put(None)
            weakref.finalize(thread, _let_end, weakref.ref(thread), os.getpid())


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        if not job.future.cancelled():
            with job:
                job.result = job.work(*job.args)
            job.lane.deliver(job)
        del job


def _end(jobs: SimpleQueue[_Job | None], threads: list[threading.Thread], pid: int) -> None:
    """The pool is gone or the process ends: no thread may be inside a library while that is being unloaded."""
    if pid != os.getpid():
        return
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(PATIENCE)


def _let_end(at_work: weakref.ref[threading.Thread], pid: int) -> None:
    """The process ends after its pool was closed: wait for what threads are doing, perhaps inside a library."""
    thread = at_work()
    if thread is not None and pid == os.getpid():
        thread.join(PATIENCE)
