"""Arguments are told by the names of the parameters that Python gives them to, and calls that it refuses by none."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cachelayer.exact.keys.parameters import Parameters

NAMES = "abcdef"
KINDS = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), max_size=len(NAMES))))
    made, given = [], False
    for name, kind in zip(NAMES, kinds, strict=False):
        optional = draw(st.booleans()) or (given and kind is not Parameter.KEYWORD_ONLY)
        given = given or (optional and kind is not Parameter.KEYWORD_ONLY)
        made.append(Parameter(name, kind, default="own" if optional else Parameter.empty))
    if draw(st.booleans()):
        at = sum(one.kind is not Parameter.KEYWORD_ONLY for one in made)
        made.insert(at, Parameter("rest", Parameter.VAR_POSITIONAL))
    if draw(st.booleans()):
        made.append(Parameter("more", Parameter.VAR_KEYWORD))
    return Signature(made)


CALLS = st.tuples(
    st.lists(st.integers(0, 1), max_size=7).map(tuple),
    st.dictionaries(st.sampled_from([*NAMES, "rest", "more", "*rest"]), st.integers(0, 1), max_size=3),
)


def of_python(signature: Signature, args: Any, kwargs: Any) -> dict[str, Any] | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if value not in ((), {})}


@given(signatures(), CALLS, CALLS)
def test_two_calls_are_bound_alike_exactly_if_python_binds_them_alike(
    signature: Signature, one: Any, other: Any
) -> None:
    bind = Parameters(signature).bind
    foreign = {n for n, p in signature.parameters.items() if p.kind is Parameter.POSITIONAL_ONLY} | {"*rest"}
    mine, others = (bind(*call) for call in (one, other))
    theirs = [of_python(signature, *call) for call in (one, other)]
    for call, found, wanted in zip((one, other), (mine, others), theirs, strict=True):
        if (
            found is None
        ):  # or a keyword has the name of another argument: no key then, rather than a wrong one
            assert wanted is None or foreign & call[1].keys()
        else:
            assert wanted is not None
    if mine is not None and others is not None:
        assert (mine == others) is (theirs[0] == theirs[1])
