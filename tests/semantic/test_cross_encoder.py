"""A cross-encoder looks at doubtful pairs alone, at two a request, while it keeps to its time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.semantic.cross_encoder import CrossEncoderVerifier
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.testing import ManualClock, WordEmbedder
from cachelayer.types import Candidate, Query

VECTOR = np.ones(1, np.float32)
ASKED = "how do i reset my router"
NEAR = ["how can i reset the router at home", "what resets my router", "how do i reset my old router",
        "resetting a router, how is it done"]  # fmt: skip


class Reader:
    """Gives one score to every pair, and remembers what it was asked."""

    def __init__(self, score: float = 0.9, clock: ManualClock | None = None, takes: float = 0.0) -> None:
        self.score, self.clock, self.takes = score, clock, takes
        self.asked: list[list[tuple[str, str]]] = []

    def predict(self, sentences: list[tuple[str, str]], /) -> Any:
        self.asked.append(sentences)
        if self.clock is not None:
            self.clock.advance(self.takes * len(sentences))
        return np.full(len(sentences), self.score, np.float32)


def candidates(*texts: str) -> list[Candidate]:
    return [Candidate(i, 0.9, text, None) for i, text in enumerate(texts)]


def every(model: Reader, **how: Any) -> CrossEncoderVerifier:
    """One that doubts every pair that no guard forbids."""
    return CrossEncoderVerifier(model, doubtful=(1e-9, 1.0), **how)


def test_two_pairs_of_a_request_are_looked_at_however_often_it_is_judged_the_likeliest_first() -> None:
    model = Reader()
    look, query = every(model), Query(ASKED, VECTOR)
    first = [p for p, _ in PairVerifier().judge(query, candidates(*NEAR))]
    look.judge(query, candidates(*NEAR))
    look.judge(query, [*candidates(*NEAR), Candidate(9, 0.8, "reset the router now", None)])
    likeliest = sorted(range(len(NEAR)), key=lambda i: -first[i])[:2]
    assert model.asked == [[(ASKED, NEAR[i]) for i in likeliest]]
    look.judge(Query(ASKED, VECTOR), candidates(*NEAR))
    assert len(model.asked) == 2


def test_a_pair_that_is_sure_or_forbidden_is_not_looked_at() -> None:
    model = Reader(0.0)
    look = CrossEncoderVerifier(model)
    judged = look.judge(
        Query("pay 5 euros to my landlord", VECTOR),
        candidates("pay 9 euros to my landlord", "Pay 5 euros to my landlord!"),
    )
    assert judged[0] == (0.0, "numbers")
    assert judged[1][0] > 0.98
    assert model.asked == []


@pytest.mark.parametrize("score", [0.0, 0.2, 0.9, 1.0])
def test_before_it_was_fitted_it_raises_no_probability(score: float) -> None:
    query = Query(ASKED, VECTOR)
    before = PairVerifier().judge(query, candidates(*NEAR[:2]))
    after = every(Reader(score)).judge(query, candidates(*NEAR[:2]))
    for (old, _), (new, _) in zip(before, after, strict=True):
        assert new == pytest.approx(min(old, score))


def test_a_fitted_one_raises_what_both_readers_like_and_lowers_what_the_second_does_not() -> None:
    class Knows(Reader):
        def predict(self, sentences: list[tuple[str, str]], /) -> Any:
            return np.array([0.95 if "router" in b else 0.05 for _, b in sentences])

    pairs = [(f"how do i reset my router {i}", f"resetting router {i}, how", 0.8, True) for i in range(60)]
    pairs += [(f"how do i reset my router {i}", f"resetting modem {i}, how", 0.8, False) for i in range(60)]
    look, query = every(Knows()), Query(ASKED, VECTOR)
    look.fit(pairs)
    before = PairVerifier().judge(query, candidates("resetting router, how", "resetting modem, how"))
    after = look.judge(query, candidates("resetting router, how", "resetting modem, how"))
    assert after[0][0] > max(0.8, before[0][0])
    assert after[1][0] < 0.2


def test_a_model_that_takes_too_long_is_left_out_and_tried_again_now_and_then() -> None:
    clock = ManualClock()
    model = Reader(clock=clock, takes=0.05)
    look = every(model, seconds=0.01, now=clock.monotonic)
    for _ in range(129):
        look.judge(Query(ASKED, VECTOR), candidates(*NEAR))
    assert [len(asked) for asked in model.asked] == [2, 1, 1]


def test_a_model_with_time_for_one_pair_gets_one() -> None:
    clock = ManualClock()
    model = Reader(clock=clock, takes=0.007)
    look = every(model, seconds=0.01, now=clock.monotonic)
    for _ in range(3):
        look.judge(Query(ASKED, VECTOR), candidates(*NEAR))
    assert [len(asked) for asked in model.asked] == [2, 1, 1]


async def test_a_model_that_fails_is_a_miss_and_never_the_callers_error() -> None:
    class Broken(Reader):
        def predict(self, sentences: list[tuple[str, str]], /) -> Any:
            raise RuntimeError("out of memory")

    layer = CacheLayer(
        embedder=WordEmbedder(), verifier=every(Broken()), policy=Policy(max_error_rate=0.5, shadow=0)
    )

    @layer.cached
    async def ask(question: str) -> str:
        return "hold the button"

    async with layer:
        for question in (NEAR[0], NEAR[2]):
            assert await ask(question) == "hold the button"
            await layer.flush()


@pytest.mark.parametrize(
    ("field", "how"),
    [("doubtful", {"doubtful": (0.9, 0.1)}), ("seconds", {"seconds": 0.0}), ("model", {"model": object()})],
)
def test_bad_settings_are_named(field: str, how: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=field):
        CrossEncoderVerifier(how.pop("model", Reader()), **how)


def test_a_fit_needs_pairs_of_both_kinds() -> None:
    with pytest.raises(ConfigurationError, match="at least 50"):
        CrossEncoderVerifier(Reader()).fit([("a b", "a c", 0.5, True)] * 500)
