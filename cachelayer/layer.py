"""`CacheLayer`: composes the parts, wraps functions, and offers what concerns the whole."""

from __future__ import annotations

import functools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack, overload

from . import checks
from .durations import Duration, seconds
from .errors import ConfigurationError
from .flow import forks
from .flow.attempt import Faults
from .flow.background import Background
from .flow.loops import needed_loop
from .flow.portal import Portal
from .keep.keeper import Keeper
from .keep.parts import Noting
from .keep.scope import Scope
from .operate.lifecycle import Lifecycle
from .operate.upkeep import EVERYBODY, Upkeep
from .operate.watching import Watched, Watching
from .partial.face import Partial
from .path.engine import Engine
from .policy import NOT_TIGHTENED, Policy
from .protocols import Clock, Decider, Embedder, Store, VectorIndex, Verifier
from .semantic.tier import SimilarTier
from .tiers import wiring
from .tiers.hierarchy import Tiers
from .types import Outcome, Undivided
from .wrap.naming import speaks_openai
from .wrap.registry import Registry
from .wrap.scoped import Scoped
from .wrap.wrapped import C, CachedAsync, CachedPlain, Decorator, Options, P

R = TypeVar("R")


class CacheLayer(Undivided, wiring.Constructed, Lifecycle, Watched, Partial):
    """A cache for inference: wrap functions with `cached`, and callables that you do not own with `wrap`.

    policy: settings of every function that does not override them.
    store: a Redis URL ("redis://host:6379/0") or a Store, shared between processes.
    embedder: a model's name or directory, or an Embedder.
    index: a directory in which answers survive a restart (with a store they do anyway), or a VectorIndex.
    verifier: a Verifier of pairs of texts, or a Decider that makes the whole decision, instead of the built-in one.
    semantic: "auto" compares by meaning if its extra is installed; else True, `embedder`, `index` raise MissingExtra.
    tenancy: "required" serves calls without a tenant uncached.
    seed: deployments with different seeds have different keys.
    types: your own classes that may occur in answers read from a store or directory.

    Constructing one does no I/O, starts no thread and binds no event loop. Raises ConfigurationError.
    """

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        store: str | Store | None = None,
        embedder: Embedder | str | Path | None = None,
        index: VectorIndex | str | Path | None = None,
        verifier: Verifier | Decider | None = None,
        semantic: bool | Literal["auto"] = "auto",
        tenancy: Literal["optional", "required"] = "optional",
        clock: Clock | None = None,
        seed: int = 0,
        types: Sequence[Any] = (),
    ) -> None:
        wiring.check(
            policy=policy, tenancy=tenancy, semantic=semantic, seed=seed, clock=clock, embedder=embedder, index=index,
            types=types, verifier=verifier,
        )  # fmt: skip
        self.policy = policy or Policy()
        self.tenancy = tenancy
        self._clock = clock or wiring.SystemClock()
        faults, self._background = Faults(self._clock), Background()
        self._portal = Portal(faults)
        rng = random.Random()
        wanted = semantic if semantic != "auto" else self.policy.semantic
        self._similar: SimilarTier | None
        self._similar, self._why_off = wiring.similar_tier(
            wanted, embedder=embedder, index=index, verifier=verifier, faults=faults, background=self._background,
            random=rng.random,
            shadow=self.policy.shadow,
        )  # fmt: skip
        self._keeper = Keeper(
            clock=self._clock, random=rng.random, seed=seed, faults=faults, gone=lambda slot: self._tiers.gone(slot)
        )  # fmt: skip
        self._new_decider = functools.partial(wiring.decider_of, verifier, self.policy.shadow, rng.random)
        self._shared = wiring.shared_tier(
            store, types, clock=self._clock, keeper=self._keeper, faults=faults, background=self._background
        )
        self._tiers = Tiers(
            shared=self._shared,
            clock=self._clock, keeper=self._keeper, similar=self._similar, faults=faults, portal=self._portal,
            background=self._background,
        )  # fmt: skip
        self._scope: ContextVar[Scope | None] = ContextVar("cachelayer_scope", default=None)
        self._engine = Engine(
            clock=self._clock, keeper=self._keeper, tiers=self._tiers, faults=faults, portal=self._portal,
            noting=Noting(self._scope, self._keeper.gone_since),
        )  # fmt: skip
        self._upkeep = Upkeep(self._engine, lambda: self._watching.forget_texts())
        self._memory = self._keeper.memory(self.policy.max_bytes, self.policy.max_item_bytes)
        self._registry = Registry(
            self._engine, self.policy, self._memory, self._scope.get, why_off=self._why_off,
            tenancy_required=tenancy == "required", wrapped=lambda function: self._watching.attend(function),
            own_tier=wiring.own_tiers(self.policy.shadow, rng.random, faults, self._background),
        )  # fmt: skip
        self._tiers.elsewhere = wiring.elsewhere(index, types, self._tiers, self._registry.functions)
        self._watching = Watching(self._registry.functions, self._tiers.shadows, self._states, self._keeper)
        forks.anew(self, _reset)

    def __repr__(self) -> str:
        off = f"exact only ({self._why_off})"
        similar = off if self._similar is None else f"similar tier {self._similar.state}"
        return (
            f"<CacheLayer: {len(self._registry.functions)} functions, {len(self._memory)} entries, {similar}>"
        )

    # wrapping ----------------------------------------------------------------------------------------------------

    @overload
    def cached(self, fn: Callable[P, C], /) -> CachedAsync[P, C]: ...  # type: ignore[overload-overlap]
    @overload
    def cached(self, fn: Callable[P, AsyncIterator[R]], /) -> CachedAsync[P, AsyncIterator[R]]: ...  # type: ignore[overload-overlap]
    @overload
    def cached(self, fn: Callable[P, R], /) -> CachedPlain[P, R]: ...
    @overload
    def cached(self, fn: None = None, /, **options: Unpack[Options]) -> Decorator: ...
    def cached(self, fn: Any = None, /, **options: Any) -> Any:
        """Cache a function's answers: `@layer.cached` or `@layer.cached(ttl="10m", ...)`.

        Options are the fields of `Policy` and these. Raises ConfigurationError naming option, value and remedy.
        A function defined again (in a notebook's cell) replaces the one before; once edited, it has answers of its own.

        name, version: identify the function in keys.
        text: the parameter compared by meaning; or, together with `key`, a function of the arguments that returns it.
        vector: computes the vector of an argument that is not text; if it is not async, it runs in a thread.
        tags: templates over the arguments, such as "kb:{topic}", by which answers are invalidated.
        ignore: parameters that do not affect the answer.
        vary: callables or ContextVars whose values do affect it.
        key: a function of the arguments whose result replaces them in the key, except what `text` and `self_key` name.
        self_key: which attributes of a method's object are in the key, beside its class.
        share_self: True keeps the object out of the key altogether.
        share: give every caller the same object instead of a copy.
        view: a function of the answer: what to read of it, instead of itself, or a `Reason` not to keep it.
        judge: whether two answers, given as text, say the same; called in the background.
        codec: encodes the answers for a store, instead of the layer's own.
        """
        if not isinstance(self, CacheLayer):
            raise ConfigurationError("layer", self, "make one: layer = CacheLayer(), then @layer.cached")
        if fn is None:
            return functools.partial(self._registry.wrap, options=options, wire=False)
        return self._registry.wrap(fn, options=options, wire=False)

    @overload
    def wrap(self, fn: Callable[P, C], /, **options: Unpack[Options]) -> CachedAsync[P, C]: ...  # type: ignore[overload-overlap]
    @overload
    def wrap(  # type: ignore[overload-overlap]
        self, fn: Callable[P, AsyncIterator[R]], /, **options: Unpack[Options]
    ) -> CachedAsync[P, AsyncIterator[R]]: ...
    @overload
    def wrap(self, fn: Callable[P, R], /, **options: Unpack[Options]) -> CachedPlain[P, R]: ...
    def wrap(self, fn: Any, /, **options: Any) -> Any:
        """Cache a callable that you do not own; the same options as `cached`.

        Callables of `openai` and `litellm`, and those with an attribute `cachelayer_wire = True`, are taken to have
        OpenAI's parameters; those that do not affect the answer are left out of the key.
        """
        return self._registry.wrap(fn, options=options, wire=speaks_openai(fn))

    # scope -------------------------------------------------------------------------------------------------------

    def scope(
        self, *, tenant: str | None = None, principal: str | None = None, deadline: Duration | None = None
    ) -> Scoped:
        """Calls inside belong to `tenant` and are made by `principal`; tiers take at most `deadline` from now on.

        For `with`, or as a decorator of a function of any kind, whose calls it then covers.
        """
        for name, given in (("tenant", tenant), ("principal", principal)):
            if given is not None:
                checks.named(name, given)
        most = None if deadline is None else seconds("deadline", deadline, zero=False)

        def inner(old: Scope) -> Scope:
            by = old.deadline
            if most is not None:
                at = self._clock.monotonic() + most
                by = at if by is None else min(by, at)
            return old._replace(
                tenant=tenant or old.tenant, principal=principal or old.principal, deadline=by
            )

        return Scoped(self._scope, inner)

    def tighten(self, **fields: Any) -> Scoped:
        """Make calls inside stricter: `no_cache`, `no_store`, `no_similar`, `max_error_rate`, `max_age`, `max_stale`.

        For `with`, or as a decorator. Raises LooseningError, there, if a field would loosen what is already set.
        """
        NOT_TIGHTENED.and_(**fields)  # what cannot be is told at once

        def inner(old: Scope) -> Scope:
            return old._replace(tightening=old.tightening.and_(self._registry.loosest, **fields))

        return Scoped(self._scope, inner)

    # the layer as a whole ----------------------------------------------------------------------------------------

    async def erase(self, *, tenant: str = EVERYBODY, dry_run: bool = False) -> int:
        """Remove every trace of a tenant's answers, or of all answers; returns how many entries this process dropped.

        Raises ConfigurationError for a tenant that is not a name: an accidental None must not remove everything. Raises
        StoreFault if Redis or the disk still holds some of it: call it again then.
        """
        return await self._upkeep.erase(tenant, dry_run)

    async def report_wrong(self, outcome: Outcome | str) -> bool:
        """The answer of `outcome` (or its id) was wrong: drop it and what it taught. False if it is unknown.

        Inside a scope also False for another tenant's answer, and once its principal has reported too many of others'.
        Of what memory does not hold no tenant is known here but by the id, if that was an entry's: hand ids to nobody
        but who got the answer.
        """
        entry = checks.entry_of(outcome)
        return await self._engine.keeping.report_wrong(entry, self._scope.get() or Scope())

    async def change_model(self, embedder: Embedder | str | Path) -> int:
        """Embed all entries with another model while the old one serves, then switch; returns how many entries.

        Raises ConfigurationError if the similar tier does not serve, or if the layer has a directory (`index=`).
        """
        return await self._upkeep.change_model(wiring.remembering(embedder), self._new_decider())

    def stats(self) -> dict[str, Any]:
        """Counters, latencies (seconds) and states, as plain dicts, numbers and strings."""
        functions = {name: counters.summary() for name, counters in self._watching.counters.items()}
        return {"functions": functions, **self._states()}

    def _states(self) -> dict[str, Any]:
        off = {"state": "off", "why": self._why_off}
        return {**self._upkeep.stats(), "similar": off if self._similar is None else self._similar.stats()}

    async def start(self) -> None:
        needed_loop()
        self._watching.start()
        if self._shared is not None:
            await self._shared.start()
        for tier in self._tiers.every:
            await tier.start()
        await self._tiers.elsewhere.start()

    async def flush(self) -> None:
        """Wait until all answers so far are stored, findable by meaning and shadow-checked."""
        needed_loop()
        await self._tiers.settle()
        await self._portal.arun(self._tiers.settle)

    async def _stop(self, limit: float) -> None:
        tiers = self._tiers
        self._watching.stop()
        self._keeper.deferred.settle()
        for tier in tiers.every:
            tier.closing()
        async with AsyncExitStack() as then:  # backwards; each of them, whatever became of those before it
            if self._shared is not None:
                then.push_async_callback(self._portal.arun, self._shared.aclose)
                then.push_async_callback(self._shared.aclose)
            for tier in tiers.every:
                then.push_async_callback(tier.aclose)
            then.push_async_callback(tiers.elsewhere.aclose)
            then.push_async_callback(tiers.writeback.drain, limit)  # what waited for a model, ready just now
            then.push_async_callback(self._portal.arun, self._background.cancel)
            then.push_async_callback(self._background.cancel)
            then.push_async_callback(tiers.learning.aclose, limit)
            then.push_async_callback(tiers.recorder.aclose, limit)
            await tiers.writeback.drain(limit)


def engine_of(layer: CacheLayer) -> Engine:
    """For adapters and commands: the clock, faults, scope and tiers of a layer. Not part of the public interface."""
    return layer._engine


def _reset(mine: CacheLayer) -> None:
    """After a fork: the child takes over nothing that is under way in the parent."""
    own = mine._tiers
    for part in (mine._keeper, mine._engine.flights, mine._portal, mine._background, mine._watching):
        part.reset()
    for tier in (own.writeback, own.learning, own.recorder, own.shared, own.elsewhere, *own.every):
        if tier is not None:
            tier.reset()
