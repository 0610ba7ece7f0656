"""Why a request would hit or miss: the path walked without effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..exact.keys.canonical import encode
from ..flow.breaker import CLOSED
from ..keep.call import Call
from ..keep.terms import staleness
from ..types import Reason
from .engine import Engine

PATIENCE = 1.0
"""Seconds to wait for the shared store; no caller is waiting for an answer."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each tier would say now. `str()` makes a text for people; it holds the request's own text."""

    function: str
    verdict: str
    """'exact hit', 'similar hit', 'miss' or 'bypass'."""
    reasons: dict[str, Reason] = field(default_factory=dict)
    key: str = ""
    text: str | None = None
    """What is compared by meaning."""
    scope: dict[str, Any] = field(default_factory=dict)
    """What must be equal, field by field."""
    age: float | None = None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    """Nearest entries: similarity, text."""
    detail: str = ""
    differs_most: str | None = None
    """The scope field that differs most often among this function's misses."""
    why: str = ""
    """Of a bypass: which argument has no key. Of a miss: why answers of the function were not stored, how often."""

    def __str__(self) -> str:
        lines = [f"{self.function}: {self.verdict}"]
        lines += [f"  {tier}: {reason}" for tier, reason in self.reasons.items()]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.detail:
            lines.append(f"  decided by: {self.detail}")
        lines += [f"  near: {c['similarity']:.3f}  {c['text']}" for c in self.candidates]
        exact = self.verdict == "exact hit" or self.reasons.get("similar") is Reason.OFF
        how = "exactly" if exact else "by meaning"
        lines.append(f"  compared {how}: {self.text!r}" if self.text else "  compared by meaning: nothing")
        lines += [f"  must be equal: {name} = {_short(value)}" for name, value in self.scope.items()]
        if self.differs_most:
            lines.append(f"  differs most often between misses: {self.differs_most}")
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What a notebook shows: the text for people."""
        printer.text(str(self))


async def explain(engine: Engine, call: Call) -> Explanation:
    """Walk the tiers for `call`; nothing is counted, kept or called."""
    most = call.function.stats.differs.most_common(1)
    differs = most[0][0] if most else None
    name = call.function.name
    if call.reason is not None or call.identity is None:
        reasons, why = {"memory": call.reason or Reason.NOT_KEYABLE}, call.unkeyable or call.keyless
        return Explanation(name, "bypass", reasons, differs_most=differs, why=why)
    identity = call.identity
    facts: dict[str, Any] = {
        "key": f"{call.digest:032x}", "text": identity.text, "scope": identity.scope, "differs_most": differs,
    }  # fmt: skip
    age, reason = _recalled(engine, call)
    reasons = {} if reason is None else {"memory": reason}
    if reason is not None and engine.tiers.shared is not None:
        age, reason = await _shared(engine, call)
        reasons.update({} if reason is None else {engine.tiers.shared.store.name: reason})
    if reason is None:
        return Explanation(name, "exact hit", reasons, age=age, **facts)
    similar = await engine.tiers.meaning.explain(call)
    facts["candidates"], facts["detail"] = similar.candidates, similar.detail
    if similar.reason is None:
        return Explanation(name, "similar hit", reasons, **facts)
    facts["why"] = _not_stored(call)
    return Explanation(name, "miss", {**reasons, "similar": similar.reason}, **facts)


def _not_stored(call: Call) -> str:
    counts = ", ".join(f"{reason} {n}" for reason, n in dict(call.function.stats.kept_out).items())
    return f"of the answers so far, not stored: {counts}" if counts else ""


def _recalled(engine: Engine, call: Call) -> tuple[float | None, Reason | None]:
    """The age of the answer in memory that would be served, or why none would."""
    if call.tightening.no_cache:
        return None, Reason.NO_CACHE
    slot, now = engine.keeper.peek(call), engine.clock.monotonic()
    if slot is None:
        return None, Reason.ABSENT if call.function.in_memory else Reason.OFF
    return _served(call, now - slot.created, now - slot.ends)


async def _shared(engine: Engine, call: Call) -> tuple[float | None, Reason | None]:
    """The same for the shared store, which is only read."""
    shared = engine.tiers.shared
    assert shared is not None
    if call.tightening.no_cache:
        return None, Reason.NO_CACHE
    if shared.breaker.state is not CLOSED:
        return None, Reason.BREAKER_OPEN
    asked = shared.store.get(call.digest.to_bytes(16, "big"), call.canonical)
    found = await engine.faults.attempt("store", asked, PATIENCE)
    if found is None or isinstance(found, Reason):
        return None, Reason.ABSENT if found is None else found
    now = engine.clock.time()
    return _served(call, now - found.created, now - found.fresh_until)


def _served(call: Call, age: float, late: float) -> tuple[float | None, Reason | None]:
    """Whether an answer would be served at this age, `late` seconds past its freshness."""
    oldest = call.tightening.max_age
    fits = late < staleness(call, call.function.revalidate) and (oldest is None or age <= oldest)
    return (age, None) if fits else (None, Reason.EXPIRED)


def _short(value: Any) -> str:
    text = encode(value).decode(errors="replace")
    return text if len(text) <= 80 else text[:77] + "..."
