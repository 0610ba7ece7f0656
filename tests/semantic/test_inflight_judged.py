"""A call in flight is judged as the entry that it will be, and what is supposed of it for that leaves no trace."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cachelayer.semantic.evidence.judging import PROVEN
from cachelayer.semantic.evidence.scope import Scope
from cachelayer.semantic.inflight import InFlight
from cachelayer.testing import Gate
from cachelayer.types import Candidate, Decision, Query

from .test_inflight import BACKWARDS, FORWARDS, make
from .test_one_off import DIMENSION, World

Floats = NDArray[np.float64]


def unit(x: Floats) -> NDArray[np.float32]:
    return (x / np.linalg.norm(x)).astype(np.float32)


def learned(sure: float = 0.99) -> World:
    """A world in which second questions take the answer of the first."""
    world = World(sure)
    world.pairs(0, 60, True)
    return world


def scope(world: World) -> Scope:
    return world.decider._functions["f"].scopes[b""]


def entries(world: World, x: NDArray[np.float32]) -> list[Candidate]:
    scores = [float(v @ x) for v, _, _ in world.kept]
    nearest = sorted(range(len(scores)), key=lambda i: -scores[i])[:8]
    return [Candidate(i, scores[i], *world.kept[i][1:]) for i in nearest]


def joined(world: World, first: Query, second: Query, near: list[Candidate]) -> tuple[bool, Decision]:
    flights = InFlight()
    flights.begin(b"", first)
    found = flights.near(b"", second)
    flight, decision = flights.judge(world.decider, "f", second, found, near, 0.02)
    return flight is not None, decision


def question(world: World, x: Floats, number: int, which: str, principal: str = "") -> Query:
    return Query(f"q{number} {which}", unit(x), principal=principal)


async def test_in_a_scope_with_a_history_near_duplicates_wait_for_one_call() -> None:
    gate, layer = Gate(opened=True), make()
    ask = layer.wrap(gate, name="ask")
    async with layer:
        for number in range(PROVEN + 10):
            await ask(f"what is thing{number} of kind{number} made of")
            await layer.flush()
        gate.close()
        callers = [asyncio.create_task(ask.outcome(q)) for q in (FORWARDS, BACKWARDS)]
        tier = layer._similar
        assert tier is not None
        while len(tier.inflight) + tier.inflight.joined < 2:
            await asyncio.sleep(0)
        gate.open()
        first, near = await asyncio.gather(*callers)
    assert (first.answer, near.match, tier.inflight.joined) == (near.answer, "similar", 1)


async def test_it_has_the_risk_of_an_entry_whose_answer_has_just_been_made() -> None:
    world = learned(0.995)
    for number in range(100, 110):
        x = world.rng.normal(size=DIMENSION)
        first = question(world, x, number, "one")
        second = question(world, x + 0.6 * world.rng.normal(size=DIMENSION), number, "two")
        near = entries(world, second.vector)
        rides, before = joined(world, first, second, near)
        world.ask(x, first.text, f"answer {number}")
        after = world.decider.preview("f", b"", second, entries(world, second.vector), 0.02)
        assert 1.0 - before.confidence == pytest.approx(1.0 - after.confidence, rel=0.1)
        assert rides and after.entry is not None


async def test_an_entry_of_another_answer_as_near_speaks_against_it() -> None:
    world = learned()
    x = world.rng.normal(size=DIMENSION)
    first, second = question(world, x, 100, "one"), question(world, x + 0.1, 100, "two")
    _, alone = joined(world, first, second, entries(world, second.vector))
    for n in range(3):
        world.ask(x + 0.2 * world.rng.normal(size=DIMENSION), f"other{n} one", f"another answer {n}")
    _, beside = joined(world, first, second, entries(world, second.vector))
    assert beside.confidence < alone.confidence


async def test_what_is_supposed_of_it_leaves_nothing_behind() -> None:
    world = learned()
    hood, x = scope(world).hood, world.rng.normal(size=DIMENSION)
    first, second = question(world, x, 100, "one"), question(world, x + 0.1, 100, "two")

    def state() -> tuple[Any, ...]:
        answers, counts = hood.answers, hood.word_counts
        return (
            answers.sums.tobytes(), tuple(answers.count), tuple(answers.given), tuple(answers.norms),
            hood.metric.inverse.tobytes(), hood.labelled, dict(counts.words), counts.requests,
            sorted(counts.by_answer), len(scope(world).entries),
        )  # fmt: skip

    joined(world, first, second, [])  # room is made for its answer
    before = state()
    joined(world, first, second, entries(world, second.vector))
    assert state() == before
    assert np.array_equal(hood.metric.bend(second.vector), hood.metric.inverse.dot(second.vector))


async def test_nothing_is_left_behind_either_where_it_cannot_be_supposed() -> None:
    world = learned()
    x = world.rng.normal(size=DIMENSION)
    first, second = question(world, x, 100, "one"), question(world, x + 0.1, 100, "two")
    before = len(scope(world).entries), scope(world).hood.word_counts.requests
    other = replace(first, vector=np.ones(DIMENSION + 1, np.float32))
    with pytest.raises(ValueError), world.decider.supposing("f", b"", second, [(-1, first), (-2, other)]):
        pass
    assert (len(scope(world).entries), scope(world).hood.word_counts.requests) == before


async def test_that_of_another_principal_is_joined_on_the_word_of_the_two_texts_alone() -> None:
    world = learned()
    x = world.rng.normal(size=DIMENSION)
    first = question(world, x, 100, "one", "somebody")
    for asking, kind in (("", "pair"), ("somebody", "both")):
        second = question(world, x + 0.1, 100, "two", asking)
        _, decision = joined(world, first, second, entries(world, second.vector))
        assert decision.entry is not None and decision.detail == kind
