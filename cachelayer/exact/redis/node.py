"""One server that owns entries: a connection for reads, one for writes, one for coherence; and what is known of it.

The third is asked for the time every `Target.beat` seconds. That tells the clocks apart, and bounds how long a
connection that has silently died can hide an invalidation: `Target.silence` seconds without an answer count as lost.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from ...errors import StoreFault
from ...flow.background import Background
from ...protocols import Clock
from .epochs import NOBODY
from .link import Dialer, Link
from .names import Names
from .pipe import Pipe, pack
from .url import Address
from .waiters import Act, OutOfStep, Reads

PATIENCE, LONGEST = 1.0, 60.0
"""Seconds for which a replica is put up with, doubled each time, before its name is looked up anew."""
SLACK = 2.0
"""Seconds by which the servers' own start times are uncertain."""
TIME, ROLE = pack(b"TIME"), pack(b"ROLE")


class Role(StrEnum):
    """Which of a node's connections."""

    READ = "read"
    WRITE = "write"
    CONTROL = "control"


class Turn(StrEnum):
    """What became of a node's control connection."""

    UP = "up"
    DOWN = "down"
    SILENT = "silent"
    HEARD = "heard"


class Node:
    """`pushed(names)` reports changed names, or None for all; `turned(node, turn)` the fate of the control
    connection; `leases(names)` that leases changed."""

    def __init__(
        self, dialer: Dialer, address: Address | None, names: Names, tasks: Background, clock: Clock, *,
        pushed: Callable[[list[bytes] | None], None], turned: Callable[[Node, Turn], None],
        leases: Callable[[list[bytes] | None], None],
    ) -> None:  # fmt: skip
        self.address, self._clock, self._loop = address, clock, asyncio.get_running_loop()
        self._turned, self._silence, self._patient = turned, dialer.target.silence, dialer.target.patience
        self._cluster = dialer.target.cluster
        self.reader = Link(
            dialer, address, tasks, greeting=[pack(b"CLIENT", b"TRACKING", b"ON", b"OPTIN")], up=_agreed,
            down=lambda: leases(None), pushed=lambda message: _invalidated(message, leases),
        )  # fmt: skip
        self.writer = Link(dialer, address, tasks)
        tracking = pack(b"CLIENT", b"TRACKING", b"ON", b"BCAST", b"PREFIX", names.watched, b"NOLOOP")
        self.control = Link(
            dialer, address, tasks, greeting=[tracking, pack(b"INFO", b"server"), TIME, ROLE], up=self._up,
            down=self._down, pushed=lambda message: _invalidated(message, self._changed),
        )  # fmt: skip
        self._pushed = pushed
        self.coherent = False
        self.confirmed = float("-inf")  # loop time up to which no invalidation is unknown
        self.since = float("inf")  # from then on no deletion was forgotten
        self.incarnation, self.started, self.version = NOBODY, float("-inf"), ""
        self.offset = 0.0
        """The server's clock minus our monotonic one, which is never set."""
        self.rtt = 0.0
        self.again: dict[float, Reads] = {}
        """Reads of what was seen before, by budget."""
        self.replicas = 0
        self.confirms = True  # whether replicas keep up
        self._alone = False
        """Whether it was never part of a replication."""
        self._adrift = False
        """Whether it is a replica that hears of no invalidation, since it has lost its primary."""
        self._asked: tuple[float, float] | None = None
        self._leave, self._patience = float("inf"), PATIENCE

    def link(self, role: Role) -> Link:
        return self.control if role is Role.CONTROL else self.reader if role is Role.READ else self.writer

    def open(self) -> None:
        """Begin to connect; the writer waits for the first write."""
        self.control.open()
        self.reader.open()

    async def ready(self, *, patient: bool = True) -> None:
        """Wait until reads are possible. Raises StoreFault."""
        await self.control.ready(patient=patient)
        await self.reader.ready(patient=patient)

    def close(self) -> None:
        for link in (self.reader, self.writer, self.control):
            link.close()

    def now(self) -> float:
        """The server's clock, by ours; Unix seconds."""
        return self._clock.monotonic() + self.offset

    @property
    def margin(self) -> float:
        """Seconds by which two clocks that were compared through this server may still differ."""
        return 0.05 + self.rtt

    def latest(self) -> float:
        """The latest that the server's clock may show: what no reader, whose comparison errs otherwise, takes for too
        early."""
        return self.now() + self.rtt / 2

    def trusts(self, incarnation: bytes, written: float) -> bool:
        """Whether this server process has held in memory, ever since, what was written then.

        What it read from disk, or got in a full copy, may lack invalidations that came later. What another run wrote
        comes by replication or from disk, and where there was no replication the clock, which may be set, is not asked.
        """
        if incarnation == self.incarnation:
            return True
        known = NOBODY not in (incarnation, self.incarnation)
        return not (known and self._alone) and written > self.started + SLACK

    def beat(self) -> None:
        """Call every `Target.beat` seconds."""
        now = self._loop.time()
        self.reader.watch(now)
        self.writer.watch(now)
        pipe = self.control.pipe
        if pipe is None or pipe.lost.done():
            return
        if self._asked is None:
            self._asked = now, self._clock.monotonic()
            pipe.post((TIME,), (Act(self._loop, self._time_came),))
        elif now - self._asked[0] > self._patient:
            pipe.abort(StoreFault("Redis does not answer"))
        elif now - self._asked[0] > self._silence:
            # said at every beat: what was kept meanwhile may be outdated as well
            self.coherent = False
            self._turned(self, Turn.SILENT)

    def _time_came(self, reply: Any) -> None:
        assert self._asked is not None
        (asked, clock), self._asked = self._asked, None
        if not self._synchronize(reply, clock, self._clock.monotonic()):
            raise self._cut("Redis does not tell the time")
        self.confirmed = asked
        if not self.coherent and not self._adrift:
            self.coherent = True
            self._turned(self, Turn.HEARD)

    def _synchronize(self, reply: Any, before: float, after: float) -> bool:
        """Cristian's algorithm: the server's time belongs to the middle of the round trip, the shortest is the best."""
        if not isinstance(reply, list) or len(reply) != 2:
            return False
        rtt, offset = max(after - before, 0.0), int(reply[0]) + int(reply[1]) / 1e6 - (before + after) / 2
        self.rtt *= 1.05  # a long time without a good measurement makes do with a worse one
        if rtt <= self.rtt or not self.rtt or abs(offset - self.offset) > 1.0:
            self.rtt, self.offset = rtt or 1e-6, offset
        return True

    def _changed(self, names: list[bytes] | None) -> None:
        if names is None:  # it was flushed, and what it knew of deletions with it
            self.since = self._clock.monotonic()
        self._pushed(names)

    def _cut(self, message: str) -> StoreFault:
        fault = StoreFault(message)
        if self.control.pipe is not None:
            self.control.pipe.abort(fault)
        return fault

    def _up(self, pipe: Pipe, replies: list[Any]) -> None:
        tracking, info, time, role = replies
        self.rtt, self._asked = 0.0, None
        self.since = moment = self._clock.monotonic()
        facts = {} if isinstance(info, Exception) else parse_info(info)  # it may be forbidden
        mode = mode_in(facts)
        if mode == "sentinel":
            self._cut("the server is a Sentinel, which holds no data: name the primary that it watches")
            return
        for asked, reply in (("CLIENT TRACKING", tracking), ("TIME", time)):
            if isinstance(reply, Exception):
                self._cut(f"Redis refused {asked}: {reply}")
                return
        if not self._synchronize(time, moment - (self._loop.time() - pipe.made), moment):
            self._cut("Redis does not tell the time")
            return
        self.take_role(role)
        self.incarnation, self.started = NOBODY, float("-inf")
        if mode == "cluster" and not self._cluster:
            self._cut("the server is one of a cluster: name it by redis+cluster:// or rediss+cluster://")
            return
        self.version = facts.get("redis_version", self.version)
        if (found := incarnation_in(facts)) is not None:
            self.incarnation, self.started = found[0], self.now() - found[1]
        self.reader.hurry()
        self.writer.hurry()
        self.confirmed, self.coherent = self._loop.time(), not self._adrift
        self._turned(self, Turn.UP)

    def take_role(self, reply: Any) -> None:
        """Count the replicas that an invalidation can be confirmed by. What became a replica, which takes no writes, is
        left after a while: by the name that we know another may be the primary now."""
        role = reply[0] if isinstance(reply, list) and reply else None
        self._adrift = role == b"slave" and not self._cluster and reply[3:4] != [b"connected"]
        if self._adrift and self.coherent:
            self.coherent = False
            self._turned(self, Turn.SILENT)
        primary = role == b"master" and isinstance(reply[-1], list)
        self._alone = primary and not self._cluster and reply[1] == 0  # the offset
        self.replicas, self.confirms = len(reply[-1]) if primary else 0, True
        if role != b"slave" or self._cluster:
            self._leave, self._patience = float("inf"), PATIENCE
        elif self._leave == float("inf"):
            self._leave = self._loop.time() + self._patience
        elif self._loop.time() >= self._leave:
            self._leave, self._patience = float("inf"), min(2 * self._patience, LONGEST)
            for link in (self.reader, self.writer, self.control):
                if link.pipe is not None:
                    link.pipe.abort(StoreFault("the server is a replica: its name is looked up anew"))

    def _down(self) -> None:
        self._asked, self.since = None, float("inf")
        self.coherent = False
        self._turned(self, Turn.DOWN)


def parse_info(text: bytes | str) -> dict[str, str]:
    """The fields of INFO."""
    lines = (text.decode() if isinstance(text, bytes) else str(text)).splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def mode_in(facts: dict[str, str]) -> str:
    """What kind of a server INFO speaks of: standalone, cluster or sentinel; "" if it does not tell."""
    return facts.get("redis_mode") or facts.get("server_mode", "")  # the latter from Valkey 8 on


def incarnation_in(facts: dict[str, str]) -> tuple[bytes, float] | None:
    """Which run of the server INFO speaks of, and its age in seconds: less than none where its clock was set back.

    None if it tells neither, as a proxy or a hosted server may: then restarts of the server go unnoticed.
    """
    run, age = facts.get("run_id", ""), facts.get("uptime_in_seconds", "")
    if not re.fullmatch("[0-9a-f]{16,}", run) or not re.fullmatch("-?[0-9]+", age):
        return None
    return bytes.fromhex(run[:16]), float(age)


def _agreed(pipe: Pipe, replies: list[Any]) -> None:
    for reply in replies:
        if isinstance(reply, Exception):
            pipe.abort(StoreFault(f"Redis refused CLIENT TRACKING: {reply}"))


def _invalidated(message: list[Any], act: Callable[[list[bytes] | None], None]) -> None:
    if message and message[0] == b"invalidate":
        names = message[1] if len(message) == 2 else False
        if not (
            names is None or (isinstance(names, list) and all(isinstance(name, bytes) for name in names))
        ):
            raise OutOfStep("Redis pushed an invalidation that cannot be read")
        act(names)
