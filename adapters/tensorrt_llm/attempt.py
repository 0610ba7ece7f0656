"""One replica, and one request at it: booked with the router, the limit and the signals."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from typing import Any

from cachelayer.errors import ConfigurationError

from .admission import AdaptiveLimit, LimitPolicy
from .blocks import PrefixIndex
from .errors import BackendError, Cancelled, Overloaded, ProtocolFault, Unavailable
from .events import Capabilities, Delta, End, Event, Transport, Usage
from .guard import Finish
from .prefix import PrefixFlight
from .request import Request, parse
from .router import Choice, Replica, Router, RouterPolicy
from .signals import Signals

FAULTS = (Unavailable, Overloaded, ProtocolFault, Cancelled)
"""What another replica may do better."""
PAUSE = 1.0
"""Seconds for which others are asked first where a replica said that it has too much to do, and not for how long."""


class Member:
    """One replica: its transport, and what this process knows of it."""

    def __init__(
        self, transport: Transport, replica: Replica, router: RouterPolicy, limit: LimitPolicy
    ) -> None:
        self.transport, self.replica = transport, replica
        self.limit = AdaptiveLimit(limit)
        self.flight = PrefixFlight(PrefixIndex(router.capacity, router.ttl))
        self.capabilities: Capabilities | None = None
        self.models: frozenset[str] = frozenset()
        """Of what the fleet serves this replica has to have some; empty if that is not known."""
        self.busy_until = -math.inf
        self.trial: asyncio.Future[BackendError | None] | None = None
        """What a request meets that tries the replica while its breaker is open: None once it was found healthy."""

    def full(self, now: float) -> bool:
        """Whether it has no room for one more, or asked to be left alone for a while."""
        return self.replica.inflight >= self.limit.value or now < self.busy_until

    async def begin(self, warm: Sequence[Mapping[str, Any]], now: float) -> None:
        """Ask what the server is, and fill its cache with the declared prefixes. Raises Unavailable, for one of another
        model too."""
        found = await self.transport.start()
        if found.models and self.models and self.models.isdisjoint(found.models):
            theirs, ours = ", ".join(found.models), ", ".join(sorted(self.models))
            raise Unavailable(f"{self.transport.name} serves {theirs}, the other replicas serve {ours}")
        self.flight = self.flight.anew()
        for arguments in warm:
            request = parse({**arguments, "max_tokens": 1, "stream": True}, now)
            async with aclosing(self.transport.events(request)) as events:
                async for _ in events:
                    pass
        self.capabilities = found


class Attempt:
    """One request at one replica, booked with the router, the limit and the signals."""

    def __init__(
        self, member: Member, choice: Choice, request: Request, router: Router, signals: Signals
    ) -> None:
        self.member, self.choice, self.request = member, choice, request
        self.router, self.signals = router, signals
        self.spoke = False
        """Whether the caller has any of the answer: a stream's first delta, the whole of one that is no stream."""
        self._begun = False
        self._trial: asyncio.Future[BackendError | None] | None = None
        self._sent = self._first = math.nan
        self._usage = Usage()
        self._deltas = 0

    async def events(
        self, blocks: Sequence[int], warm: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[Event, None]:
        member, choice = self.member, self.choice
        clock = asyncio.get_running_loop().time
        self.router.sent(choice, clock(), self.request.session, stream=self.request.stream)
        if choice.probe:
            member.trial = self._trial = asyncio.get_running_loop().create_future()
        lead = None
        finish, held = Finish(self.request), list[Event]()
        try:
            if choice.probe or member.capabilities is None:
                await self._begin(warm, clock())
            self._check_salt()
            self._tried(None)
            lead = await member.flight.enter(blocks, self.request.deadline)
            self._sent = clock()
            async with aclosing(member.transport.events(self.request)) as events:
                async for event in events:
                    if self._noted(event, finish, clock):
                        lead.warm()
                    if self.request.stream:
                        self.spoke = self._begun
                        yield event
                    else:
                        held.append(event)
            self.spoke = self._begun
            for event in held:
                yield event
        except FAULTS as error:
            self.signals.failures[member.transport.name] += 1
            member.limit.refused(clock())
            if isinstance(error, Overloaded):
                member.busy_until = clock() + (PAUSE if error.retry_after is None else error.retry_after)
            if not isinstance(error, Overloaded):
                self.router.failed(choice, clock())
            self._tried(error)
            raise
        finally:
            now, deadline = clock(), self.request.deadline
            late = deadline is not None and now >= deadline
            self.router.finished(choice, now, begun=self._begun, late=late)
            self._tried(None)
            if lead is not None:
                lead.close()

    async def _begin(self, warm: Sequence[Mapping[str, Any]], now: float) -> None:
        """Raises Unavailable for whatever keeps the replica from beginning: the request itself is not at fault."""
        try:
            await self.member.begin(warm, now)
        except (ConfigurationError, BackendError) as fault:
            raise Unavailable(str(fault)) from fault
        self.member.limit.begin()
        if self.choice.probe:
            self.router.began(self.choice)

    def _tried(self, met: BackendError | None) -> None:
        """Tell those who wait what the trial met, once."""
        if self._trial is not None and not self._trial.done():
            self._trial.set_result(met)

    def _check_salt(self) -> None:
        """Raise Unavailable if the server knows no tenant salts; it may have come up after the fleet asked."""
        capabilities = self.member.capabilities
        if self.request.salt is not None and capabilities is not None and not capabilities.salt:
            raise Unavailable(f"{self.member.transport.name} cannot honour a tenant salt")

    def _noted(self, event: Event, finish: Finish, clock: Callable[[], float]) -> bool:
        """Count an event, and tell the router; whether it is the first delta."""
        if type(event) is Delta:
            self.choice.replica.heard()
            finish.saw(event)
            self._deltas += 1
            if not self._begun:
                self._begun = True
                self._told_first(clock())
                return True
        elif type(event) is Usage:
            self._usage = event
        elif type(event) is End:
            finish.end()
            self.router.ended(self.choice)
            self._told_end(clock())
        return False

    def _told_first(self, now: float) -> None:
        self._first = now
        name, replica = self.member.transport.name, self.member.replica
        self.router.first(self.choice, now)
        if self.request.stream:
            self.signals.ttft[name].add(now - self._sent)
            self.member.limit.first(now - self._sent, replica.inflight, now)

    def _told_end(self, now: float) -> None:
        signals, name, usage = self.signals, self.member.transport.name, self._usage
        signals.total[name].add(now - self._sent)
        tokens = usage.completion_tokens or self._deltas
        if self.request.stream and tokens > 1:
            tpot = (now - self._first) / (tokens - 1)
            signals.tpot[name].add(tpot)
            self.member.limit.finished(tpot, self.member.replica.inflight, now)
        signals.prompt_tokens[name] += usage.prompt_tokens or 0
        signals.cached_tokens[name] += usage.cached_tokens or 0
        signals.completion_tokens[name] += usage.completion_tokens or 0


async def others_try(
    members: Collection[Member], tried: dict[Replica, BackendError], patience: float
) -> bool:
    """Wait for what other requests meet that try a replica whose breaker is open: it may be the only one left.

    A fault that they meet goes into `tried`, as if this request had met it. False if nobody tries one, or finds out in
    time."""
    trials = {
        m.trial: m.replica
        for m in members
        if m.trial is not None and m.replica.probing and not m.replica.draining and m.replica not in tried
    }
    if not trials:
        return False
    done, _ = await asyncio.wait(trials, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
    for trial in done:
        fault = trial.result()
        if fault is not None:
            tried[trials[trial]] = copy(fault)
    return bool(done)


def met(name: str, members: Collection[Member], tried: Mapping[Replica, BackendError]) -> BackendError:
    """What to tell a caller whom no replica served: who should come back later, and when, sooner than anything else."""
    faults = sorted(tried.values(), key=lambda f: (f.retry_after is not None, isinstance(f, Overloaded)))
    if faults:
        return faults[-1]
    states = (f"{m.replica.name} {'is drained' if m.replica.draining else 'is being tried'}" for m in members)
    return Unavailable(f"{name}: no replica can be asked: {', '.join(states)}")
