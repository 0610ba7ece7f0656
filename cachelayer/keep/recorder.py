"""Records served traffic to files in the background, for `replay` and `calibrate`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..exact.answers.admission import text_of, tokens_of
from ..flow.attempt import Faults
from ..flow.background import offload
from ..flow.portal import Portal
from ..flow.writeback import WriteBack
from ..observe.traffic import Seen, TrafficLog, line_of, row
from ..policy import Trace
from ..protocols import Clock
from ..types import Match, Reason, Source
from .call import Call, Landing
from .streams import seen_of

SHADOW = "shadow"
"""The tier of lines with the backend's answer when a similar hit was checked; they are not requests of their own."""
CAPACITY = 4096
"""Requests that may wait to be written; any more are dropped and counted."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a request's line is made from, once its caller is served."""

    call: Call
    landing: Landing
    tier: str
    match: Match | None
    at: float
    latency: float
    answer: str | None
    """The answer's text, if the landing holds no frozen answer from which to take it."""


class Recorder:
    """Queues what was served and writes it in a thread. Never waits, never raises; drops are counted."""

    def __init__(self, clock: Clock, faults: Faults, portal: Portal) -> None:
        self._clock, self._faults, self._portal = clock, faults, portal
        self._queue: WriteBack[Served] = WriteBack(self._write, capacity=CAPACITY, batch=256, linger=0.05)
        self._logs: dict[Trace, TrafficLog] = {}
        self.written = 0
        self.lost = 0
        """Lines that could not be written, or were too long."""

    def reset(self) -> None:
        """After a fork: what is queued and open is the parent's."""
        self._queue.reset()
        for log in self._logs.values():
            log.reset()

    def add(self, call: Call, landing: Landing, tier: str, match: Match | None) -> None:
        """Queue one served request of a function whose policy records."""
        if call.identity is not None:
            self._faults.attempt_now("traffic", self._add, call, landing, tier, match)

    def add_check(self, call: Call, answer: Any) -> None:
        """Queue the backend's own answer to a request that was served by similarity (a shadow check)."""
        landing = Landing(Source.BACKEND)
        landing.answer = answer
        self.add(call, landing, SHADOW, None)

    def _add(self, call: Call, landing: Landing, tier: str, match: Match | None) -> None:
        latency = self._clock.monotonic() - call.arrived
        answer = None
        if landing.frozen is None and landing.recording is None:
            answer = text_of(call.function.seen(landing.answer))
        served = Served(call, landing, tier, match, self._clock.time() - latency, latency, answer)
        self._portal.soon(self._offer, served)

    def _offer(self, served: Served) -> None:
        self._queue.offer(served, asyncio.get_running_loop())

    async def _write(self, batch: Sequence[Served]) -> None:
        done = await self._faults.attempt("traffic", offload(partial(self._lines, batch)), None)
        if isinstance(done, Reason):
            self.lost += len(batch)

    def _lines(self, batch: Sequence[Served]) -> None:
        for trace in {served.call.policy.record for served in batch} - {None}:
            assert isinstance(trace, Trace)
            log = self._logs.setdefault(trace, TrafficLog(trace))
            mine = [served for served in batch if served.call.policy.record == trace]
            made = [self._faults.attempt_now("traffic", _line, served, trace) for served in mine]
            kept = [line for line in made if isinstance(line, bytes)]
            log.write(kept)
            self.written += len(kept)
            self.lost += len(made) - len(kept)

    async def drain(self, timeout: float | None = None) -> None:
        """Write what is queued now, for at most `timeout` seconds."""
        await self._queue.drain(timeout)

    async def aclose(self, timeout: float) -> None:
        """Drain for at most `timeout` seconds and close the files; a later line opens another."""
        await self.drain(timeout)
        for log in self._logs.values():
            log.close()

    def stats(self) -> dict[str, int]:
        """Lines written, waiting, dropped for want of room, and lost to faults or length."""
        queue = self._queue
        return {
            "written": self.written,
            "waiting": len(queue),
            "dropped": queue.dropped,
            "lost": self.lost,
        }


def _line(served: Served, trace: Trace) -> bytes | None:
    call, landing = served.call, served.landing
    identity = call.identity
    assert identity is not None
    answer = None if landing.frozen is None else seen_of(call.function, landing.frozen)
    question = identity.text
    if question is None:
        question = identity.canonical[len(identity.head) :].decode("utf-8", "replace")
    seen = Seen(
        served.at,
        call.function.name,
        identity.partition(),
        question,
        [(turn.role, turn.text) for turn in identity.turns],
        served.answer if answer is None else text_of(answer),
        served.tier,
        served.match,
        served.latency,
        0 if answer is None else tokens_of(answer),
        call.misses.get("similar"),
    )
    fields = row(seen, trace)
    return None if fields is None else line_of(fields)
