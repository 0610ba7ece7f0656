"""Tenants, vary, ignore and keys: nobody reads another's answer, and what is the same is found."""

from __future__ import annotations

import asyncio
import enum
import tracemalloc
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, ConfigurationError, Normalize, Policy, Reason, Source


def layer_and_ask(**options: Any) -> tuple[CacheLayer, Any, list[Any]]:
    layer, calls = CacheLayer(semantic=False, **options), []

    @layer.cached
    async def ask(question: str) -> str:
        calls.append(question)
        return f"{len(calls)}"

    return layer, ask, calls


async def test_tenants_never_share_and_the_unnamed_share_among_themselves() -> None:
    layer, ask, calls = layer_and_ask()
    assert await ask("q") == "1"
    for tenant, answer in (("acme", "2"), ("beta", "3"), ("acme", "2"), ("acme", "2"), ("beta", "3")):
        with layer.scope(tenant=tenant):
            assert await ask("q") == answer
    assert await ask("q") == "1" and len(calls) == 3


async def test_a_tenant_is_required_where_the_layer_says_so() -> None:
    layer, ask, calls = layer_and_ask(tenancy="required")
    for _ in range(2):
        assert (await ask.outcome("q")).misses["memory"] is Reason.NO_TENANT
    with layer.scope(tenant="acme"):
        await ask("q")
        assert (await ask.outcome("q")).source is Source.MEMORY
    assert len(calls) == 3


async def test_the_scope_is_read_when_the_function_is_called_by_each_task() -> None:
    layer, ask, _ = layer_and_ask()

    async def one(tenant: str) -> set[str]:
        with layer.scope(tenant=tenant):
            return {await ask(f"{i % 3}") for i in range(30)}

    seen = await asyncio.gather(*(one(f"t{i}") for i in range(10)))
    assert len(set.union(*seen)) == 30


async def test_erasing_a_tenant_takes_its_entries_and_no_others() -> None:
    layer, ask, _ = layer_and_ask()
    for tenant in ("acme", "beta"):
        with layer.scope(tenant=tenant):
            await ask("a")
            await ask("b")
    assert await layer.erase(tenant="acme", dry_run=True) == 2
    assert await layer.erase(tenant="acme") == 2
    with layer.scope(tenant="acme"):
        assert (await ask.outcome("a")).source is Source.BACKEND
    with layer.scope(tenant="beta"):
        assert (await ask.outcome("a")).source is Source.MEMORY


async def test_vary_adds_what_the_arguments_do_not_show() -> None:
    layer, locale = CacheLayer(semantic=False), ContextVar("locale", default="en")

    @layer.cached(vary=[locale])
    async def ask(question: str) -> str:
        return locale.get()

    assert await ask("q") == "en"
    locale.set("de")
    assert await ask("q") == "de"
    locale.set("en")
    assert (await ask.outcome("q")).source is Source.MEMORY


async def test_ignore_key_and_text_shape_the_identity() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(ignore=["db"])
    async def ignoring(text: str, db: object) -> str:
        return text

    @layer.cached(key=lambda text, page=1: [text.lower(), page])
    async def keyed(text: str, page: int = 1) -> str:
        return text

    await ignoring("a", object())
    assert (await ignoring.outcome("a", object())).source is Source.MEMORY
    await keyed("A")
    assert (await keyed.outcome("a", page=1)).source is Source.MEMORY
    assert (await keyed.outcome("a", page=2)).source is Source.BACKEND


async def test_what_cannot_be_keyed_says_so_at_the_first_call() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def ask(text: str, db: object) -> str:
        return text

    with pytest.raises(ConfigurationError, match=r"'db'.*ignore=\['db'\]"):
        await ask("a", object())
    await ask("a", "plain")
    late = await ask.outcome("a", object())
    assert late.answer == "a" and late.misses["memory"] is Reason.NOT_KEYABLE


class Colour(enum.Enum):
    RED = 1


class Size(enum.Enum):
    SMALL = 1


ATOMS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
    | st.sampled_from([Colour.RED, Size.SMALL]) | st.decimals(allow_nan=False) | st.dates() | st.uuids()
)  # fmt: skip
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def same(a: Any, b: Any) -> bool:
    """What the docs call the same: JSON's rules inside lists and dicts, 1 is 1.0, classes count at the top."""
    if isinstance(a, enum.Enum) or isinstance(b, enum.Enum):
        return a is b
    return inner(a, b)


def inner(a: Any, b: Any) -> bool:
    a, b = (v.value if isinstance(v, enum.Enum) else v for v in (a, b))
    if isinstance(a, float) and isinstance(b, float) and (a != a or b != b):
        return a != a and b != b
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(inner, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(inner(a[k], b[k]) for k in a)
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return a == b if numbers or type(a) is type(b) else False


@given(VALUES, VALUES)
async def test_two_calls_share_an_answer_exactly_if_their_arguments_are_the_same(a: Any, b: Any) -> None:
    layer, calls = CacheLayer(semantic=False), []

    @layer.cached
    async def f(value: Any, other: Any = None) -> str:
        calls.append(value)
        return "x"

    for _ in range(3):  # through the canonical form, then through the raw form
        await f(a)
        await f(b)
    assert len(calls) == (1 if same(a, b) else 2)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.randoms())
async def test_the_order_of_keys_and_the_way_of_passing_do_not_matter(
    value: dict[str, Any], rng: Any
) -> None:
    layer, calls = CacheLayer(semantic=False), []

    @layer.cached
    async def f(one: Any, two: Any = 2) -> str:
        calls.append(one)
        return "x"

    items = list(value.items())
    rng.shuffle(items)
    for _ in range(2):
        await f(value)
        await f(dict(items), 2.0)
        await f(two=2, one=dict(items))
    assert len(calls) == 1


async def test_none_nan_and_infinity_are_told_apart_in_every_form() -> None:
    layer, calls = CacheLayer(semantic=False), []

    @layer.cached
    async def f(limit: Any) -> str:
        calls.append(limit)
        return repr(limit)

    for _ in range(3):
        for value in (None, float("nan"), float("inf"), float("-inf"), [None], [float("nan")], {"a": None}):
            assert await f(value) == repr(value)
    assert len(calls) == 7


async def test_arrays_are_keyed_by_dtype_shape_and_content() -> None:
    layer, calls = CacheLayer(semantic=False), []

    @layer.cached
    async def f(values: Any) -> int:
        calls.append(values)
        return len(calls)

    arrays = [np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((2, 3), np.float32), np.ones((2, 3)), bytes(48)]
    assert [await f(a) for a in arrays * 2] == [1, 2, 3, 4, 5] * 2
    with pytest.raises(ConfigurationError, match="object"):
        await CacheLayer(semantic=False).wrap(f, name="g")(np.array([object()]))


async def test_texts_are_folded_as_the_policy_says() -> None:
    strict = CacheLayer(policy=Policy(normalize=Normalize(nfc=False, trim=False)), semantic=False)
    loose = CacheLayer(
        policy=Policy(
            normalize=Normalize(
                case=True, whitespace=True, punctuation=True, invisible=True, confusables=True
            )
        ),
        semantic=False,
    )

    async def ask(question: str) -> str:
        return question

    exact, folded = strict.wrap(ask, name="a"), loose.wrap(ask, name="b")
    await exact("e\u0301 x")
    for other in ("\u00e9 x", "e\u0301 x "):
        assert (await exact.outcome(other)).source is Source.BACKEND
    await folded("Reset my password")
    for other in ("reset  my\npassword?", "re\u200bset my password!", "res\u0435t my password"):
        assert (await folded.outcome(other)).source is Source.MEMORY
    assert (await folded.outcome("reset my passwords")).source is Source.BACKEND


async def test_inner_white_space_counts_by_default() -> None:
    _, ask, calls = layer_and_ask()
    await ask("if a:\n    b")
    await ask("if a:\n  b")
    assert len(calls) == 2


async def test_the_whole_conversation_is_the_identity() -> None:
    layer, calls = CacheLayer(semantic=False), []

    @layer.cached
    async def chat(messages: list[dict[str, Any]], model: str = "m") -> str:
        calls.append(messages)
        return f"{len(calls)}"

    def said(*texts: str, system: str = "s") -> list[dict[str, str]]:
        roles = ("user", "assistant")
        return [{"role": "system", "content": system}] + [
            {"role": roles[i % 2], "content": text} for i, text in enumerate(texts)
        ]

    a = await chat(said("order 1", "cancel it?", "yes"))
    assert await chat(said("order 1", "cancel it?", " yes ")) == a
    others = [said("order 2", "cancel it?", "yes"), said("order 1", "renew it?", "yes"), said("yes")]
    others += [said("order 1", "cancel it?", "yes", system="t")]
    assert len({await chat(o) for o in others} | {a}) == 5
    assert await chat(said("order 1", "cancel it?", "yes"), model="n") not in {a}


async def test_what_a_function_in_a_thread_asks_is_asked_for_its_callers_tenant() -> None:
    layer, user = CacheLayer(semantic=False), ContextVar("user", default="nobody")
    profile = layer.wrap(lambda key: user.get(), name="profile")
    page = layer.wrap(lambda key: profile("mine"), name="page", vary=[user])
    for name in ("ann", "bob"):
        user.set(name)
        with layer.scope(tenant=name):
            assert await page.aio("home") == name


async def test_entries_of_very_many_tenants_take_no_more_than_they_are_weighed() -> None:
    layer, ask, _ = layer_and_ask()
    await ask("a")
    tracemalloc.start()
    for number in range(2000):
        with layer.scope(tenant=f"tenant {number}"):
            await ask("a")
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 1.5 * layer.stats()["bytes"]  # heads of keys are not weighed: a few hundred KiB a function
