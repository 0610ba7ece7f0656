"""Pairs that words alone would decide are read again, token by token."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import RECENT, OnnxEmbedder
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.pairs.close_reader import TEXTS, CloseReader
from cachelayer.semantic.pairs.late_interaction import CLOSENESS, Tokens, closeness
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query

ASKED = "In tennis, what is a let?"
REWORDED = "What does it mean when the umpire calls 'let' at Wimbledon?"
TRAP = "In tennis, what is a deuce?"
EARBUD = "My left earbud won't charge anymore"
CASE = "The charging case of my earbuds doesn't charge anymore"
"""By its words alone a rewording of the former, with a risk of .02."""
PATIENT = Budgets(embed=30, search=30, verify=30)


def drawn(seed: int, length: int) -> Tokens:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(2, length, 16))
    states /= np.linalg.norm(states, axis=-1, keepdims=True)
    return Tokens(rng.integers(999, 30000, length), states.astype(np.float16))


@given(st.integers(0, 99), st.integers(1, 20), st.integers(1, 20))
def test_closeness_does_not_depend_on_which_text_came_first(seed: int, one: int, other: int) -> None:
    a, b = drawn(seed, one), drawn(seed + 100, other)
    assert len(closeness(a, b)) == len(CLOSENESS)
    assert np.allclose(closeness(a, b), closeness(b, a), atol=1e-6)


def test_of_a_text_and_itself_every_token_finds_itself() -> None:
    told = dict(zip(CLOSENESS, closeness(drawn(1, 9), drawn(1, 9)), strict=True))
    for layer in ("middle", "last"):
        assert told[f"{layer}_least_low"] == pytest.approx(1.0, abs=1e-3)
        assert told[f"{layer}_mutual_low"] == 1.0 and abs(told[f"{layer}_gap_high"]) < 0.1


class Watched(OnnxEmbedder):
    """Counts what is read closely; fails or hangs there where it is told to."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.read: list[str] = []
        self.fault: BaseException | None = None
        self.hangs = False

    async def read_tokens(self, texts: Sequence[str]) -> list[Tokens | None]:
        self.read += texts
        if self.fault is not None:
            raise self.fault
        if self.hangs:
            await asyncio.Event().wait()
        return await super().read_tokens(texts)


class Silent(OnnxEmbedder):
    """Shows no tokens."""

    read_tokens = None  # type: ignore[assignment]


async def asked(embedder: Any, second: str, budgets: Budgets = PATIENT, first: str = ASKED) -> Any:
    """The outcome of a request after another one."""
    async with CacheLayer(
        embedder=embedder, policy=Policy(max_error_rate=0.05, shadow=0, budgets=budgets)
    ) as layer:

        @layer.cached
        async def ask(question: str) -> str:
            return f"the answer to {question}"

        await ask(first)
        await layer.flush()
        return await ask.outcome(second), await ask.explain(second)


async def test_a_rewording_that_was_doubted_is_served_once_it_was_read_closely() -> None:
    embedder = Watched()
    outcome, why = await asked(embedder, REWORDED)
    assert outcome.source is Source.INDEX and outcome.answer == f"the answer to {ASKED}"
    assert sorted(set(embedder.read)) == sorted([ASKED, REWORDED])
    assert "pair, read closely" in str(why)


async def test_what_words_alone_would_serve_is_not_served_where_its_tokens_say_otherwise() -> None:
    outcome, _ = await asked(Watched(), CASE, first=EARBUD)
    assert outcome.source is Source.BACKEND and outcome.misses["similar"] is Reason.UNSURE


async def test_with_an_embedder_that_shows_no_tokens_words_alone_decide() -> None:
    for embedder in (Silent(workers=1), CachedEmbedder(Silent(workers=1))):
        outcome, _ = await asked(embedder, REWORDED)
        assert outcome.source is Source.BACKEND and outcome.misses["similar"] is Reason.UNSURE
        outcome, why = await asked(embedder, CASE, first=EARBUD)
        assert outcome.source is Source.INDEX and "read closely" not in str(why)


async def test_another_question_stays_one_however_closely_it_is_read() -> None:
    outcome, _ = await asked(Watched(), TRAP)
    assert outcome.source is Source.BACKEND


async def test_what_a_guard_forbids_or_is_far_away_is_not_read_closely() -> None:
    for second in ("In tennis, what are 3 lets?", "What is the capital of Peru?"):
        embedder = Watched()
        outcome, _ = await asked(embedder, second)
        assert outcome.source is Source.BACKEND and embedder.read == []


@pytest.mark.parametrize("fault", [RuntimeError("broken"), None])
async def test_where_a_close_reading_fails_words_alone_decide_and_where_it_hangs_the_backend_answers(
    fault: BaseException | None,
) -> None:
    short = Budgets(embed=0.5, search=0.5, verify=0.5)
    alone = Source.BACKEND if fault is None else Source.INDEX
    for first, second, source in ((ASKED, REWORDED, Source.BACKEND), (EARBUD, CASE, alone)):
        embedder = Watched()
        embedder.fault, embedder.hangs = fault, fault is None
        outcome, _ = await asked(embedder, second, short, first)
        assert outcome.source is source and embedder.read


async def test_a_text_that_the_model_cannot_read_whole_is_not_read_closely() -> None:
    embedder = OnnxEmbedder(workers=1)
    await embedder.start()
    long, short = "word " * 2000, "a question"
    one, other = await embedder.read_tokens([long, short])
    assert one is None and other is not None and other.states.shape == (2, len(other.ids), 384)
    await embedder.aclose()


async def test_tokens_of_few_texts_are_remembered_and_none_once_texts_are_forgotten() -> None:
    embedder = Watched()
    await embedder.start()
    reader = CloseReader()
    zero = np.zeros(384, np.float32)
    query = Query(ASKED, zero)
    for _ in range(3):
        read = await reader.read(embedder, query, Candidate(7, 0.5, REWORDED, None))
        assert read is not None and read.close is not None and read.close[0] == 7
    assert embedder.read == [ASKED, REWORDED]
    for number in range(TEXTS):
        await reader.read(embedder, query, Candidate(number, 0.5, f"question {number}", None))
    await reader.read(embedder, query, Candidate(7, 0.5, REWORDED, None))
    assert embedder.read.count(REWORDED) == 2 and embedder.read.count(ASKED) == 1
    reader.clear()
    await reader.read(embedder, query, Candidate(7, 0.5, REWORDED, None))
    assert embedder.read.count(ASKED) == 2
    await embedder.aclose()


async def test_a_text_that_was_just_encoded_is_not_encoded_again_for_its_tokens() -> None:
    embedder = OnnxEmbedder(workers=1)
    await embedder.start()
    assert embedder._encoder is not None
    runs: Any = embedder._encoder._session
    seen: list[Any] = []

    class Counted:
        def run(self, *arguments: Any) -> Any:
            seen.append(arguments)
            return runs.run(*arguments)

    (fresh,) = await embedder.read_tokens([ASKED])
    embedder._encoder._session = Counted()  # type: ignore[assignment]
    await embedder.embed([ASKED])
    (again,) = await embedder.read_tokens([ASKED])
    assert fresh is not None and again is not None
    assert len(seen) == 1 and np.array_equal(again.states, fresh.states)
    for number in range(RECENT):
        await embedder.embed([f"question {number}"])
    await embedder.read_tokens([ASKED])
    assert len(seen) == RECENT + 2, "of a few texts only"
    CachedEmbedder(embedder).clear()
    await embedder.read_tokens([f"question {RECENT - 1}"])
    assert len(seen) == RECENT + 3, "and of none that is to be forgotten"
    await embedder.aclose()


async def test_texts_that_are_forgotten_while_they_are_read_are_not_remembered() -> None:
    reader = CloseReader()

    class Slow:
        asked = 0

        async def read_tokens(self, texts: Sequence[str]) -> list[Tokens | None]:
            Slow.asked += len(texts)
            if Slow.asked == len(texts):
                reader.clear()
            return [drawn(1, 5) for _ in texts]

    for _ in range(2):
        assert await reader.read(Slow(), Query(ASKED, np.zeros(4)), Candidate(1, 0.5, TRAP, None)) is not None
    assert Slow.asked == 4


async def test_a_label_teaches_the_same_whether_its_pair_was_read_closely_or_not() -> None:
    """Most pairs are read once; a risk that was learned of those read twice would be too kind to the rest."""
    embedder = OnnxEmbedder(workers=1)
    await embedder.start()
    vectors = (await embedder.embed([ASKED, REWORDED])).vectors
    first, second = Query(ASKED, vectors[0]), Query(REWORDED, vectors[1])
    near = [Candidate(1, float(vectors[0] @ vectors[1]), ASKED, "one")]
    read = await CloseReader().read(embedder, second, near[0])
    assert read is not None and read.close is not None
    after: list[list[Any]] = []
    for taught in (second, read):
        decider = EvidenceDecider(random=lambda: 1.0, shadow=0)
        decider.stored(1, "f", b"", first, "one")
        for _ in range(20):
            decider.decide("f", b"", second, near, 0.05)
            decider.observe("f", b"", taught, near, "another", None)
        after.append([decider.decide("f", b"", asked, near, 0.05) for asked in (second, read)])
    assert after[0] == after[1]
    assert after[0][0].confidence != after[0][1].confidence
    await embedder.aclose()


class Counting(PairVerifier):
    """Notes which texts it compares with the query's, and whether it had them token by token."""

    def __init__(self) -> None:
        super().__init__()
        self.compared: list[tuple[str, bool]] = []

    def _pairs(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        read = None if query.close is None else query.close[0]
        self.compared += [(c.text, c.entry == read) for c in candidates]
        return super()._pairs(query, candidates)


async def test_a_decision_its_closer_reading_and_what_they_teach_compare_a_pair_once_a_reading() -> None:
    class Close:
        async def read_tokens(self, texts: Sequence[str]) -> list[Tokens | None]:
            return [drawn(len(text), 5) for text in texts]

    verifier = Counting()
    decider = EvidenceDecider(verifier, random=lambda: 0.5)
    vector = np.eye(1, 8, dtype=np.float32)[0]
    candidates = [Candidate(1, 0.9, TRAP, None), Candidate(2, 0.8, "Who umpires at Wimbledon?", None)]
    for candidate in candidates:
        query = Query(candidate.text, vector)
        decider.stored(candidate.entry, "ask", b"scope", query, f"the answer to {candidate.text}")
    query = Query(REWORDED, vector)
    decider.decide("ask", b"scope", query, candidates, 0.05)
    again = await CloseReader().read(Close(), query, candidates[0])
    assert again is not None and again.first is query
    decider.decide("ask", b"scope", again, candidates, 0.05)
    decider.observe("ask", b"scope", again, candidates, "the umpire calls a let", None)
    assert sorted(verifier.compared) == sorted([*((c.text, False) for c in candidates), (TRAP, True)])
