"""What a wrapped function offers beside being called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ..errors import ConfigurationError
from ..exact.keys.canonical import NotKeyable
from ..exact.keys.sampling import sampled
from ..exact.memory.slot import Slot
from ..flow.background import offloaded
from ..flow.waiting import limited
from ..keep.call import Call, Function
from ..keep.parts import built_on
from ..keep.scope import Scope
from ..keep.transport_forms import TransportForms
from ..path.engine import Engine
from ..path.explain import Explanation, explain
from ..signatures import stand_for
from ..types import Outcome, Reason, Undivided

_MISFIT = (
    "the arguments do not fit its signature, although it accepts them: a decorator adds or drops some, but shows the "
    "signature of what it wraps (put the layer's decorator below it); or a keyword is called as a parameter in front "
    "of the / is (rename one of them)"
)
_KEYLESS = (
    "its key could not be made: key=, text=, vary=, self_key= or an argument raised {}; the log says where"
)


class Handle:
    """One wrapped function at work: makes its calls, serves them, and explains them."""

    def __init__(
        self, function: Function, engine: Engine, scope: Callable[[], Scope | None], *, tenancy_required: bool,
        invoke: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.function, self.engine, self._scope = function, engine, scope
        self.tenancy_required, self._invoke = tenancy_required, invoke
        self._now = engine.clock.monotonic
        self._faults, self._keeper = engine.faults, engine.keeper
        self._plain = not tenancy_required and function.policy.variants == 1 and function.policy.sampled
        """Whether identity and tightening alone decide how a call is served."""

    def call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], scope: Scope | None, arrived: float = 0.0
    ) -> Call:
        """The call of these arguments in this scope, keyed; `arrived` in monotonic seconds, 0 for now.

        Raises ConfigurationError if the very first call cannot be keyed; later ones go uncached.
        """
        function = self.function
        call = Call(function, args, kwargs, scope, self._invoke, arrived or self._now())
        if self.tenancy_required and call.tenant is None:
            call.reason = Reason.NO_TENANT
            return call
        identity = None
        try:
            identity = function.identifier.identify(args, kwargs, call.tenant)
        except NotKeyable as fault:
            if not function.keyed:
                raise ConfigurationError("arguments", function.name, str(fault)) from None
            call.unkeyable = str(fault)
        except Exception as fault:
            if self._faults.forgives("key", fault, function.name) is not None:
                call.reason, call.keyless = Reason.NOT_KEYABLE, _KEYLESS.format(type(fault).__name__)
                return call
            raise
        if identity is None:
            call.reason = Reason.NOT_KEYABLE
            if function.identifier.arguments(args, kwargs) is None:
                call.unkeyable = _MISFIT
            return call
        function.keyed = True
        call.identity, call.canonical = identity, identity.canonical
        if not self._plain:
            self._choose(call)
        keeper = self._keeper
        call.digest = keeper.digest(call.canonical)
        call.since = keeper.epoch
        if scope is not None and call.reason is None:
            tightening = call.tightening
            if tightening.no_cache and tightening.no_store:
                call.reason = Reason.NO_STORE
        return call

    def _choose(self, call: Call) -> None:
        """Which variant of the answer, and whether a sampled one may be cached."""
        function, policy = self.function, self.function.policy
        if policy.variants > 1:
            call.canonical += _variant(int(self.engine.keeper.random() * policy.variants))
        asked = None if policy.sampled else function.identifier.arguments(call.args, call.kwargs)
        if asked is not None and sampled(asked, function.fn):
            call.reason = Reason.SAMPLED

    def _each(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Call]:
        """The calls under which the variants of the answer are stored."""
        variants = self.function.policy.variants
        for n in range(variants):
            call = self.now(args, kwargs)
            if variants > 1 and call.identity is not None:
                call.canonical = call.identity.canonical + _variant(n)
                call.digest = self._keeper.digest(call.canonical)
            yield call

    @property
    def scope(self) -> Scope | None:
        """The current scope."""
        return self._scope()

    def now(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call of these arguments in the current scope."""
        return self.call(args, kwargs, self._scope())

    async def outcome(self, /, *args: Any, **kwargs: Any) -> Outcome:
        """The answer and how it came to be."""
        return await self.engine.serve(self.now(args, kwargs))

    async def landed(self, /, *args: Any, **kwargs: Any) -> tuple[Outcome, Slot | None]:
        """The outcome, and the entry behind it, where a transport's raw form may lead to it (see `TransportForms`)."""
        return await self.engine.landed(self.now(args, kwargs))

    def transport_forms(self) -> TransportForms:
        """A table of a transport's raw forms for this function."""
        return TransportForms(self.function, self.engine.keeper, self._scope)

    async def bypass(self, /, *args: Any, **kwargs: Any) -> Any:
        """The backend's answer; nothing is read or stored."""
        call = self.now(args, kwargs)
        call.reason = call.reason or Reason.BYPASS
        return (await self.engine.serve(call)).answer

    async def refresh(self, /, *args: Any, **kwargs: Any) -> Any:
        """The backend's answer, which replaces the stored one, or all its variants."""
        call, others = self._afresh(args, kwargs)
        answer = (await self.engine.serve(call)).answer
        if others:
            await self._forget(others)
        return answer

    def _afresh(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, list[Call]]:
        call = self.now(args, kwargs)
        call.tightening = call.tightening.and_(no_cache=True)
        return call, [one for one in self._each(args, kwargs) if one.digest != call.digest]

    async def invalidate(self, /, *args: Any, **kwargs: Any) -> int:
        """Forget this call's answer, in all its variants; returns how many entries went."""
        return await self._forget(self._each(args, kwargs))

    async def _forget(self, calls: Iterable[Call]) -> int:
        gone = 0
        await self.engine.tiers.ready()
        for call in calls:
            if call.identity is not None:
                gone += self.engine.keeper.forget_call(call)
                gone += await self.engine.tiers.forget(call.digest)
        return gone

    async def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """Why this call would hit or miss now; changes nothing and calls no backend."""
        return await explain(self.engine, self.now(args, kwargs))


def _variant(n: int) -> bytes:
    """The part of a key that tells the variants of an answer apart."""
    return b"#%d" % n


class PlainHandle(Handle):
    """The same for a plain function: nothing needs to be awaited."""

    def outcome_now(self, /, *args: Any, **kwargs: Any) -> Outcome:
        """See `Handle.outcome`."""
        return self.engine.serve_now(self.now(args, kwargs))

    def bypass_now(self, /, *args: Any, **kwargs: Any) -> Any:
        """See `Handle.bypass`."""
        call = self.now(args, kwargs)
        call.reason = call.reason or Reason.BYPASS
        return self.engine.serve_now(call).answer

    def refresh_now(self, /, *args: Any, **kwargs: Any) -> Any:
        """See `Handle.refresh`."""
        call, others = self._afresh(args, kwargs)
        answer = self.engine.serve_now(call).answer
        self._forget_now(others)
        return answer

    def invalidate_now(self, /, *args: Any, **kwargs: Any) -> int:
        """See `Handle.invalidate`."""
        return self._forget_now(self._each(args, kwargs))

    def _forget_now(self, calls: Iterable[Call]) -> int:
        gone, tiers, keeper = 0, self.engine.tiers, self.engine.keeper
        for call in calls:
            if call.identity is not None:
                gone += keeper.forget_call(call) + keeper.forget_now(tags=built_on(call.digest))
                if tiers.shared is not None or tiers.elsewhere.lasting:
                    gone += self._forget_elsewhere(call.digest)
        return gone

    def _forget_elsewhere(self, digest: int) -> int:
        tiers, portal = self.engine.tiers, self.engine.portal
        if not portal.here:
            return portal.run(tiers.forget(digest))
        tiers.background.spawn(partial(self._forgotten, digest), owed=True)
        return 0

    async def _forgotten(self, digest: int) -> None:
        await self.engine.tiers.forget(digest)

    def explain_now(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """See `Handle.explain`."""
        return self.engine.portal.run(explain(self.engine, self.now(args, kwargs)))


class InThread(Handle, Undivided):
    """A plain function's `aio`: the same answers, awaited; the function runs in a thread."""

    def __init__(self, handle: PlainHandle) -> None:
        super().__init__(
            handle.function, handle.engine, handle._scope, tenancy_required=handle.tenancy_required,
            invoke=handle._invoke,
        )  # fmt: skip
        stand_for(handle.function.fn, self)

    def now(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call, its function run in a thread."""
        call = super().now(args, kwargs)
        call.invoke = limited(offloaded(call.invoke), self.function.backend_budget)
        return call

    async def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The answer."""
        return (await self.outcome(*args, **kwargs)).answer
