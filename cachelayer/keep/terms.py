"""How long an answer is kept, under which tags, and what is compared of its call; calls the owner's functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

from ..durations import LONGEST, seconds
from ..errors import ConfigurationError
from ..flow.attempt import Faults
from ..types import Reason
from .call import Call, Function

_RESOURCES = frozenset({"SyncAPIResource", "AsyncAPIResource"})
"""What holds the methods of clients that are made by one generator: openai's, anthropic's, groq's, together's."""


def staleness(call: Call, most: float) -> float:
    """For how many seconds past its freshness an answer may serve `call`: `most` by the policy, or fewer as it asks."""
    asked = call.tightening.max_stale
    return most if asked is None else min(most, asked)


def lifetime(call: Call, answer: Any, faults: Faults) -> float:
    """Seconds for which `answer` is fresh, before any jitter; 0 if the owner's function failed."""
    function = call.function
    ttl = function.ttl if function.ttl is not None else _owners_ttl(call, answer, faults)
    if call.identity is not None and call.identity.text is not None:
        passing = faults.attempt_now("fresh", function.passing, call.identity)
        if passing:  # also if the owner's function failed: short is safe
            return min(ttl, function.fresh_ttl)
    return ttl


def vetoed(
    function: Function, cache_if: Callable[[Any], Any] | None, seen: Any, faults: Faults
) -> Reason | None:
    """Why the owner's `cache_if`, which is shown `seen`, does not let an answer be kept, or a page; None if it does."""
    if _is_page(function.fn, seen):
        return Reason.INCOMPLETE
    if cache_if is None:
        return None
    kept = faults.attempt_now("cache_if", lambda: bool(cache_if(seen)), of=function.name)
    return kept if isinstance(kept, Reason) else None if kept else Reason.VETOED


def _is_page(fn: Any, answer: Any) -> bool:
    """Whether `answer` of `fn` is markup where a client would have made an object of JSON: what a proxy said."""
    if type(answer) is not str or not answer.lstrip().startswith("<"):
        return False
    while isinstance(fn, partial):
        fn = fn.func
    behind = type(getattr(fn, "__self__", None))
    return not _RESOURCES.isdisjoint(cls.__name__ for cls in behind.__mro__)


def _owners_ttl(call: Call, answer: Any, faults: Faults) -> float:
    """The TTL that the owner's function gives this answer."""
    of_answer: Any = call.policy.ttl
    try:
        given = faults.attempt_now("ttl", of_answer, answer, of=call.function.name)
        ttl = 0.0 if isinstance(given, Reason) else seconds("ttl(answer)", given, most=inf)
        return min(ttl, LONGEST)
    except ConfigurationError as fault:  # too late to raise: the caller has paid for the answer
        faults.report("ttl", fault, call.function.name)
        return 0.0


def own_tags(call: Call, faults: Faults) -> tuple[str, ...] | Reason:
    """The tags of a call's answer; a reason if they cannot be made: without them, nobody could invalidate it."""
    function = call.function
    if call.tags is not None or not function.templated:
        return function.tags if call.tags is None else call.tags
    return faults.attempt_now("tags", function.tags_of, call.args, call.kwargs, of=function.name)


def begin(call: Call, epoch: int, faults: Faults) -> None:
    """The backend is about to be called, in this epoch; the function may change its arguments."""
    call.epoch, call.begun = epoch, True
    if call.function.own is not None:
        faults.attempt_now("vector", compared, call)
    if call.function.templated:
        call.tags = own_tags(call, faults)


def compared(call: Call) -> Any:
    """The argument that the owner's vectors compare, as it was when first looked at; None if texts are compared."""
    name, identifier = call.function.identifier.text, call.function.identifier
    if call.compared is None and call.function.own is not None and isinstance(name, str):
        bound = identifier.arguments(call.args, call.kwargs) or {}
        call.compared = identifier.held((), {name: bound.get(name)})[1][name]
    return call.compared
