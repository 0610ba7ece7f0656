"""What was read closely decides alike among entries and calls in flight, and no other candidate is served beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, Policy, Reason
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Decision, Query

from .test_close_reading import ASKED, CASE, EARBUD, PATIENT, REWORDED, TRAP, Silent


@pytest.mark.parametrize(
    ("embedder", "first", "second", "joins"),
    [
        (OnnxEmbedder, ASKED, REWORDED, True),
        (OnnxEmbedder, EARBUD, CASE, False),
        (Silent, ASKED, REWORDED, False),
        (Silent, EARBUD, CASE, True),
    ],
)
async def test_a_call_in_flight_is_joined_by_the_same_rule(
    embedder: Any, first: str, second: str, joins: bool
) -> None:
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=PATIENT)
    called, go = list[str](), asyncio.Event()
    async with CacheLayer(embedder=embedder(workers=1), policy=policy) as layer:
        await layer.start()

        @layer.cached
        async def ask(question: str) -> str:
            called.append(question)
            await go.wait()
            return f"the answer to {question}"

        one = asyncio.create_task(ask.outcome(first))
        while not called:
            await asyncio.sleep(0)
        two = asyncio.create_task(ask.outcome(second))
        while len(called) < 2 and not two.done() and not layer.stats()["similar"]["joined"]:
            await asyncio.sleep(0)
        go.set()
        outcome = (await one, await two)[1]
    assert called == ([first] if joins else [first, second])
    assert outcome.answer == f"the answer to {first if joins else second}"


async def test_where_one_candidate_was_read_closely_and_refused_no_other_is_served_for_its_words_alone() -> (
    None
):
    class Told(PairVerifier):
        """What a decision hears of two candidates: of one read closely the opposite."""

        def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
            closely = None if query.close is None else query.close[0]
            return [(0.5 if c.entry == closely else 0.98 - c.entry / 100, "") for c in candidates]

    decider = EvidenceDecider(Told(), random=lambda: 1.0, shadow=0)
    vector = np.eye(1, 8, dtype=np.float32)[0]
    near = [Candidate(1, 0.9, TRAP, None), Candidate(2, 0.8, ASKED, None)]
    for candidate in near:
        decider.stored(candidate.entry, "f", b"", Query(candidate.text, vector), candidate.text)
    query = Query(REWORDED, vector, readable=True)
    first = decider.decide("f", b"", query, near, 0.05)
    assert (first.entry, first.doubted) == (None, 1)
    read = replace(query, readable=False, close=(1, ()), before=query)
    second = decider.decide("f", b"", read, near, 0.05)
    assert (second.entry, second.doubted, second.reason) == (None, None, Reason.UNSURE)
    unreadable = decider.decide("f", b"", replace(query, readable=False), near, 0.05)
    assert unreadable.entry == 1


LETTERS = [f"q{x}{y}" for x in ascii_lowercase for y in ascii_lowercase]
"""Names of questions, which differ in no number."""


def test_an_answer_asked_for_once_is_served_after_a_closer_reading_while_such_turn_out_right() -> None:
    class Told(PairVerifier):
        """Doubts a little what it read once, and nothing of what it read closely."""

        def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
            return [(0.95 if query.close is None else 0.999, "") for _ in candidates]

    decider, rng = EvidenceDecider(Told(), random=lambda: 1.0, shadow=0), np.random.default_rng(0)

    def ask(number: int, near: list[Candidate], query: Query, answer: str) -> tuple[Decision, ...]:
        decided = [decider.decide("f", b"", query, near, 0.05)]
        if (doubted := decided[0].doubted) is not None:
            query = replace(query, readable=False, close=(doubted, ()), before=query)
            decided.append(decider.decide("f", b"", query, near, 0.05))
        decider.observe("f", b"", query, near, answer, None)
        decider.stored(number, "f", b"", query, answer)
        return tuple(decided)

    def beside(number: int, same: bool) -> tuple[Decision, ...]:
        """What is decided about the second of two questions that are equally near."""
        vector = rng.normal(size=64).astype(np.float32)
        vector /= np.linalg.norm(vector)
        ask(number, [], Query(f"question {LETTERS[number]}", vector, readable=True), f"answer {number}")
        near = [Candidate(number, 1.0, f"question {LETTERS[number]}", f"answer {number}")]
        query = Query(f"question {LETTERS[number + 1]}", vector, readable=True)
        return ask(number + 1, near, query, f"answer {number if same else number + 1}")

    first, second = [beside(2 * n, same=True) for n in range(40)][-1]
    assert first.entry is None and first.doubted is not None
    assert second.entry is not None and second.detail == "both, read closely"
    *_, last = [beside(2 * n, same=False) for n in range(40, 80)][-1]
    assert last.entry is None
