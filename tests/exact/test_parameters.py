"""Arguments are told by the names of the parameters that Python gives them to, and calls that it refuses by none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import pytest

from cachelayer.exact.keys.parameters import Parameters

NAMES = ("a", "b", "c", "rest", "more", "*rest", "other")
Call = tuple[tuple[int, ...], dict[str, int]]


def calls() -> Iterator[Call]:
    """All with up to three arguments of two values by position, and two by name."""
    args = [given for length in range(4) for given in product((0, 1), repeat=length)]
    for names in (names for length in range(3) for names in combinations(NAMES, length)):
        for values in product((0, 1), repeat=len(names)):
            yield from ((given, dict(zip(names, values, strict=True))) for given in args)


def by_python(signature: inspect.Signature, args: Any, kwargs: Any) -> str | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    told = {name: sorted(v.items()) if name == "more" else v for name, v in bound.arguments.items()}
    return repr(sorted(told.items()))


@pytest.mark.parametrize(
    "fn",
    [
        lambda: 0,
        lambda a: 0,
        lambda a, b: 0,
        lambda a, b=1: 0,
        lambda a=0, b=1: 0,
        lambda a, /, b: 0,
        lambda a, /, b=1: 0,
        lambda a, *, b: 0,
        lambda a, *, b=1, c=0: 0,
        lambda *rest: 0,
        lambda **more: 0,
        lambda a, /, **more: 0,
        lambda a=0, /, *rest, b=1, **more: 0,
        lambda a, *rest, b: 0,
        lambda *rest, **more: 0,
        lambda a, b, /, *, c, **more: 0,
    ],
    ids=lambda fn: str(inspect.signature(fn)),
)
def test_two_calls_are_bound_alike_exactly_if_python_binds_them_alike(fn: Callable[..., Any]) -> None:
    signature = inspect.signature(fn)
    foreign = {n for n, p in signature.parameters.items() if p.kind is p.POSITIONAL_ONLY} | {"*rest"}
    mine, theirs = dict[str, str](), dict[str, str]()
    for args, kwargs in calls():
        bound, wanted = Parameters(signature).bind(args, kwargs), by_python(signature, args, kwargs)
        if bound is None:  # no key, rather than a wrong one, where a keyword has the name of another argument
            assert wanted is None or foreign & kwargs.keys()
            continue
        found = repr(sorted(bound.items()))
        assert wanted is not None
        assert mine.setdefault(wanted, found) == found and theirs.setdefault(found, wanted) == wanted
