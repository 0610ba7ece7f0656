"""The fleet's admission in front of simulated engines: what share of the work meets its latency budget."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cachelayer.adapters.tensorrt_llm.admission import AdaptiveLimit, Gate, Lane, LimitPolicy, Ticket
from cachelayer.adapters.tensorrt_llm.router import Choice, Router, RouterPolicy

from .engine import Engine, Job, Parameters

TICK = 0.01
"""Seconds between two looks of the gate; engines run on their own clocks in between."""


class Front:
    """Router, limits and gate as the fleet has them, or the router alone."""

    def __init__(
        self, replicas: int, parameters: Parameters, limit: LimitPolicy | None, max_wait: float
    ) -> None:
        policy = RouterPolicy(block=parameters.block, capacity=parameters.kv_tokens // parameters.block)
        self.router = Router.over([str(i) for i in range(replicas)], policy, random.Random(7))
        self.limits = [AdaptiveLimit(limit) for _ in range(replicas)] if limit else []
        self.gate = Gate({"interactive": Lane(reserve=0.0, max_wait=max_wait, max_queue=10**6)})
        self.engines = [Engine(parameters, self._listener(i)) for i in range(replicas)]
        self.tickets: dict[int, tuple[Ticket, Choice]] = {}
        self.served: list[Job] = []
        self.shed = 0

    def _listener(self, replica: int) -> Any:
        def told(event: str, job: Job) -> None:
            ticket, choice = self.tickets[id(job)]
            inflight = self.router.replicas[replica].inflight
            if event == "first":
                self.router.first(choice, job.first)
                if self.limits:
                    self.limits[replica].first(job.first - ticket.started, inflight, job.first)
                return
            self.router.finished(choice, job.end, begun=True)
            if self.limits:
                if job.output > 1:
                    self.limits[replica].finished((job.end - job.first) / (job.output - 1), inflight, job.end)
                self.gate.leave(ticket, job.end)
            self.served.append(job)

        return told

    @property
    def slots(self) -> float:
        return sum(limit.value for limit in self.limits) if self.limits else math.inf

    def arrive(self, job: Job, now: float) -> None:
        ticket = Ticket("interactive", 0.5, math.inf, job.arrival, payload=job)
        if not self.limits:
            ticket.started = now
            self._send(ticket, now)
            return
        verdict = self.gate.arrive(ticket, self.slots, now)
        if verdict is not None:
            self._take(verdict, now)

    def _take(self, verdict: Any, now: float) -> None:
        if verdict.reason is None:
            self._send(verdict.ticket, now)
        else:
            self.shed += 1

    def _send(self, ticket: Ticket, now: float) -> None:
        job = ticket.payload
        full = [
            r
            for r, limit in zip(self.router.replicas, self.limits, strict=False)
            if r.inflight >= limit.value
        ]
        choice = self.router.choose(job.blocks, job.prompt, now, full=full)
        assert choice is not None
        self.router.sent(choice, now)
        self.tickets[id(job)] = (ticket, choice)
        engine = self.engines[int(choice.replica.name)]
        if not engine.busy:
            engine.clock = max(engine.clock, now)
        engine.queue.append(job)

    def run(self, jobs: Sequence[Job]) -> None:
        now, position = 0.0, 0
        while position < len(jobs) or self.gate.queued() or any(engine.busy for engine in self.engines):
            now += TICK
            for engine in self.engines:
                engine.advance(now)
            while position < len(jobs) and jobs[position].arrival <= now:
                self.arrive(jobs[position], now)
                position += 1
            if self.limits:
                for verdict in self.gate.turn(self.slots, now):
                    self._take(verdict, now)


def goodput(
    jobs: Sequence[Job],
    replicas: int,
    parameters: Parameters,
    *,
    ttft: float,
    tpot: float,
    limit: LimitPolicy | None,
    max_wait: float,
) -> dict[str, float]:
    """Requests a second that met both budgets, counted from arrival; shed ones count as missed."""
    front = Front(replicas, parameters, limit, max_wait)
    front.run([replace(job) for job in jobs])
    good = 0
    for job in front.served:
        pace = (job.end - job.first) / max(1, job.output - 1)
        good += job.first - job.arrival <= ttft and pace <= tpot
    span = jobs[-1].arrival
    waits = sorted(job.first - job.arrival for job in front.served) or [math.nan]
    return {
        "goodput": round(good / span, 3),
        "offered": round(len(jobs) / span, 3),
        "shed": round(front.shed / len(jobs), 4),
        "ttft_p50": round(waits[len(waits) // 2], 3),
        "ttft_p99": round(waits[int(0.99 * len(waits))], 3),
        "limit": round(front.slots / replicas, 1) if limit else math.inf,
    }
