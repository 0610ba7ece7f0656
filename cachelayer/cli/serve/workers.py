"""Several processes that serve: started, watched, replaced, told to end; nothing here waits for one of them alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any

from ...errors import CacheLayerError
from .logs import say

LOADING = 600.0
"""Seconds that a worker has until it serves: a machine that is short of CPU time may need minutes."""
PATIENCE = 30.0
"""Seconds of silence after which one that served is killed; and what each has beyond the drain to end in."""
EVERY = 0.5
"""Seconds between two looks, and between two signs of life."""
SOON = 0.05
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds until the next start, after so many workers in a row that ended before they served."""
FAILED = 3
"""The exit status where no worker came to serve; uvicorn's and gunicorn's, too."""

_SPAWN = multiprocessing.get_context("spawn")


class Worker:
    """A process, and what is known of it by what it says through `news`."""

    def __init__(self, process: Any, news: Connection) -> None:
        self._process, self.news = process, news
        self.pid, self.sentinel = process.pid, process.sentinel
        self.serves, self._silent = False, 0.0

    @property
    def ended(self) -> str:
        """How it ended; "" while it runs."""
        code = self._process.exitcode
        if code is None:
            return ""
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def hangs(self, passed: float) -> bool:
        """Hear what it said. `passed`: seconds since the last look, of which few count: a supervisor that was held up
        itself, as on a machine that stood still, blames nobody for it."""
        self._silent += min(passed, 2 * EVERY)
        with suppress(OSError, EOFError):  # it ended
            while self.news.poll():
                self.news.recv()
                self.serves, self._silent = True, 0.0
        return self._silent > (PATIENCE if self.serves else LOADING)

    def tell(self, what: int) -> None:
        """Send it a signal."""
        if not self.ended:
            os.kill(self.pid, what)

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.join(EVERY)


def begun(serve: Callable[..., None], *given: Any) -> Worker:
    """A process in which `serve` is called with `given` and its `Reporting`."""
    ours, its = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_begin, args=(serve, given, its))
    with _held_back(signal.SIGINT, signal.SIGHUP):
        process.start()
    its.close()  # or this pipe would not tell that the process ended
    return Worker(process, ours)


class Reporting:
    """The end of the pipe that a worker has."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def start(self, serves: Callable[[], bool]) -> None:
        """Tell the supervisor as soon as it serves, and from then on. Ctrl-C reaches this process again: whoever calls
        has seen to it."""
        Thread(target=self._tell, args=(serves,), name="cachelayer-supervisor", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def _tell(self, serves: Callable[[], bool]) -> None:
        """Once the supervisor is gone (killed, or out of memory), drain and end: nobody else could tell this worker to,
        and it held the port."""
        while not serves():
            time.sleep(SOON)
        with suppress(OSError):
            while True:
                self._pipe.send(None)
                time.sleep(EVERY)
        os.kill(os.getpid(), signal.SIGTERM)


def _begin(serve: Callable[..., None], given: tuple[Any, ...], pipe: Connection) -> None:
    """In the new process."""
    try:
        serve(*given, Reporting(pipe))
    except CacheLayerError as fault:
        say(str(fault))
        raise SystemExit(2) from None


@contextmanager
def _held_back(*what: signal.Signals) -> Iterator[None]:
    """A terminal sends them to each of its processes, also to one that is just starting."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, what)
    try:
        resource_tracker.ensure_running()  # it lets SIGINT through again as it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, what)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers:
    """Keeps `number` of them at work. `renewed` takes in the settings as they stand, for those started from then on,
    and tells whether it did; `unusable` tells why none could start now, or ""; `closed` is called when no more are."""

    def __init__(
        self,
        start: Callable[[], Any],
        *,
        number: int,
        drain: float,
        renewed: Callable[[], bool],
        unusable: Callable[[], str],
        closed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start, self._number, self._drain = start, number, drain
        self._renewed, self._unusable, self._closed, self._clock = renewed, unusable, closed, clock
        self.told: deque[int] = deque()
        """Signals that came and were not heeded yet."""
        self.status = 0
        self.at_work: list[Any] = []
        self._leaving: dict[Any, float] = {}
        """Those told to end, and when they are killed."""
        self._old: list[Any] = []
        """Those still to be replaced in a restart, one after the other."""
        self._next: Any = None
        """Who takes the place of the first of them as soon as it serves."""
        self._ever_served = self._stops = False
        self._failures = 0
        self._not_before = self._looked = clock()
        self._held_up = ""

    def run(self) -> int:
        """Until told to stop, or until there is no use; the exit status."""
        heard, woken = os.pipe()
        os.set_blocking(woken, False)

        def tell(what: int, frame: object) -> None:
            self.told.append(what)
            with suppress(BlockingIOError):
                os.write(woken, b"\0")

        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(one, tell)  # for good: who is told again on the way out does not die of it
        while self.step():
            events = [one.sentinel for one in (*self.at_work, *self._leaving)]
            begins = [one.news for one in self.at_work if not one.serves]
            if heard in wait([heard, *events, *begins], EVERY):
                os.read(heard, 4096)
        return self.status

    def step(self) -> bool:
        """One look at everything; whether to go on."""
        now = self._clock()
        passed, self._looked = now - self._looked, now
        while self.told:
            self._heed(self.told.popleft())
        self._see_off(now)
        if self._stops:
            return bool(self._leaving)
        for one in [*self.at_work]:
            self._check(one, passed)
        if self._failures and not self.at_work and not self._ever_served:
            say("no worker came to serve, so this ends")
            self._closed()
            self.status = FAILED
            return False
        self._restart()
        self._fill_up(now)
        return True

    def _heed(self, told: int) -> None:
        if told in (signal.SIGTERM, signal.SIGINT):
            if self._stops and told == signal.SIGINT:
                for one in self._leaving:
                    one.tell(told)
            self._stop()
        elif told == signal.SIGTTIN:
            self._number += 1
        elif told == signal.SIGTTOU:
            self._number = max(1, self._number - 1)
        elif not self._stops and self._renewed():
            if self._next is not None:
                self._let_go(self._next)
            self._old, self._next = [*self.at_work], None
            self._failures, self._not_before = 0, self._clock()

    def _stop(self) -> None:
        """No new connections: the kernel takes them for as long as any process has the sockets."""
        if not self._stops:
            self._stops = True
            self._closed()
            for one in [*self.at_work]:
                self._let_go(one)

    def _let_go(self, one: Any) -> None:
        self.at_work.remove(one)
        one.tell(signal.SIGTERM)
        self._leaving[one] = self._clock() + self._drain + PATIENCE

    def _see_off(self, now: float) -> None:
        for one, until in [*self._leaving.items()]:
            if one.ended:
                del self._leaving[one]
            elif now >= until:
                say(f"the worker {one.pid} was told to end and did not; it was killed")
                one.kill()
                del self._leaving[one]

    def _check(self, one: Any, passed: float) -> None:
        """Take a worker out that ended, or that is of no use any more."""
        ended, served = one.ended, one.serves
        hangs = one.hangs(passed) and not ended
        if one.serves and not served:
            self._ever_served, self._failures = True, 0
        if hangs:
            one.kill()
        elif not ended:
            return
        self.at_work.remove(one)
        how = "gave no sign of life, and was killed" if hangs else f"ended ({ended})"
        if one.serves:
            say(f"the worker {one.pid} {how}; another is to take its place")
            return
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures, self._not_before = self._failures + 1, self._clock() + pause
        then = f"; another is started in {pause:.0f} s" if self._ever_served and one is not self._next else ""
        say(f"the worker {one.pid} {how} before it served{then}")

    def _restart(self) -> None:
        """One at a time, and the next one only when its predecessor has ended: no more memory than for one more."""
        self._old = [one for one in self._old if one in self.at_work]
        if self._next is None:
            if self._old and not self._leaving:
                self._next = self._start()
                self.at_work.append(self._next)
        elif self._next not in self.at_work:
            say("the restart of the workers ends here: those that are left go on")
            self._old, self._next = [], None
        elif not self._old:
            self._next = None
        elif self._next.serves:
            self._next = None
            self._let_go(self._old.pop(0))

    def _fill_up(self, now: float) -> None:
        """Who ended before anybody served is not replaced: that may be over in a moment, or never."""
        wanted = self._number + (self._next is not None)
        while len(self.at_work) > wanted:
            self._let_go(self.at_work[-1])
        if (
            len(self.at_work) == wanted
            or now < self._not_before
            or (self._failures and not self._ever_served)
        ):
            return
        before, self._held_up = self._held_up, self._unusable()
        if self._held_up and self._held_up != before:
            say(f"{self._held_up}; no worker can be started until then")
        while len(self.at_work) < wanted and not self._held_up:
            self.at_work.append(self._start())
