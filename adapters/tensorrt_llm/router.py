"""Which replica serves a request: shared prefixes weighed against load.

Pure: time and randomness are handed in.

After Dynamo's KV router (prefill that is missing plus what is queued) and the approximate prefix indexes of
SGLang and llm-d; power of two choices after Mitzenmacher, "The Power of Two Choices in Randomized Load
Balancing" (2001).
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from cachelayer.checks import number, whole

from .blocks import PrefixIndex


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterPolicy:
    """`block` is tokens a hashed block; costs are prompt tokens."""

    block: int = 32
    prefill_weight: float = 2.0
    """Of the tokens a request still has to prefill, against those queued before it: they delay all who
    follow."""
    queue_weight: float = 5.0
    """Added to it per request that waits for its first token (mean over replicas): a longer queue delays
    more."""
    decode_weight: float = 8.0
    """Prompt tokens that one running request delays a new one by."""
    affinity: float = 1024.0
    """Prompt tokens that a session's last replica is thought to hold beyond what the index knows."""
    capacity: int = 16_384
    """Blocks remembered a replica: its KV pool, as the engine profile computes it."""
    ttl: float = 600.0
    sessions: int = 65_536
    routers: int = 1
    """Routers that share these replicas. With several, what one counts is a part of the load."""
    failures: int = 3
    cooldown: float = 5.0
    """Consecutive failures that open a replica's breaker, and the seconds until one request tries it; each
    try that fails then doubles them, up to 16 times."""
    silence: float = 5.0
    """Seconds after which a replica that gave no stream a token is passed over where others can be asked: for as long
    as a breaker stays open."""

    def __post_init__(self) -> None:
        for name in ("block", "capacity", "sessions", "routers", "failures"):
            whole(name, getattr(self, name), 1)
        for name in (
            "prefill_weight",
            "queue_weight",
            "decode_weight",
            "affinity",
            "ttl",
            "cooldown",
            "silence",
        ):
            number(name, getattr(self, name))


@dataclass(slots=True, eq=False)
class Replica:
    """What the router knows of one replica."""

    name: str
    index: PrefixIndex
    inflight: int = 0
    waiting: int = 0
    """Requests in flight without a first token."""
    queued: int = 0
    """Blocks of those requests."""
    pending: int = 0
    """Prompt tokens sent and not yet answered by a first token, without those thought cached."""
    failures: int = 0
    open_until: float = 0.0
    probing: bool = False
    """A request tries it while its breaker is open."""
    begun: bool = False
    """That request found it healthy, and waits for its first token."""
    draining: bool = False
    quiet: float | None = None
    """Since when a stream has waited for the replica while it sent nothing to anybody; None while it is not silent."""
    mutes: int = 0
    """How many trial requests it got while it was silent, since it last sent something."""

    def heard(self) -> None:
        """The replica sent something, to any caller."""
        self.quiet, self.mutes = None, 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A replica for one request. `matched` counts the leading blocks thought to be cached there."""

    replica: Replica
    matched: int
    missing: int
    """Prompt tokens to prefill."""
    blocks: Sequence[int] = ()
    probe: bool = False
    """The replica's breaker was open: see that it is healthy before sending."""


@dataclass(slots=True)
class Router:
    """Chooses, and is told what came of it: `sent`, perhaps `began`, `first` at the first token, `ended` or
    `failed`, then `finished`."""

    replicas: list[Replica]
    policy: RouterPolicy
    rng: random.Random
    _sessions: OrderedDict[str, Replica] = field(default_factory=OrderedDict)

    @classmethod
    def over(cls, names: Sequence[str], policy: RouterPolicy, rng: random.Random) -> Router:
        replicas = [Replica(name, PrefixIndex(policy.capacity, policy.ttl)) for name in names]
        return cls(replicas, policy, rng)

    def choose(
        self,
        blocks: Sequence[int],
        tokens: int,
        now: float,
        *,
        session: str | None = None,
        without: Collection[Replica] = (),
        full: Collection[Replica] = (),
    ) -> Choice | None:
        """The cheapest replica for a prompt of `tokens` tokens; None if none may be asked.

        `without` were tried already, `full` have no room now and serve only where nothing else can be asked. Where
        nothing else is left, replicas are tried before they cooled down, by one request at a time each until it finds
        them healthy: they may be back, or only one caller's requests were too much for them.
        """
        left = [r for r in self.replicas if r not in without and not r.draining]
        able = [r for r in left if self.may_try(r, now)] or [r for r in left if r.begun]
        able = able or [r for r in left if not r.probing]
        if not able:
            return None
        # one that has cooled down is tried even where another is cheaper, or it would never come back
        probes = [replica for replica in able if self._open(replica)]
        probes = probes or [replica for replica in able if self._asked_again(replica, now)][:1]
        able = [r for r in able if not self._mute(r, now)] or able
        able = probes or [r for r in able if r not in full] or able
        choices = [self._choice(replica, blocks, tokens, now) for replica in able]
        if self.policy.routers > 1 and len(choices) > 2 and not any(choice.matched for choice in choices):
            choices = self.rng.sample(choices, 2)
        home = self._sessions.get(session) if session is not None else None
        queue = sum(replica.waiting for replica in able) / len(able)
        weight = self.policy.prefill_weight + self.policy.queue_weight * queue
        costs = [self._cost(choice, weight, home) for choice in choices]
        low = min(costs)
        return self.rng.choice([choice for choice, cost in zip(choices, costs, strict=True) if cost == low])

    def _choice(self, replica: Replica, blocks: Sequence[int], tokens: int, now: float) -> Choice:
        matched = replica.index.matched(blocks, now)
        missing = max(1, tokens - matched * self.policy.block)
        return Choice(replica, matched, missing, blocks, self._open(replica) and not replica.begun)

    def _cost(self, choice: Choice, weight: float, home: Replica | None) -> float:
        replica = choice.replica
        missing = choice.missing - (self.policy.affinity if replica is home else 0.0)
        return replica.pending + weight * missing + self.policy.decode_weight * replica.inflight

    def _open(self, replica: Replica) -> bool:
        return replica.failures >= self.policy.failures

    def may_try(self, replica: Replica, now: float) -> bool:
        """Whether its breaker is closed, or open and has cooled down: then it lets one request through."""
        return not self._open(replica) or (now >= replica.open_until and not replica.probing)

    def _mute(self, replica: Replica, now: float) -> bool:
        """Whether the replica hangs: it fails no request, so it looks idle and would be sent more and more."""
        return replica.quiet is not None and now >= replica.quiet + self.policy.silence

    def _asked_again(self, replica: Replica, now: float) -> bool:
        """Whether to send a hanging replica one request, to see whether it answers again."""
        pause = self.policy.cooldown * 2 ** min(replica.mutes, 4)
        if replica.quiet is None or now < replica.quiet + self.policy.silence + pause:
            return False
        replica.quiet, replica.mutes = now - self.policy.silence, replica.mutes + 1
        return True

    def sent(self, choice: Choice, now: float, session: str | None = None, *, stream: bool = False) -> None:
        replica = choice.replica
        if stream and replica.quiet is None:
            replica.quiet = now
        replica.inflight += 1
        replica.waiting += 1
        replica.pending += choice.missing
        replica.probing = replica.probing or choice.probe
        replica.queued += len(choice.blocks)
        replica.index.add(choice.blocks, now, replica.queued)
        if session is not None:
            self._sessions[session] = replica
            self._sessions.move_to_end(session)
            while len(self._sessions) > self.policy.sessions:
                self._sessions.popitem(last=False)

    def began(self, choice: Choice) -> None:
        """A probe found the replica healthy: who can be served by no other is sent there, too."""
        choice.replica.begun = True

    def first(self, choice: Choice, now: float) -> None:
        """The first token came: its prefill is done and its blocks are in the cache."""
        replica = choice.replica
        replica.heard()
        self._tried(choice)
        self._prefilled(choice)
        # an open breaker closes; what came before is forgotten once an answer is whole
        replica.failures = min(replica.failures, self.policy.failures - 1)
        replica.index.add(choice.blocks, now, replica.queued)

    def ended(self, choice: Choice) -> None:
        """The whole answer came. Called before `finished`."""
        choice.replica.failures = 0

    def finished(self, choice: Choice, now: float, *, begun: bool, late: bool = False) -> None:
        """The request is over: it was answered, failed, or its caller left.

        `begun`: whether `first` was called. `late`: whether its deadline had passed."""
        replica = choice.replica
        if choice.probe and not begun:
            self._tried(choice)  # and not again at once where its caller left: each might wait for nothing
            replica.open_until = max(replica.open_until, now + self.policy.cooldown)
        if not begun and not late and replica.waiting == 1 and not replica.mutes:
            replica.quiet = None  # its only caller left early: that says nothing
        replica.inflight -= 1
        if begun:
            replica.index.add(choice.blocks, now, replica.queued)
        else:
            self._prefilled(choice)

    def _tried(self, choice: Choice) -> None:
        if choice.probe:
            choice.replica.probing = choice.replica.begun = False

    def _prefilled(self, choice: Choice) -> None:
        replica = choice.replica
        replica.waiting -= 1
        replica.pending -= choice.missing
        replica.queued -= len(choice.blocks)

    def failed(self, choice: Choice, now: float) -> None:
        """The replica was at fault. Called in addition to `finished`."""
        replica = choice.replica
        if self._open(replica) and (not choice.probe or now < replica.open_until):
            return  # it was sent before the breaker opened, of the same failure, or as a last resort
        replica.failures += 1
        if self._open(replica):
            again = min(replica.failures - self.policy.failures, 4)
            replica.open_until = now + self.policy.cooldown * 2**again
            replica.index.clear()
