"""What was declared invalid covers exactly what was begun before it and meant by it, in whatever order it is told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.exact.keys.canonical import encode
from cachelayer.exact.memory.slot import Slot
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


@pytest.mark.parametrize("how", ["forget_now", "forget", "forget_all"])
async def test_what_another_thread_makes_of_an_answer_before_it_is_gone_goes_with_it(how: str) -> None:
    begun: list[int] = []

    def made_of(slot: Slot) -> None:
        begun.append(held.epoch)
        if len(begun) == 1:  # kept before the invalidation ends
            looked_through.put(Slot(2, b"b", None, 10, tags=("a",)), 0.0)

    held = Holdings(made_of, Deferred(Faults(ManualClock())))
    looked_through, last = (held.memory(2**20, 2**20) for _ in range(2))
    last.put(Slot(1, b"a", None, 10, tags=("a",)), 0.0)
    if how == "forget_all":
        held.forget_all(unheard=False)
    else:
        what: Any = {"tags": frozenset("a")}
        assert (held.forget_now(**what) if how == "forget_now" else await held.forget(**what)) == 2
    assert looked_through.at(2) is None
    assert held.invalidated_since(begun[0], ("a",), b"", 3)  # kept after it


@pytest.mark.parametrize(
    ("what", "many"),
    [
        (lambda n: {"tags": {f"t{n}"}}, 17_000),
        (lambda n: n + 100, 17_000),
        (lambda n: {"wanted": [{"tenant": f"t{n}"}]}, 1_100),
    ],
    ids=["tags", "keys", "scopes"],
)
def test_so_many_declarations_are_remembered_and_what_was_begun_before_them_counts_as_invalid(
    what: Callable[[int], Any], many: int
) -> None:
    held = holdings()
    for n in range(many):
        declare(held, what(n))
    unknown = [held.invalidated_since(begun, ("a",), b"", 7) for begun in range(many + 1)]
    assert unknown == sorted(unknown, reverse=True), "all of them are earlier than what is remembered"
    assert 0 < sum(unknown) < many * 0.1
    assert held.gone_since({"a": 0}) == {"a": 0} and held.gone_since({"a": many - 1}) == {}
