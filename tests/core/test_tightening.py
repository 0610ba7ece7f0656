"""What a request restricts: another restriction inside it is as strict or refused, and nonsense is refused by name."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, ConfigurationError, LooseningError
from cachelayer.policy import NOT_TIGHTENED, Tightening
from cachelayer.testing import Gate

OWN = 0.5
"""The highest error rate that any policy allows."""
_SECONDS = st.sampled_from([0.0, 1.0, 60.0, math.nextafter(60.0, 61.0), 3600.0])
_OUTER = {
    "no_cache": st.booleans(),
    "no_store": st.booleans(),
    "no_similar": st.booleans(),
    "max_error_rate": st.sampled_from([0.0, 0.01, OWN]),
    "max_age": _SECONDS,
    "max_stale": _SECONDS,
}
_INNER = {**_OUTER, "max_error_rate": st.sampled_from([0.0, 0.01, OWN, math.nextafter(OWN, 1.0)])}


def _room(restricted: Tightening, name: str) -> float:
    """How much a restriction leaves open: 0 is the strictest."""
    value = getattr(restricted, name)
    if isinstance(value, bool):
        return 0 if value else 1
    open_ = OWN if name == "max_error_rate" else math.inf
    return open_ if value is None else float(value)


@given(outer=st.fixed_dictionaries({}, optional=_OUTER), inner=st.fixed_dictionaries({}, optional=_INNER))
def test_a_restriction_inside_another_is_refused_exactly_if_a_field_is_looser(
    outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    first = NOT_TIGHTENED.and_(OWN, **outer)
    asked = Tightening(**inner)
    looser = [name for name in inner if _room(asked, name) > _room(first, name)]
    if looser:
        with pytest.raises(LooseningError, match=looser[0]):
            first.and_(OWN, **inner)
    else:
        assert first.and_(OWN, **inner) == Tightening(**{**outer, **inner})


async def test_calls_that_restrict_nothing_share_one_flight_with_all_others() -> None:
    layer, gate = CacheLayer(semantic=False), Gate()
    ask = layer.wrap(gate, name="ask")
    calls = [asyncio.create_task(ask("q"))]
    for restrictions in ({}, {"no_cache": False}, {"no_store": False, "no_similar": False}):
        with layer.tighten(**restrictions):
            calls.append(asyncio.create_task(ask("q")))
    await gate.entered()
    gate.open()
    assert await asyncio.gather(*calls) == ["answer 1"] * 4 and gate.calls == 1


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("no_cache", "yes", "True or False"),
        ("no_store", 1, "True or False"),
        ("no_similar", None, "True or False"),
        ("max_error_rate", math.nan, "from 0 to 1"),
        ("max_error_rate", -0.1, "from 0 to 1"),
        ("max_error_rate", "low", "from 0 to 1"),
        ("max_age", math.nan, "give seconds"),
        ("max_age", -1, "0 or more"),
        ("max_stale", True, "give seconds"),
        ("no_chache", True, "did you mean 'no_cache'"),
    ],
)
def test_a_restriction_that_makes_no_sense_is_refused_by_name(field: str, value: object, remedy: str) -> None:
    layer = CacheLayer(semantic=False)
    with pytest.raises(ConfigurationError) as fault, layer.tighten(**{field: value}):
        pass
    assert f"{field}={value!r}" in str(fault.value) and remedy in str(fault.value)
