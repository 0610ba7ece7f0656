"""What was declared invalid covers exactly what was begun before it and meant by it, in whatever order it is told."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cachelayer.exact.keys.canonical import encode
from cachelayer.flow.attempt import Faults
from cachelayer.flow.deferred import Deferred
from cachelayer.keep.holdings import Holdings
from cachelayer.testing import ManualClock

TAGS, FUNCTIONS, TENANTS, KEYS = ("a", "b"), ("f", "g"), (None, "t", "u"), (7, 8)
SCOPES = {encode([function, tenant]): (function, tenant) for function, tenant in product(FUNCTIONS, TENANTS)}
WANTED = [
    {}, *({"tenant": one} for one in TENANTS), *({"function": one} for one in FUNCTIONS),
    *({"function": function, "tenant": tenant} for function, tenant in product(FUNCTIONS, TENANTS)),
]  # fmt: skip
DECLARED = st.one_of(
    st.builds(
        dict,
        tags=st.frozensets(st.sampled_from(TAGS)),
        scopes=st.frozensets(st.sampled_from(sorted(SCOPES))),
        wanted=st.lists(st.sampled_from(WANTED), max_size=2),
    ),
    st.sampled_from([{"everything": True}, {"everything": True, "unheard": True}]),
    st.sampled_from(KEYS),
)


def holdings() -> Holdings:
    return Holdings(lambda slot: None, Deferred(Faults(ManualClock())))


def declare(held: Holdings, one: Any) -> None:
    if isinstance(one, int):
        held.declare_key(one)
    else:
        held.declare(**one)


def meant(one: Any, tags: tuple[str, ...], scope: bytes, key: int) -> bool:
    if isinstance(one, int) or "everything" in one:
        return one == key or not isinstance(one, int)
    function, tenant = SCOPES.get(scope, ("", ""))
    wanted = any(
        w.get("function", function) == function and w.get("tenant", tenant) == tenant for w in one["wanted"]
    )
    return bool(one["tags"] & {*tags}) or scope in one["scopes"] or (scope != b"" and wanted)


@given(st.lists(DECLARED, max_size=6))
def test_an_answer_is_invalid_exactly_if_something_that_means_it_was_declared_after_it_was_begun(
    told: list[Any],
) -> None:
    held = holdings()
    for one in told:
        declare(held, one)
    for begun, scope, key in product(range(len(told) + 1), (*SCOPES, b""), (*KEYS, 9)):
        for tags in ((), ("a",), ("a", "b")):
            expected = any(meant(one, tags, scope, key) for one in told[begun:])
            assert held.invalidated_since(begun, tags, scope, key) is expected


@given(st.lists(DECLARED, max_size=6), st.fixed_dictionaries({tag: st.integers(0, 6) for tag in TAGS}))
def test_of_parts_exactly_those_are_gone_that_were_declared_invalid_after_each_was_read(
    told: list[Any], read: dict[str, int]
) -> None:
    held = holdings()
    for one in told:
        declare(held, one)
    lost = {tag: [meant(one, (tag,), b"", 0) for one in told] for tag in read}
    gone = {tag: at for tag, at in read.items() if any(lost[tag][at:])}
    assert held.gone_since(read) == gone
