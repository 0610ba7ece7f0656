"""The cost of every answer, computed once and kept with its entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exact.answers.usage import model_in, usage_of
from ..exact.keys.identity import Identity
from ..observe.cost import Bill
from ..types import Reason
from .call import Call, Function, Landing
from .keeper import Keeper
from .streams import seen_of
from .terms import own_tags


def account(keeper: Keeper, call: Call, landing: Landing, *, hit: bool, times: int = 1) -> None:
    """Enter an answer in its function's ledger, once per caller (`times`). A fault is counted and goes no further."""
    if times:
        keeper.faults.attempt_now("account", _account, keeper, call, landing, hit, times)


def _account(keeper: Keeper, call: Call, landing: Landing, hit: bool, times: int) -> None:
    ledger, slot = call.function.stats.ledger, landing.slot
    if ledger is None or (landing.frozen is None and landing.answer is None):
        return  # a stream: its bill comes at its end
    bill: Bill | None = None if slot is None else slot.meta
    if bill is None:
        bill = _bill(call, landing, keeper)
        if slot is not None:
            slot.meta = bill
    seconds = landing.seconds or call.timings.get("backend", 0.0)
    landing.money = ledger.add(bill, seconds, hit=hit, times=times, asked=hit or not call.refreshes)


def _bill(call: Call, landing: Landing, keeper: Keeper) -> Bill:
    function, kept = call.function, landing.frozen
    attempt = keeper.faults.attempt_now
    seen = (
        attempt("view", function.seen, landing.answer)
        if kept is None
        else attempt("view", seen_of, function, kept)
    )
    prompt, cached, completion = (0, 0, 0) if isinstance(seen, Reason) else usage_of(seen)
    own = () if landing.slot is None else own_tags(call, keeper.faults)
    tags = () if isinstance(own, Reason) else own
    model = named_in(call.kwargs, call.identity)
    if getattr(function.fn, "cachelayer_named_by_reply", False) is True:
        model = model_in(seen)
    return Bill(model or function.name, prompt, cached, completion, call.tenant, tags)


def model_of(function: Function, fields: Mapping[str, Any], identity: Identity | None) -> str:
    """The model that a call names in an argument `model`, else the function's own name."""
    return named_in(fields, identity) or function.name


def named_in(fields: Mapping[str, Any], identity: Identity | None) -> str:
    """The model that a call names in an argument `model`; '' if it names none."""
    model = fields.get("model")
    if model is None and identity is not None and b'"model"' in identity.canonical:
        model = identity.fields.get("model")
    return model if isinstance(model, str) else ""
