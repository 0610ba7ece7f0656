"""Single-flight: one call per key, whoever asks, from any task, loop or thread.

The call belongs to the flight's own task; callers ride on futures of their own, so one caller's cancellation leaves
the others alone, and the last one's leaving cancels the call. An error reaches all riders and is not kept.

A call on a loop becomes a flight only when it first waits: before that nobody else can run on its loop, and a call that
never waits is spared the trouble.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import get_running_loop
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ..protocols import Clock
from .eager import Starter, heard
from .flight import Flight, joinable
from .loops import Waiter, needed_loop, running_loop, settle
from .reentrancy import MOST, WITHIN, Alone, Made, apart, outside

A = TypeVar("A")


class SingleFlight:
    """All flights of a layer. Thread-safe. Whoever joins a flight has its `key` and its `proof`, compared in full: a
    digest may be the key of what would take long to hash."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self.reset()

    def reset(self) -> None:
        """Forget all flights: after a fork, the child owns none of its parent's."""
        self._lock = threading.RLock()  # a stream that the collector drops meanwhile closes its flight
        self.starter = Starter()
        self._flights: dict[Hashable, Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._flights

    def ride(
        self,
        key: Hashable,
        start: Callable[[A], Coroutine[Any, Any, Any]],
        given: A,
        wait: float,
        max_age: float,
        proof: bytes = b"",
    ) -> tuple[Any, bool] | Coroutine[Any, Any, tuple[Any, bool]]:
        """(result, whether this caller led). An awaitable of it, unless the caller led and `start(given)` never waited.

        `wait`: seconds that a rider waits at most. `max_age`: of a flight that may still be joined, in seconds. Raises
        Alone to a rider that should make a call of its own, Itself to one that the flight itself waits for, and
        whatever the call raised.
        """
        loop, around = needed_loop(), WITHIN.get()
        if around:
            outside(around, proof)
        if key in self._flights and (flight := self._up(key, proof, max_age)) is not None:
            waiter: asyncio.Future[Any] = loop.create_future()
            self._wait(flight, waiter, loop)
            return self._await(key, flight, waiter, wait)
        followers: list[Callable[[Any], object]] = []
        made = Made(proof)
        try:
            task, result = self.starter.start(loop, start(given), followers, (*around[-MOST:], made))
        except BaseException:
            made.proof = None
            raise
        if task is not None:
            waiter = loop.create_future()
            flight = self._flying(key, Flight(self._now(), loop, proof, made, waiter), task)
            followers.append(partial(self._deliver, key, flight))
            return self._await(key, flight, waiter, None)
        if joinable(result):  # who comes in this turn, at least, shares it
            self._flying(key, Flight(self._now(), loop, proof, made), None, result)
        else:
            made.proof = None
        return result, True

    async def _await(
        self, key: Hashable, flight: Flight, waiter: asyncio.Future[Any], wait: float | None
    ) -> tuple[Any, bool]:
        """`wait`: of a rider; None of the caller who led."""
        led = wait is None
        patience = None if wait is None else waiter.get_loop().call_later(wait, settle, waiter, None, Alone())
        try:
            result = await waiter
            if not led:
                flight.unread(woken=True)
            return result, led
        except (asyncio.CancelledError, Alone):
            self._leave(key, flight, waiter)
            if led and flight.task is not None and flight.task.cancelled():
                flight.task.result()  # raises what the call itself ended in, which is not to be made twice
            raise
        finally:
            if patience is not None:
                patience.cancel()
            del flight, waiter  # which lead to an error that holds this frame; so below

    def ride_sync(
        self, key: Hashable, call: Callable[[], Any], wait: float, max_age: float, proof: bytes = b""
    ) -> tuple[Any, bool]:
        """The same for threads: the leader calls in its own thread; riders block, unless that would block a loop."""
        loop, around, made = running_loop(), WITHIN.get(), Made(proof)
        outside(around, proof)
        with self._lock:
            flight = self._up(key, proof, max_age)
            led = flight is None
            if flight is None:
                flight = self._flights[key] = Flight(self._now(), None, proof, made)
        if not led:
            waiter: Future[Any] = Future()
            self._wait(flight, waiter, None)
            if not waiter.done() and loop is not None:
                self._leave(key, flight, waiter)
                raise Alone  # waiting here would stop what has to land the flight, or may have to
            try:
                error = waiter.exception(wait)
            except TimeoutError:
                self._leave(key, flight, waiter)
                raise Alone from None
            if error is not None:
                try:
                    raise error.with_traceback(flight.trace)
                finally:
                    del flight, waiter, error
            return waiter.result(), False
        token = WITHIN.set((*around[-MOST:], made))
        try:
            result = call()
        except BaseException as error:
            # what ends this thread (Ctrl-C, exit) is none of its riders'
            self._deliver(key, flight, None, error if isinstance(error, Exception) else Alone())
            del flight
            raise
        finally:
            WITHIN.reset(token)
        self._deliver(key, flight, result, None)
        return result, True

    def launch(
        self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Any]], *, max_age: float, proof: bytes = b""
    ) -> None:  # fmt: skip
        """Start a flight that nobody waits for, on the running loop, unless one is under way."""
        if self._up(key, proof, max_age) is None:
            loop = get_running_loop()
            nobody: asyncio.Future[Any] = loop.create_future()
            nobody.add_done_callback(heard)
            made = Made(proof)
            # a task factory of before Python 3.11 knows no context
            task = apart(made).run(loop.create_task, start())
            self._flying(key, Flight(self._now(), loop, proof, made, nobody), task)

    def awaited(self, key: Hashable) -> bool:
        """Whether anybody but its leader waits for what is in the air."""
        with self._lock:
            flight = self._flights.get(key)
            return flight is not None and any(one is not flight.first for one in flight.waiters or ())

    def close(self, key: Hashable, result: Any) -> None:
        """Let nobody join the landed flight that carries `result` any more."""
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None and flight.result is result:
                del self._flights[key]
                flight.made.proof = None

    def _up(self, key: Hashable, proof: bytes, max_age: float) -> Flight | None:
        """The flight that may still be joined."""
        flight = self._flights.get(key)
        if flight is None or flight.proof != proof or self._now() - flight.born > max_age:
            return None
        # one whose loop was closed under it, or stands still, does not land
        return flight if flight.loop is None or flight.loop.is_running() else None

    def _flying(
        self, key: Hashable, flight: Flight, task: asyncio.Task[Any] | None, result: Any = None
    ) -> Flight:
        """The flight of a call that is under way in `task`, or landed with a live `result`; joinable from now on."""
        flight.task, flight.result, flight.landed = task, result, task is None
        with self._lock:
            self._flights[key] = flight
        if task is not None:
            task.add_done_callback(partial(self._land, key, flight))
        return flight

    def _wait(self, flight: Flight, waiter: Waiter, loop: asyncio.AbstractEventLoop | None) -> None:
        with self._lock:
            if not flight.landed:
                if flight.waiters is None:
                    flight.waiters = {}
                flight.waiters[waiter] = loop
                return
        # a stream that is still being recorded, or a flight that landed a moment ago: its leader begins to read first
        own = Alone() if flight.error or flight.loop is not loop else None
        if loop is None:
            settle(waiter, flight.result, own)
        else:
            loop.call_soon(settle, waiter, flight.result, own)

    def _land(self, key: Hashable, flight: Flight, task: asyncio.Task[Any]) -> None:
        if flight.landed:  # its riders were told in its task's last step
            return
        if task.cancelled():
            self._deliver(key, flight, None, Alone())
        elif (error := task.exception()) is not None:
            self._deliver(key, flight, None, error)
        else:
            self._deliver(key, flight, task.result(), None)

    def _deliver(
        self, key: Hashable, flight: Flight, result: Any, error: BaseException | None = None
    ) -> None:
        recording = None if error is not None else getattr(result, "recording", None)
        flights = self._flights
        with self._lock:
            waiters, flight.waiters, flight.first = flight.waiters, None, None
            flight.landed = True
            flight.result = result
            # one that has ended, maybe in a thread just now, will not close its flight
            live = recording is not None and not recording.ended
            if error is not None:
                flight.error, flight.trace = True, error.__traceback__
            if not (open_to_all := live and joinable(result)):
                flight.made.proof = None
            if flights.get(key) is flight and not (open_to_all and (waiters or flight.task is None)):
                del flights[key]
        if waiters is None:
            return
        if live and not waiters:
            flight.unread()
        for waiter, loop in waiters.items():
            # a recording lives on one loop
            own = Alone() if recording is not None and loop is not flight.loop else error
            if loop is None or loop is flight.loop:
                settle(waiter, result, own)
            else:
                with suppress(RuntimeError):  # closed
                    loop.call_soon_threadsafe(settle, waiter, result, own)

    def _leave(self, key: Hashable, flight: Flight, waiter: Waiter) -> None:
        with self._lock:
            if flight.waiters is not None:
                flight.waiters.pop(waiter, None)
            empty = not flight.waiters and not flight.landed and flight.task is not None
            if empty and self._flights.get(key) is flight:
                del self._flights[key]
        if flight.landed and flight.loop is running_loop():
            flight.unread()
        if empty and flight.task is not None and flight.loop is not None:
            if flight.loop is running_loop():
                flight.loop.call_soon(flight.task.cancel)  # not before its first step was taken over
            else:
                with suppress(RuntimeError):  # closed
                    flight.loop.call_soon_threadsafe(flight.task.cancel)
