"""`vector=`: what is no text is compared by the owner's vectors, and served only where its own answers allow it."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.semantic.evidence.nearness import BANDS, Nearness, NearnessDecider, band
from cachelayer.types import Candidate, Query, Reason

DIGITS = np.random.default_rng(1).normal(size=(5, 64)).astype(np.float32)
"""Five pictures; what is asked are noisy copies of them."""


def noisy(rng: np.random.Generator, label: int, noise: float = 0.1) -> np.ndarray:
    return (DIGITS[label] + noise * rng.normal(size=64)).astype(np.float32)


def unit(picture: np.ndarray) -> np.ndarray:
    return picture / np.linalg.norm(picture)


def layer_of(**policy: Any) -> CacheLayer:
    return CacheLayer(policy=Policy(shadow=0.25, **policy), embedder=None)


def reader(layer: CacheLayer, calls: list[int], **options: Any) -> Any:
    @layer.cached(vector=unit, name=f"reader{len(calls)}{options}", **options)
    async def read(picture: np.ndarray, *, model: str = "a") -> str:
        calls.append(1)
        best = int((DIGITS @ picture).argmax())
        return f"digit {best} by {model}"

    return read


async def ask_many(
    layer: CacheLayer, read: Any, rng: np.random.Generator, times: int
) -> list[tuple[int, Any]]:
    out = []
    for _ in range(times):
        label = int(rng.integers(5))
        out.append((label, await read.outcome(noisy(rng, label))))
        await layer.flush()
    return out


async def test_pictures_hit_once_their_answers_have_shown_how_near_is_near() -> None:
    layer, calls = layer_of(max_error_rate=0.05), []
    read = reader(layer, calls, text="picture")
    async with layer:
        seen = await ask_many(layer, read, np.random.default_rng(2), 150)
    first, later = seen[:15], seen[75:]
    assert not any(outcome.match == "similar" for _, outcome in first)
    hits = [(label, outcome) for label, outcome in later if outcome.match == "similar"]
    assert len(hits) > len(later) // 2
    assert all(outcome.answer == f"digit {label} by a" for label, outcome in hits)


async def test_unlike_answers_for_near_vectors_are_never_served() -> None:
    layer, calls = layer_of(max_error_rate=0.05), []
    number = iter(range(10**6))

    @layer.cached(vector=unit)
    async def count(picture: np.ndarray) -> int:
        return next(number)

    async with layer:
        seen = await ask_many(layer, count, np.random.default_rng(3), 120)
    assert not any(outcome.match == "similar" for _, outcome in seen)
    assert calls == []


async def test_every_other_argument_stays_a_scope_of_its_own() -> None:
    layer, calls = layer_of(max_error_rate=0.05), []
    read = reader(layer, calls, text="picture")
    rng = np.random.default_rng(4)
    async with layer:
        await ask_many(layer, read, rng, 150)
        other = await read.outcome(noisy(rng, 1), model="b")
        assert (other.source, other.answer) == ("backend", "digit 1 by b")
        assert other.misses["similar"] is Reason.NO_CANDIDATE


async def test_an_equal_picture_is_an_exact_hit_and_another_one_is_none() -> None:
    layer, calls = layer_of(), []
    read = reader(layer, calls, text="picture")
    picture = noisy(np.random.default_rng(5), 2)
    async with layer:
        await read(picture)
        assert (await read.outcome(picture.copy())).match == "exact"
        assert (await read.outcome(picture + 1)).source == "backend"


async def test_asynchronous_vectors_serve_and_faulty_ones_are_misses() -> None:
    layer = layer_of()

    async def vector(picture: np.ndarray) -> np.ndarray:
        await asyncio.sleep(0)
        return picture[: 3 if picture[0] > 0 else 4]

    @layer.cached(vector=vector)
    async def read(picture: np.ndarray) -> str:
        return "seen"

    async with layer:
        assert await read(np.array([1.0, 2, 3, 4])) == "seen"
        await layer.flush()
        other = await read.outcome(np.array([-1.0, 2, 3, 4]))  # of another dimension than the first
        assert (other.answer, other.misses["similar"]) == ("seen", Reason.BAD_VECTOR)
        nothing = await read.outcome(np.array([2.0, np.nan, 3, 4]))
        assert (nothing.answer, nothing.misses["similar"]) == ("seen", Reason.BAD_VECTOR)


def raising(picture: str) -> object:
    return 1 / 0


@pytest.mark.parametrize(
    ("vector", "told"),
    [
        (lambda picture: picture, "vector= of read returned no vector, but str"),
        (lambda picture: [], "vector= of read returned vectors that hold no number"),
        (lambda picture: [0.0], "vector= of read returned a zero or non-finite vector"),
        (raising, f"ZeroDivisionError at test_own_vectors.py:{raising.__code__.co_firstlineno + 1}"),
    ],
)
async def test_what_is_wrong_with_a_vector_is_told_and_no_argument(
    vector: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def read(picture: str) -> str:
        return "seen"

    layer = layer_of()
    cached = layer.cached(read, vector=vector, name="read")
    async with layer:
        await cached("a secret")
    assert told in caplog.text and "secret" not in caplog.text


async def test_an_erased_tenant_and_a_wrong_answer_are_no_candidates() -> None:
    layer, calls = layer_of(max_error_rate=0.05), []
    read = reader(layer, calls, text="picture")
    rng = np.random.default_rng(6)
    async with layer:
        seen = await ask_many(layer, read, rng, 150)
        hit = next(outcome for _, outcome in reversed(seen) if outcome.match == "similar")
        assert await layer.report_wrong(hit)
        own = layer.stats()["vectors"]
        entries = next(iter(own.values()))["entries"]
        assert entries > 0
        await layer.erase()
        assert next(iter(layer.stats()["vectors"].values()))["entries"] == 0


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"vector": 3}, "vector"),
        ({"vector": unit, "key": str}, "vector"),
        ({"vector": unit, "text": str}, "vector"),
    ],
)
def test_what_makes_no_vector_is_told_where_it_is_wrapped(options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError, match=field):
        CacheLayer(embedder=None).cached(lambda picture: picture, name="f", **options)


def test_of_several_parameters_one_is_named() -> None:
    def read(picture: bytes, size: int) -> str:
        return ""

    with pytest.raises(ConfigurationError, match="text"):
        CacheLayer(embedder=None).cached(read, vector=unit)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=300), st.sampled_from([0.01, 0.05, 0.2]))
def test_what_is_within_reach_kept_the_bound_in_every_comparison_so_far(
    compared: list[tuple[float, bool]], bound: float
) -> None:
    curve = Nearness()
    for distance, right in compared:
        curve.learn(distance, right)
    reach = curve.reach(bound)
    inside = [right for distance, right in compared if band(distance) <= reach]
    assert reach < BANDS
    if reach >= 0:
        assert len(inside) >= 1 / bound - 1 - 1e-6
        assert inside.count(False) / len(inside) <= bound * 1.1  # what is long past weighs less


@given(st.floats(0, 2), st.floats(0, 2))
def test_bands_grow_with_the_distance(a: float, b: float) -> None:
    near, far = sorted((a, b))
    assert 0 <= band(near) <= band(far) < BANDS


async def test_the_share_of_wrong_answers_keeps_to_the_bound_where_vectors_mislead() -> None:
    """Two labels share a place, so that a near picture is right nine times in ten."""
    layer = layer_of(max_error_rate=0.2)
    chance = random.Random(7)
    rng = np.random.default_rng(7)

    @layer.cached(vector=unit)
    async def read(picture: np.ndarray) -> str:
        return "rare" if chance.random() < 0.1 else f"digit {int((DIGITS @ picture).argmax())}"

    async with layer:
        seen = await ask_many(layer, read, rng, 200)
    hits = [(label, o.answer) for label, o in seen if o.match == "similar"]
    wrong = sum(answer != f"digit {label}" for label, answer in hits)
    assert len(hits) > 20
    assert wrong <= 0.2 * len(hits)


@pytest.mark.parametrize("afresh", [False, True])
async def test_a_picture_is_found_by_what_it_was_when_asked_though_its_buffer_holds_another_since(
    afresh: bool,
) -> None:
    layer, calls = layer_of(max_error_rate=0.05), []
    seen = []

    def vector(picture: np.ndarray) -> np.ndarray:
        seen.append(picture.copy())
        return unit(picture)

    @layer.cached(vector=vector)
    async def read(picture: np.ndarray) -> str:
        calls.append(1)
        picture *= -1  # as functions do that prepare what they are given
        return "digit"

    async with layer:
        buffer = DIGITS[0].copy()
        await (read.refresh(buffer) if afresh else read(buffer))
        buffer[:] = DIGITS[1]
        await layer.flush()
    assert calls and all((one == DIGITS[0]).all() for one in seen) and len(seen) == 1


def test_a_check_that_came_to_nothing_takes_the_hits_that_it_stood_for_out_of_the_estimate() -> None:
    decider = NearnessDecider(random=iter([0.9, 0.0] * 20).__next__, shadow=0.5)
    near = [Candidate(entry, 1.0, "", "left") for entry in range(3)]
    for number in range(200):
        decider.observe("f", b"", Query(f"miss {number}", DIGITS[0]), near, "left", None)
    for number in range(40):
        query = Query(f"hit {number}", DIGITS[0])
        if decider.decide("f", b"", query, near, 0.2).shadow:
            decider.unchecked("f", b"", query, 0)
    said = decider.stats()
    assert (said["hits"], said["checks"], said["interval"]) == (40, 0, (0.0, 1.0))
    assert not decider._drawn
