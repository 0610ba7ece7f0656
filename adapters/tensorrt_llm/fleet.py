"""Several replicas as one transport: admission, routing, prefix single flight, retry before the first
delta."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from cachelayer.errors import ConfigurationError

from .admission import LANES, AdaptiveLimit, Gate, Lane, LimitPolicy, Ticket, Verdict
from .blocks import PrefixIndex, chain, prompt_bytes
from .brownout import Brownout, BrownoutPolicy
from .errors import BackendError, Overloaded, Shed, Unavailable
from .events import Capabilities, Delta, End, Event, Start, Transport, Usage
from .prefix import PrefixFlight
from .request import Request, parse
from .router import Choice, Replica, Router, RouterPolicy
from .signals import Signals

BYTES_PER_TOKEN = 4


class Member:
    """One replica: its transport, and what this process knows of it."""

    def __init__(
        self, transport: Transport, replica: Replica, router: RouterPolicy, limit: LimitPolicy
    ) -> None:
        self.transport, self.replica = transport, replica
        self.limit = AdaptiveLimit(limit)
        self.flight = PrefixFlight(PrefixIndex(router.capacity, router.ttl))
        self.capabilities: Capabilities | None = None

    async def begin(self, warm: Sequence[Mapping[str, Any]], now: float) -> None:
        """Ask what the server is, and fill its cache with the declared prefixes. Raises Unavailable."""
        found = await self.transport.start()
        self.flight = PrefixFlight(PrefixIndex(self.replica.index.capacity, self.replica.index.ttl))
        for arguments in warm:
            request = parse({**arguments, "max_tokens": 1, "stream": True}, now)
            async with aclosing(self.transport.events(request)) as events:
                async for _ in events:
                    pass
        self.capabilities = found


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
        none."""
        now = asyncio.get_running_loop().time()
        found, fault = [], None
        for member in self.members.values():
            try:
                await member.begin(self._warm, now)
            except BackendError as error:
                fault = error
                member.replica.failures = self.router.policy.failures
                continue
            if member.capabilities is not None:
                found.append(member.capabilities)
        if not found:
            raise Unavailable(f"no replica of {sorted(self.members)} answers: {fault}") from fault
        self.capabilities = replace(
            found[0],
            salt=all(c.salt for c in found),
            chat=all(c.chat for c in found),
            streaming=all(c.streaming for c in found),
            models=tuple(sorted(set.intersection(*(set(c.models) for c in found)))),
        )
        return self.capabilities

    async def healthy(self) -> bool:
        for member in self.members.values():
            if not member.replica.draining and await member.transport.healthy():
                return True
        return False

    def drain(self, name: str, draining: bool = True) -> None:
        """Send nothing new to a replica; what it runs goes on. Its `inflight` signal says when it is
        empty."""
        self.members[name].replica.draining = draining

    async def aclose(self) -> None:
        for member in self.members.values():
            await member.transport.aclose()

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Transport.events`. Raises Shed where admission declines."""
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
        """What all replicas that can be asked bear together."""
        able = [m for m in self.members.values() if not m.replica.draining]
        up = [m for m in able if m.replica.failures < self.router.policy.failures]
        return sum(m.limit.value for m in up or able)

    async def _admit(self, gate: Gate, request: Request) -> Ticket:
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline = math.inf if request.deadline is None else request.deadline
        ticket = Ticket(request.lane, request.priority, deadline, now)
        await self._smooth(gate, ticket)
        verdict = gate.arrive(ticket, self._slots(), loop.time())
        if verdict is None:
            verdict = await self._wait(gate, ticket)
        if verdict.reason is not None:
            raise _shed(verdict)
        self._signals.queue_wait[request.lane].add(loop.time() - now)
        return ticket

    async def _smooth(self, gate: Gate, ticket: Ticket) -> None:
        """In a brown-out, wait for the rate that is let through, or be shed."""
        if self._brownout_policy is None or ticket.lane not in gate.lanes:
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
            ticket.gone = not future.done()
            del self._waiting[ticket]
        if ticket.gone:
            return gate.refuse(ticket, "expired", gate.expected_wait(ticket.lane, self._slots()))
        return future.result()

    def _turn(self, gate: Gate) -> None:
        for verdict in gate.turn(self._slots(), asyncio.get_running_loop().time()):
            future = self._waiting.get(verdict.ticket)
            if future is not None and not future.done():
                future.set_result(verdict)
            elif verdict.reason is None:
                gate.leave(verdict.ticket, verdict.ticket.started)

    async def _served(self, request: Request) -> AsyncGenerator[Event, None]:
        """Try replicas until one speaks."""
        loop = asyncio.get_running_loop()
        data = prompt_bytes(request.messages, request.prompt, request.params.get("tools"))
        blocks = chain(data, f"{request.model}\0{request.salt}")
        tried: list[Replica] = []
        fault: BackendError | None = None
        started = False
        while True:
            full = [m.replica for m in self.members.values() if m.replica.inflight >= m.limit.value]
            tokens = len(data) // BYTES_PER_TOKEN
            choice = self.router.choose(
                blocks, tokens, loop.time(), session=request.session, without=tried, full=full
            )
            if choice is None:
                raise fault or Unavailable(f"{self.name}: no replica can be asked")
            attempt = _Attempt(self, choice, request)
            try:
                async with aclosing(attempt.events(blocks)) as events:
                    async for event in events:
                        if type(event) is Start:
                            if started:
                                continue
                            started = True
                        yield event
                return
            except (Unavailable, Overloaded) as error:
                if attempt.spoke:
                    raise
                tried.append(choice.replica)
                fault = error
                self._signals.retries += 1

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


class _Attempt:
    """One request at one replica, booked with the router, the limit and the signals."""

    def __init__(self, fleet: Fleet, choice: Choice, request: Request) -> None:
        self.fleet, self.choice, self.request = fleet, choice, request
        self.member = fleet.members[choice.replica.name]
        self.spoke = False
        self._sent = self._first = math.nan
        self._usage = Usage()
        self._deltas = 0

    async def events(self, blocks: Sequence[int]) -> AsyncGenerator[Event, None]:
        fleet, member, choice = self.fleet, self.member, self.choice
        clock = asyncio.get_running_loop().time
        fleet.router.sent(choice, clock(), self.request.session)
        lead = None
        try:
            if choice.probe or member.capabilities is None:
                await member.begin(fleet._warm, clock())
            lead = await member.flight.enter(blocks, self.request.deadline)
            self._sent = clock()
            async with aclosing(member.transport.events(self.request)) as events:
                async for event in events:
                    if type(event) is Delta:
                        self._deltas += 1
                        if not self.spoke:
                            self.spoke = True
                            lead.warm()
                            self._told_first(clock())
                    elif type(event) is Usage:
                        self._usage = event
                    elif type(event) is End:
                        self._told_end(clock())
                    yield event
        except (Unavailable, Overloaded) as error:
            fleet._signals.failures[member.transport.name] += 1
            member.limit.refused(clock())
            if isinstance(error, Unavailable):
                fleet.router.failed(choice, clock())
            raise
        finally:
            fleet.router.finished(choice, clock(), begun=self.spoke)
            if lead is not None:
                lead.close()

    def _told_first(self, now: float) -> None:
        self._first = now
        name, replica = self.member.transport.name, self.member.replica
        self.fleet.router.first(self.choice, now)
        if self.request.stream:
            self.fleet._signals.ttft[name].add(now - self._sent)
            self.member.limit.first(now - self._sent, replica.inflight, now)

    def _told_end(self, now: float) -> None:
        signals, name, usage = self.fleet._signals, self.member.transport.name, self._usage
        signals.total[name].add(now - self._sent)
        tokens = usage.completion_tokens or self._deltas
        if self.request.stream and tokens > 1:
            tpot = (now - self._first) / (tokens - 1)
            signals.tpot[name].add(tpot)
            self.member.limit.finished(tpot, self.member.replica.inflight, now)
        signals.prompt_tokens[name] += usage.prompt_tokens or 0
        signals.cached_tokens[name] += usage.cached_tokens or 0
        signals.completion_tokens[name] += usage.completion_tokens or 0


def _shed(verdict: Verdict) -> Shed:
    message = f"the backend's queue declined a request of lane {verdict.ticket.lane!r}: {verdict.reason}"
    return Shed(verdict.reason or "", message, retry_after=verdict.retry_after)
