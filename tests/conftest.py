"""What all tests share: hypothesis settings, loopback only, a meter for stalls of the loop, free ports."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("test", derandomize=True, **_patient)
settings.register_profile("soak", max_examples=2000, print_blob=True, **_patient)
settings.load_profile("test")


def _loopback_only(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect" or arguments[0].family not in (socket.AF_INET, socket.AF_INET6):
        return
    host = arguments[1][0]
    if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
        raise RuntimeError(f"a test connects to {host}: tests talk to loopback only")


sys.addaudithook(_loopback_only)


@dataclass
class Stall:
    """The longest single callback that an event loop ran, in CPU seconds of its thread, and its name."""

    seconds: float = 0.0
    callback: str = ""
    stolen: float = 0.0
    """Seconds that a hypervisor took from all cores up to the last look: to a thread they seem its own."""

    def ran(self, handle: asyncio.Handle, took: float) -> None:
        """A callback took so long. What was stolen since the last look is taken off, all of it."""
        if took > 0.05 and took > self.seconds:
            before, self.stolen = self.stolen, _stolen()
            took -= self.stolen - before
        if took > self.seconds:
            self.seconds, self.callback = took, repr(handle)


def _stolen() -> float:
    stat = Path("/proc/stat")  # proc(5): the eighth figure of the first line
    return int(stat.read_text().split()[8]) / os.sysconf("SC_CLK_TCK") if stat.exists() else 0.0


@pytest.fixture
def stall(monkeypatch: pytest.MonkeyPatch) -> Stall:
    """Measures every callback and task step from here to the end of the test.

    What earlier tests left on the heap is kept from the garbage collector, for good: by then its full passes take half
    a second or more, and each test with this meter would make one.
    """
    longest, run = Stall(stolen=_stolen()), asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        started = time.thread_time()
        run(handle)
        longest.ran(handle, time.thread_time() - started)
        del handle  # from Python 3.13 on a cancelled task may hold this frame: with it they would be a cycle

    monkeypatch.setattr(asyncio.Handle, "_run", measured)
    gc.collect()
    gc.freeze()
    return longest


@pytest.fixture
def free_port() -> Iterator[Callable[[], int]]:
    """Gives ports of 127.0.0.1 that nobody listens on, each only once a test."""
    held: list[socket.socket] = []

    def give() -> int:
        # A bound socket with SO_REUSEADDR that does not listen keeps others from being given the same port,
        # yet lets a server that sets SO_REUSEADDR too (asyncio, Redis, uvicorn do) listen on it.
        held.append(socket.socket())
        held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held[-1].bind(("127.0.0.1", 0))
        port: int = held[-1].getsockname()[1]
        return port

    yield give
    for one in held:
        one.close()
