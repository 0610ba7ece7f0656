"""What was reported as wrong for a rewording is not served to it again, nor the other way round."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cachelayer import Budgets, CacheLayer, Outcome, Policy, Source
from cachelayer.semantic.apart import EACH, ENTRIES, REPORTED, Apart, pair_of
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Candidate, Query, Turn

FORWARDS, BACKWARDS, SIDEWAYS = (
    "where is my red parcel today",
    "today where is my parcel red",
    "my red parcel today where is",
)


class SameWords:
    """Two requests take the same answer where they have the same words."""

    identity = "same words"

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        words = set(query.text.split())
        return [(0.999 if set(one.text.split()) == words else 0.0, "") for one in candidates]


def make() -> CacheLayer:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=patient)
    return CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords())


async def test_a_reported_rewording_is_served_from_that_request_no_more_and_others_still_are() -> None:
    async with make() as layer:

        @layer.cached
        async def ask(question: str) -> str:
            return f"answer to {question}"

        async def asked(question: str) -> Outcome:
            outcome = await ask.outcome(question)
            await layer.flush()
            return outcome

        await asked(FORWARDS)
        served = await asked(BACKWARDS)
        assert (served.match, served.answer) == ("similar", f"answer to {FORWARDS}")
        assert await layer.report_wrong(served)
        await asked(FORWARDS)
        for question in (BACKWARDS, FORWARDS, BACKWARDS):
            assert (await asked(question)).answer == f"answer to {question}"
        assert (await asked(SIDEWAYS)).match == "similar"


async def test_the_other_way_round_and_in_flight_they_are_apart_too() -> None:
    async with make() as layer:
        gate = Gate()
        ask = layer.wrap(gate, name="ask")
        callers = [asyncio.create_task(ask.outcome(question)) for question in (FORWARDS, BACKWARDS)]
        await gate.entered()
        tier = layer._similar
        assert tier is not None
        while not tier.inflight.joined:
            await asyncio.sleep(0)
        gate.open()
        _, joined = await asyncio.gather(*callers)
        assert (joined.source, joined.match) == (Source.COALESCED, "similar")
        await layer.flush()
        assert await layer.report_wrong(joined)
        again = await asyncio.gather(*(ask.outcome(question) for question in (BACKWARDS, FORWARDS)))
        assert [outcome.source for outcome in again] == [Source.BACKEND] * 2


def candidate(text: str, *turns: Turn) -> Candidate:
    return Candidate(1, 0.9, text, None, turns)


@given(st.text(max_size=5), st.text(max_size=5), st.binary(max_size=3))
def test_a_pair_is_the_same_both_ways_round(one: str, other: str, scope: bytes) -> None:
    a, b = candidate(one), candidate(other)
    assert pair_of(scope, a, b) == pair_of(scope, b, a)


def test_other_conversations_and_other_scopes_are_other_pairs() -> None:
    a, b, apart = candidate("cancel it"), candidate("stop it"), Apart()
    apart.served(1, [pair_of(b"scope", a, b)])
    apart.report(1)
    assert apart.sift(b"scope", a, [b]) == []
    later = candidate("stop it", Turn("user", "my order is late"))
    assert apart.sift(b"scope", a, [later]) == [later]
    assert apart.sift(b"other", a, [b]) == [b]


def test_nothing_that_was_not_served_is_reported_and_all_is_bounded() -> None:
    apart = Apart()
    apart.report(7)
    assert len(apart) == 0
    for entry in range(ENTRIES + REPORTED):
        apart.served(entry, [EACH * entry + k for k in range(EACH + 3)])
    assert len(apart._served) == ENTRIES and all(len(pairs) == EACH for pairs in apart._served.values())
    for entry in range(ENTRIES + REPORTED):
        apart.report(entry)
        apart.served(entry, [-entry - 1])
        apart.report(entry)
    assert len(apart) == REPORTED and not apart._served
