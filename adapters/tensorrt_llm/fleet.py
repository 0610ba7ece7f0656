"""Several replicas as one transport: admission, routing, prefix single flight, retry before the first delta."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from cachelayer.errors import ConfigurationError
from cachelayer.flow.together import any_of, together

from .admission import LANES, Gate, Lane, LimitPolicy, Ticket, Verdict
from .attempt import FAULTS, Attempt, Member, met, others_try
from .blocks import chain, prompt_bytes
from .brownout import Brownout, BrownoutPolicy
from .errors import BackendError, RequestRejected, Shed, Unavailable
from .events import Capabilities, Event, Start, Transport
from .request import Request
from .router import Replica, Router, RouterPolicy
from .signals import Signals

BYTES_PER_TOKEN = 4


class Fleet:
    """A transport over transports.

    `warm` are request arguments (messages, tools, salt) whose prefixes each replica computes when it starts
    and when it comes back. Without `gate` nothing queues or is shed here; `brownout=None` turns the surge
    guard off."""

    def __init__(
        self,
        transports: Sequence[Transport],
        *,
        router: RouterPolicy | None = None,
        limit: LimitPolicy | None = None,
        lanes: Mapping[str, Lane] | None = LANES,
        brownout: BrownoutPolicy | None = None,
        warm: Sequence[Mapping[str, Any]] = (),
        seed: int | None = None,
    ) -> None:
        names = [transport.name for transport in transports]
        if not names or len(set(names)) != len(names):
            raise ConfigurationError("replicas", names, "give at least one, each once")
        policy = router or RouterPolicy()
        self.router = Router.over(names, policy, random.Random(seed))
        members = zip(transports, self.router.replicas, strict=True)
        self.members = {t.name: Member(t, r, policy, limit or LimitPolicy()) for t, r in members}
        self.name = f"fleet of {len(names)}"
        self.capabilities = Capabilities("fleet")
        self.gate = Gate(lanes) if lanes is not None else None
        self._brownout_policy = brownout
        self._brownout: Brownout | None = None
        self._warm = warm
        self._waiting: dict[Ticket, asyncio.Future[Verdict]] = {}
        self._signals = Signals()

    async def start(self) -> Capabilities:
        """Start every replica that answers; the others are tried again by requests. Raises Unavailable for
        none, ConfigurationError for replicas of different models or if all are other than they were said to be."""
        for member in self.members.values():
            member.models = frozenset()
        faults = await together(self._begun(member) for member in self.members.values())
        found = [m.capabilities for m in self.members.values() if m.capabilities is not None]
        if not found:
            if all(isinstance(fault, ConfigurationError) for fault in faults):
                raise faults[0]
            why = "; ".join(str(fault) for fault in faults)
            raise Unavailable(f"no replica of {sorted(self.members)} answers: {why}") from faults[-1]
        common = self._common_models()
        for member in self.members.values():
            member.models = common
        self.capabilities = replace(
            found[0],
            salt=all(c.salt for c in found),
            chat=all(c.chat for c in found),
            streaming=all(c.streaming for c in found),
            models=tuple(sorted(common)),
        )
        return self.capabilities

    def _common_models(self) -> frozenset[str]:
        """What all replicas serve that say so. Raises ConfigurationError if that is nothing."""
        models_of = {
            name: m.capabilities.models for name, m in self.members.items() if m.capabilities is not None
        }
        known = [frozenset(models) for models in models_of.values() if models]
        common = frozenset.intersection(*known) if known else frozenset[str]()
        if known and not common:
            each = "; ".join(f"{name} serves {', '.join(models)}" for name, models in models_of.items())
            raise ConfigurationError(
                "url", each, "replicas serve one model: connect to each model's by itself"
            )
        return common

    async def _begun(self, member: Member) -> BackendError | ConfigurationError | None:
        loop, policy = asyncio.get_running_loop(), self.router.policy
        try:
            await member.begin(self._warm, loop.time())
        except (BackendError, ConfigurationError) as fault:
            member.capabilities, member.replica.failures = None, policy.failures
            member.replica.open_until = loop.time() + policy.cooldown
            return fault
        return None

    async def healthy(self) -> bool:
        """Whether any replica is healthy; returns as soon as one is."""
        able = [m.transport for m in self.members.values() if not m.replica.draining]
        return await any_of(transport.healthy() for transport in able)

    def drain(self, name: str, draining: bool = True) -> None:
        """Send nothing new to a replica; what it runs goes on. Its `inflight` signal says when it is
        empty."""
        self.members[name].replica.draining = draining

    async def aclose(self) -> None:
        for member in self.members.values():
            await member.transport.aclose()

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Transport.events`. Raises Shed if admission declines, RequestRejected for a lane that is none."""
        ticket = None if self.gate is None else await self._admit(self.gate, request)
        try:
            async with aclosing(self._served(request)) as events:
                async for event in events:
                    yield event
        finally:
            if self.gate is not None and ticket is not None:
                self.gate.leave(ticket, asyncio.get_running_loop().time())
                self._turn(self.gate)

    def _slots(self) -> float:
        """What all replicas that can be asked bear together, and one request for each that is due to be tried.

        What runs beyond that takes no other replica's room: at one that is drained or was lost, or that bears less
        than it did."""
        now, least = asyncio.get_running_loop().time(), self.router.policy.failures
        able = [m for m in self.members.values() if not m.replica.draining]
        up = [m for m in able if m.replica.failures < least] or able
        due = [m for m in able if m not in up and self.router.may_try(m.replica, now)]
        running = sum(m.replica.inflight for m in self.members.values())
        return running + len(due) + sum(max(0.0, m.limit.value - m.replica.inflight) for m in up)

    async def _admit(self, gate: Gate, request: Request) -> Ticket:
        if request.lane not in gate.lanes:
            raise RequestRejected(f"lane: give one of {', '.join(gate.lanes)}")
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline = math.inf if request.deadline is None else request.deadline
        ticket = Ticket(request.lane, request.priority, deadline, now)
        await self._smooth(gate, ticket)
        if gate.queued():  # there may be more room than when the last request left: a replica is back
            self._turn(gate)
        verdict = gate.arrive(ticket, self._slots(), loop.time())
        if verdict is None:
            verdict = await self._wait(gate, ticket)
        if verdict.reason is not None:
            raise _shed(verdict)
        self._signals.queue_wait[request.lane].add(loop.time() - now)
        return ticket

    async def _smooth(self, gate: Gate, ticket: Ticket) -> None:
        """In a brown-out, wait for the rate that is let through, or be shed."""
        if self._brownout_policy is None:
            return
        now = ticket.arrived
        if self._brownout is None:
            self._brownout = Brownout(self._brownout_policy, now)
        delay = self._brownout.arrive(now)
        if delay > 0:
            if now + delay > ticket.deadline or delay > gate.max_wait(ticket.lane):
                self._brownout.refused()
                raise _shed(gate.refuse(ticket, "brownout", delay))
            await asyncio.sleep(delay)

    async def _wait(self, gate: Gate, ticket: Ticket) -> Verdict:
        """Until its turn, its deadline or its lane's longest wait."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()
        self._waiting[ticket] = future
        until = min(ticket.deadline, ticket.arrived + gate.max_wait(ticket.lane))
        try:
            await asyncio.wait([future], timeout=max(0.0, until - loop.time()))
        except asyncio.CancelledError:
            if future.done() and future.result().reason is None:
                # the turn came in the same step as the caller's cancellation
                gate.leave(ticket, loop.time())
                self._turn(gate)
            raise
        finally:
            if not future.done():
                gate.forget(ticket)
            del self._waiting[ticket]
        if ticket.gone:
            return gate.refuse(ticket, "expired", gate.expected_wait(ticket.lane, self._slots()))
        return future.result()

    def _turn(self, gate: Gate) -> None:
        for verdict in gate.turn(self._slots(), asyncio.get_running_loop().time()):
            self._waiting[verdict.ticket].set_result(verdict)  # who left is not in the queue any more

    async def _served(self, request: Request) -> AsyncGenerator[Event, None]:
        """Try replicas until one sends something."""
        loop = asyncio.get_running_loop()
        try:
            data = prompt_bytes(request.messages, request.prompt, request.params.get("tools"))
        except (TypeError, ValueError, OverflowError) as error:
            raise RequestRejected(f"the request is not JSON: {error}") from None
        blocks = chain(data, f"{request.model}\0{request.salt}")
        tried: dict[Replica, BackendError] = {}
        started, attempt, members = False, None, self.members.values()
        while True:
            full = [m.replica for m in members if m.full(loop.time())]
            tokens = len(data) // BYTES_PER_TOKEN
            choice = self.router.choose(
                blocks, tokens, loop.time(), session=request.session, without=tried, full=full
            )
            if choice is None:
                if await others_try(members, tried, self.router.policy.silence):
                    continue
                raise met(self.name, members, tried)
            self._signals.retries += attempt is not None
            member = self.members[choice.replica.name]
            attempt = Attempt(member, choice, request, self.router, self._signals)
            try:
                async with aclosing(attempt.events(blocks, self._warm)) as events:
                    async for event in events:
                        if type(event) is Start:
                            if started:
                                continue
                            started = True
                        yield event
                return
            except FAULTS as error:
                if attempt.spoke:
                    raise
                tried[choice.replica] = error

    def signals(self) -> dict[str, Any]:
        """A snapshot: per replica and per lane, what was shed by reason, and whether a brown-out is on."""
        s = self._signals
        replicas = {
            name: {
                "inflight": m.replica.inflight,
                "concurrency_limit": m.limit.value,
                "waiting_first_token": m.replica.waiting,
                "up": int(m.replica.failures < self.router.policy.failures),
                "ttft_seconds": s.ttft[name],
                "itl_seconds": s.tpot[name],
                "request_seconds": s.total[name],
                "prompt_tokens_total": s.prompt_tokens[name],
                "prefix_cached_tokens_total": s.cached_tokens[name],
                "completion_tokens_total": s.completion_tokens[name],
                "failures_total": s.failures[name],
                "prefix_held_total": m.flight.held,
            }
            for name, m in self.members.items()
        }
        gate = self.gate
        lanes: dict[str, Any] = {}
        if gate is not None:
            for lane in gate.lanes:
                lanes[lane] = {
                    "queue_depth": gate.queued(lane),
                    "lane_inflight": gate.inflight(lane),
                    "queue_wait_seconds": s.queue_wait[lane],
                }
        return {
            "replicas": replicas,
            "lanes": lanes,
            "shed": dict(gate.shed) if gate else {},
            "brownout": bool(self._brownout and self._brownout.active),
            "retries": s.retries,
        }


SHED = {
    "deadline": "it could not start before its deadline",
    "wait": "it would wait for longer than its lane allows",
    "queue": "as many as its lane allows wait already",
    "expired": "it waited as long as its lane or its deadline allows",
    "brownout": "a surge of requests is let through slowly",
}


def _shed(verdict: Verdict) -> Shed:
    reason = verdict.reason or ""
    message = (
        f"the backend's queue declined a request of lane {verdict.ticket.lane!r}: {reason}, {SHED[reason]}"
    )
    return Shed(reason, message, retry_after=verdict.retry_after)
