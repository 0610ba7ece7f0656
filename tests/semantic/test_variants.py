"""Where several answers are kept for one request, a similar request is compared with those of the variant it draws."""

from __future__ import annotations

from typing import Any

from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Outcome, Policy
from cachelayer.testing import Gate, WordEmbedder

FORWARDS, BACKWARDS = "where is my red parcel today", "today where is my parcel red"
PATIENT = Budgets(embed="20s", search="20s", verify="20s")


def make(verifier: Any = None) -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=PATIENT, variants=3)
    return CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=verifier)


async def test_variants_are_collected_though_answers_are_compared_by_meaning() -> None:
    """The first answer was served, as similar, to the very request that it was made for, and no other was kept."""
    gate, layer = Gate(opened=True), make()
    ask = layer.wrap(gate, name="ask")
    answers = set()
    async with layer:
        for _ in range(100):
            outcome = await ask.outcome(FORWARDS)
            assert outcome.match != "similar"
            answers.add(outcome.answer)
            await layer.flush()
    assert len(answers) == 3 == gate.calls


async def test_a_rewording_is_served_all_variants_and_none_once_one_was_reported_for_it() -> None:
    gate, layer = Gate(opened=True), make(SameWords())
    ask = layer.wrap(gate, name="ask")

    async def asked(question: str) -> list[Outcome[str]]:
        outcomes = []
        for _ in range(100):
            outcomes.append(await ask.outcome(question))
            await layer.flush()
        return outcomes

    async with layer:
        made = {outcome.answer for outcome in await asked(FORWARDS)}
        served = await asked(BACKWARDS)
        assert {outcome.answer for outcome in served} == made and {one.match for one in served} == {"similar"}
        assert await layer.report_wrong(served[0])
        again = await asked(BACKWARDS)
    assert made.isdisjoint(outcome.answer for outcome in again) and gate.calls == 6
