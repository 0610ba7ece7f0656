"""Data that travels along the path of a request: the wrapped function, one call of it, the result of its flight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..exact.answers.frozen import Frozen
from ..exact.answers.joining import Joins, joined
from ..exact.keys.identity import Identifier, Identity
from ..exact.memory.raw_forms import RawForms
from ..exact.memory.table import Memory, Slot
from ..exact.wire.codec import Codec
from ..flow.attempt import Faults
from ..flow.background import offloaded
from ..observe.stats import FunctionStats
from ..policy import NOT_TIGHTENED, Policy
from ..protocols import Lease
from ..semantic.freshness import time_sensitive
from ..semantic.tier import SimilarTier
from ..types import Match, Reason, Source
from .scope import Build, Scope, around

MAX_TENANTS = 4096
"""Tenants per function that have raw forms of their own; beyond that, those of the oldest are dropped."""

SUPERSEDING = frozenset(
    (Reason.OVERSIZE, Reason.NOT_KEEPABLE, Reason.EMPTY_ANSWER, Reason.VETOED, Reason.TTL_ZERO)
)
"""Why an answer is not kept that is no failure. One that reports an error, was refused or is cut off is."""

Tags = tuple[str, ...] | Reason | None
"""An answer's own tags, or why they cannot be made; None before they are filled in."""


class Function:
    """One wrapped callable: identity, policy, counters, and where its answers are kept."""

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        *,
        policy: Policy,
        identifier: Identifier,
        memory: Memory,
        tags: tuple[str, ...] = (),
        share: bool = False,
        similar: bool = False,
        own: SimilarTier | None = None,
        plain: bool = False,
        linkable: bool = True,
        view: Callable[[Any], Any] | None = None,
        judge: Callable[[str, str], Any] | None = None,
        codec: Codec | None = None,
    ) -> None:
        self.name, self.fn, self.policy, self.identifier, self.memory = name, fn, policy, identifier, memory
        self.tags, self.share, self.similar = tags, share, similar
        self.own = own  # the similar tier of a function that brings its own vectors
        self.plain = plain
        """Whether it is a plain function, called in its caller's thread."""
        self.view, self.judge, self.codec = view, judge, codec
        self.joins: Joins | None = joined if view is None else None
        self.ttl = None if callable(policy.ttl) else float(policy.ttl)  # type: ignore[arg-type]
        self.ttl_reads = self.ttl is None  # whether the owner's function reads whole streams
        self.quiet = False  # whether callers themselves are told why an answer is not kept, so that the log need not be
        self.fresh_ttl = float(policy.fresh_ttl)  # type: ignore[arg-type]
        self.revalidate = float(policy.stale_while_revalidate)  # type: ignore[arg-type]
        self.if_error = float(policy.stale_if_error)  # type: ignore[arg-type]
        self.outlasts = max(self.revalidate, self.if_error)
        """Seconds for which an answer may still be served once it is no longer fresh."""
        self.rider_wait = float(policy.rider_wait)  # type: ignore[arg-type]
        self.flight_age = float(policy.flight_age)  # type: ignore[arg-type]
        self.keyed = False
        """Whether any call has had a key so far."""
        self.store_budget = float(policy.budgets.store)  # type: ignore[arg-type]
        self.backend_budget: float | None = policy.budgets.backend  # type: ignore[assignment]
        self.in_memory = policy.max_bytes > 0
        """Whether answers are kept in process."""
        self.records = policy.record is not None
        formed = linkable and policy.variants == 1 and not self.records
        self.linkable, self.formed = formed and self.in_memory, formed and not self.in_memory
        """Whether the arguments alone decide the key, so that raw forms may lead to entries in memory; or, without
        that memory, to keys."""
        self.templated = any("{" in tag for tag in tags)
        self.bare = not (self.templated or self.ttl is None or callable(policy.fresh) or self.records)
        """Whether keeping an answer runs none of the owner's code (ttl, fresh, tags with {}) and records nothing."""
        self.stats = FunctionStats()
        self.comparison: Any = None  # `comparing.Comparison`, where answers are compared with a reference's
        self.tracing: Any = None
        """`tracing.Tracing`, where requests are traced."""
        self._json = identifier.json_only
        self.raw_forms = RawForms(self._json)
        self.raw_forms_by: dict[str | None, RawForms] = {}
        """The same by tenant."""
        self.scopes: dict[str | None, bytes] = {}
        """Canonical bytes of (name, tenant), by tenant."""

    def raw_forms_of(self, tenant: str | None) -> RawForms:
        """The raw forms of a tenant, made when first needed."""
        if tenant is None:
            return self.raw_forms
        forms = self.raw_forms_by.get(tenant)
        if forms is None:
            if len(self.raw_forms_by) >= MAX_TENANTS:
                self.raw_forms_by.pop(next(iter(self.raw_forms_by)), None)
            forms = self.raw_forms_by[tenant] = RawForms(self._json)
        return forms

    def seen(self, answer: Any) -> Any:
        """What is read of an answer (for a stream, the list of its chunks): itself, or the owner's view of it."""
        return answer if self.view is None else self.view(answer)

    def passing(self, identity: Identity | None) -> bool:
        """Whether a request asks about what changes by the hour; only texts compared by meaning are looked at."""
        how = self.policy.fresh
        if how == "off" or self.identifier.by_vector or identity is None or identity.text is None:
            return False
        return bool(how(identity.text) if callable(how) else time_sensitive(identity.text))

    def tags_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
        """The tags of one call's answer, templates filled in with its arguments."""
        bound = self.identifier.arguments(args, kwargs) or {}
        return tuple(tag.format_map(bound) for tag in self.tags)


class Call:
    """One request on its way through the tiers."""

    tenant: str | None = None
    principal = ""
    deadline: float | None = None
    tightening = NOT_TIGHTENED
    identity: Identity | None = None
    canonical = b""
    digest = 0
    epoch = 0
    since = 0
    """The epoch (the count of invalidations) in which the call arrived; `epoch` is that in which its answer is made."""
    build: Build | None = None
    """The parts from which its answer is built."""
    parent: Build | None = None
    """The answer for which this call is made."""
    reason: Reason | None = None
    """Why this request bypasses every tier."""
    unkeyable = ""  # else a message: which argument cannot be part of a key
    keyless = ""  # else a message: what failed as the key was made, of which the log knows more
    looked: Reason | None = None
    """Why the shared store has no answer; None if it was not asked yet."""
    lease: Lease | None = None
    """The lease in the shared store: while it is held, other processes wait for this call's answer."""
    judged: tuple[Any, Reason | None] | None = None
    """(answer, why it must not be kept or None), if that was decided before `keep`."""
    sent_ahead = False
    """Whether a transport sends the caller its answer before it is kept."""
    suits: Callable[[Landing, bool], bool] | None = None
    """Whether a landing suits the caller, where a transport asks; what does not is neither counted nor handed over."""
    kept_only = False
    """Whether its caller wants what is kept and nothing else: the backend is not called, nor behind its back."""
    refreshes = False
    """Whether the backend is called behind its caller's back, who has a stale answer: a call that is no request."""
    stale: Slot | None = None
    """An entry past its TTL, which may be served if the backend fails (stale-if-error)."""
    similar: Any = None
    """The `Ask` that the similar tier was asked, to learn from once the true answer is known."""
    drawn: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """The arguments for the reference model, if this answer is to be compared with one; else None."""
    span: Any = None
    """The `tracing.Span` of a traced request."""
    later = False
    """Whether its answer may be kept after its caller has it."""
    begun = held = left = False
    """`begun`: the backend was called. `held`: with copies of the arguments. `left`: with the caller's own arguments,
    and the caller has gone on meanwhile."""
    compared: Any = None
    """The argument that the owner's vectors compare, once it has been looked at."""
    tags: Tags = None
    """Of its answer, if there are templates to fill in."""

    def __init__(
        self,
        function: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        scope: Scope | None,
        invoke: Callable[..., Any],
        arrived: float = 0.0,  # monotonic seconds
    ) -> None:
        self.function, self.args, self.kwargs, self.invoke = function, args, kwargs, invoke
        self.arrived = arrived
        if scope is not None:
            self.tenant, self.principal = scope.tenant, scope.principal
            self.deadline, self.tightening = scope.deadline, scope.tightening
            self.parent = around(scope)
        self.misses: dict[str, Reason] = {}
        self.timings: dict[str, float] = {}

    def takes(self, kept: Landing) -> bool:
        """Whether what is kept suits the caller, who else asks again."""
        return self.suits is None or self.suits(kept, True)

    def hold(self) -> None:
        """Copy the arguments as they are now: the caller goes on, and may change what it gave."""
        self.held = True
        self.args, self.kwargs = self.function.identifier.held(self.args, self.kwargs)

    def leave(self) -> None:
        """The caller goes on without the answer, for which others may still wait."""
        if self.begun:
            self.left = not self.held
        else:
            self.hold()

    def still(self, faults: Faults) -> bool:
        """Whether its key still fits its arguments, which somebody may have changed since."""
        asked = self.identity, self.args, self.kwargs, self.tenant
        return (
            faults.attempt_now("key", self.function.identifier.still, *asked, of=self.function.name) is True
        )

    def in_thread(self) -> Call:
        """The same call of a plain function, to be made on a loop: the function runs in a thread."""
        twin = Call(self.function, self.args, self.kwargs, None, offloaded(self.invoke), self.arrived)
        twin.tenant, twin.principal, twin.identity = self.tenant, self.principal, self.identity
        twin.canonical, twin.digest, twin.since = self.canonical, self.digest, self.since
        twin.held = self.held
        return twin

    @property
    def policy(self) -> Policy:
        return self.function.policy


class NotKept(Exception):
    """The caller wants what is kept and nothing else (`Call.kept_only`), and nothing is."""


class Landing:
    """The result of a flight. Its leader called the backend; each of its riders gets an answer of its own from it."""

    answer: Any = None
    """The object that the backend returned, for the leader alone; None if everyone gets a copy."""
    frozen: Frozen | None = None
    """What copies are made from; None if there is nothing to copy."""
    recording: Any = None
    """A live stream: `Recording` or `Tee`."""
    lent = False
    """Whether the stream is that of another call's flight."""
    slot: Slot | None = None
    """The entry in memory; None if the answer is not in memory."""
    span: Any = None
    """The span of the request that made it; None without tracing."""
    entry: int = 0
    """The entry's id, if an outcome had to name it before there was an entry."""
    match: Match | None = None
    similarity: float | None = None
    confidence: float | None = None
    age: float | None = None
    seconds: float = 0.0
    money = 0.0
    """Of the answer, by the owner's prices, once it was counted."""
    tokens: int = 0
    """Tokens of the answer, if `slot` is None."""
    stored: Reason | None = None
    epoch = 0
    """The epoch in which its backend call began; 0 if it was made elsewhere."""
    due: float | None = None
    """When it was made, in monotonic seconds, as long as it is still to be kept; else None."""
    delivered = False
    """Whether its caller has it already, and is counted when it is kept."""
    build: Build | None = None
    digest = 0
    tags: Tags = None
    """Of the call that it was made for."""

    def __init__(self, source: Source, call: Call | None = None) -> None:
        """`call`: the call that this process makes the answer for, if it does."""
        self.source = source
        if call is not None:
            self.epoch, self.build, self.span = call.epoch, call.build, call.span
            self.digest, self.tags = call.digest, call.tags

    def supersedes(self, call: Call, held: Slot | None) -> bool:
        """Whether it is an answer like any other that was asked for anew and is not kept, so that what was kept before
        it is out of date: `held`, unless it was begun later."""
        anew = call.tightening.no_cache or call.tightening.max_age is not None
        newer = held is not None and held.created - held.cost > call.arrived
        return anew and not newer and self.stored in SUPERSEDING

    def repeats(self, held: Slot | None) -> bool:
        """Whether this is the very answer that is held already, whichever process made it."""
        return self.slot is not None and held is not None and self.slot.origin == held.origin

    @property
    def shareable(self) -> bool:
        """Whether answers for riders can be made from this."""
        if self.recording is not None:
            return bool(self.recording.complete)
        return self.frozen is not None
