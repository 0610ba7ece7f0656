"""One replica, and one request at it: booked with the router, the limit and the signals."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from cachelayer.errors import ConfigurationError

from .admission import AdaptiveLimit, LimitPolicy
from .blocks import PrefixIndex
from .errors import Overloaded, ProtocolFault, RequestRejected, Unavailable
from .events import Capabilities, Delta, End, Event, Transport, Usage
from .guard import Finish
from .prefix import PrefixFlight
from .request import Request, parse
from .router import Choice, Replica, Router, RouterPolicy
from .signals import Signals


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

    async def begin(self, warm: Sequence[Mapping[str, Any]], now: float) -> None:
        """Ask what the server is, and fill its cache with the declared prefixes. Raises Unavailable, for one of another
        model too."""
        found = await self.transport.start()
        if found.models and self.models and self.models.isdisjoint(found.models):
            theirs, ours = ", ".join(found.models), ", ".join(sorted(self.models))
            raise Unavailable(f"{self.transport.name} serves {theirs}, the other replicas serve {ours}")
        self.flight = PrefixFlight(PrefixIndex(self.replica.index.capacity, self.replica.index.ttl))
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
        self._sent = self._first = math.nan
        self._usage = Usage()
        self._deltas = 0

    async def events(
        self, blocks: Sequence[int], warm: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[Event, None]:
        member, choice = self.member, self.choice
        clock = asyncio.get_running_loop().time
        self.router.sent(choice, clock(), self.request.session, stream=self.request.stream)
        lead = None
        finish, held = Finish(self.request), list[Event]()
        try:
            if choice.probe or member.capabilities is None:
                await self._begin(warm, clock())
            self._check_salt()
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
        except (Unavailable, Overloaded, ProtocolFault) as error:
            self.signals.failures[member.transport.name] += 1
            member.limit.refused(clock())
            if not isinstance(error, Overloaded):
                self.router.failed(choice, clock())
            raise
        finally:
            now, deadline = clock(), self.request.deadline
            late = deadline is not None and now >= deadline
            self.router.finished(choice, now, begun=self._begun, late=late)
            if lead is not None:
                lead.close()

    async def _begin(self, warm: Sequence[Mapping[str, Any]], now: float) -> None:
        """Raises Unavailable for whatever keeps the replica from beginning: the request itself is not at fault."""
        try:
            await self.member.begin(warm, now)
        except (ConfigurationError, RequestRejected) as fault:
            raise Unavailable(str(fault)) from fault

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
