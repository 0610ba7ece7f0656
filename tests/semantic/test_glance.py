"""A guess at the vector decides where it is enough, without the model; what it cannot decide is as without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from counting import Counting
from numpy.typing import NDArray

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.embed.guess import load_guess
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.evidence.glance_rate import LEAST, NOW_AND_THEN, GlanceRate
from cachelayer.types import Outcome

DEEDS = (
    "reset my password", "close my account", "order a new card", "change my address", "cancel the hotel booking",
    "pay by bank transfer", "download the yearly report", "invite a colleague", "print a shipping label",
    "report a lost parcel",
)  # fmt: skip
FRAMES = (
    "how do i {}",
    "tell me how to {}",
    "i would like to {}",
    "is it possible to {}",
    "help me {} today",
)
LATER = "what must i do so as to {}"
Vector = NDArray[np.float32]
Asked = Callable[..., Awaitable[Outcome]]


class Guessing(Counting):
    """Its guess is what `guess_of` says, by default the vector itself."""

    def __init__(self, guess_of: Callable[[Vector], Any] = lambda vector: vector) -> None:
        super().__init__()
        self.guess_of, self.guesses = guess_of, 0

    def guess(self, text: str) -> Any:
        self.guesses += 1
        return self.guess_of(self._vector(text.casefold().split()))


async def kept(layer: CacheLayer) -> Asked:
    return (await wrapped(layer)).outcome  # type: ignore[no-any-return]


async def wrapped(layer: CacheLayer) -> Any:
    """A function that was asked for each deed in some ways."""

    async def ask(question: str, turns: str = "") -> str:
        return next(deed for deed in DEEDS if deed in question)

    known = layer.wrap(ask, text="question", name="ask")
    await layer.start()
    with layer.tighten(max_error_rate=1e-4):  # all are misses, of which it learns
        for frame in FRAMES:
            for deed in DEEDS:
                await known(frame.format(deed))
                await layer.flush()
    return known


def layer_of(embedder: Any, shadow: float = 0.0, bound: float = 0.2) -> CacheLayer:
    return CacheLayer(policy=Policy(max_error_rate=bound, shadow=shadow), embedder=embedder)


async def later(asked: Asked) -> list[Outcome]:
    return [await asked(LATER.format(deed)) for deed in DEEDS]


async def test_what_a_guess_decides_needs_no_vector() -> None:
    embedder = Guessing()
    async with layer_of(embedder) as layer:
        asked = await kept(layer)
        made = len(embedder.texts)
        outcomes = await later(asked)
        assert [one.answer for one in outcomes] == list(DEEDS)
        glanced = [one for one in outcomes if "embed" not in one.timings]
        assert len(glanced) > len(DEEDS) // 2
        assert all({"search", "verify"} <= one.timings.keys() for one in glanced)
        assert len(embedder.texts) == made + len(outcomes) - len(glanced)


def raises(vector: Vector) -> Vector:
    raise ArithmeticError


@pytest.mark.parametrize(
    "guess_of", [lambda vector: None, raises, lambda vector: vector[:3], lambda vector: vector * np.nan]
)
async def test_without_a_guess_or_with_a_broken_one_everything_is_as_by_the_vector(guess_of: Any) -> None:
    found = []
    for embedder in (Guessing(guess_of), Counting()):
        async with layer_of(embedder) as layer:
            found.append([(one.source, one.answer) for one in await later(await kept(layer))])
    assert found[0] == found[1]


async def test_a_guess_that_is_far_off_is_left_to_the_vector() -> None:
    rng = np.random.default_rng(1)

    def random(vector: Vector) -> Vector:
        drawn = rng.standard_normal(vector.size).astype(np.float32)
        return drawn / np.linalg.norm(drawn)

    async with layer_of(Guessing(random), bound=0.02) as layer:
        outcomes = await later(await kept(layer))
        assert [one.answer for one in outcomes] == list(DEEDS)
        assert all("embed" in one.timings or one.source == "backend" for one in outcomes)


async def test_below_a_hundredth_nothing_is_decided_at_a_glance() -> None:
    """There what a guess errs would be most of the bound."""
    for bound, glances in ((0.01, True), (0.009, False)):
        embedder = Guessing()
        async with layer_of(embedder, bound=bound) as layer:
            await later(await kept(layer))
        assert bool(embedder.guesses) is glances


async def test_what_differs_beside_the_text_is_not_seen_at_a_glance() -> None:
    async with layer_of(Guessing()) as layer:
        asked = await kept(layer)
        assert (await asked(LATER.format(DEEDS[0]), turns="others")).source == "backend"
        with layer.scope(tenant="another"):
            assert (await asked(LATER.format(DEEDS[0]))).source == "backend"


async def test_conversations_are_not_glanced_at() -> None:
    embedder = Guessing()

    async def chat(messages: list[dict[str, str]]) -> str:
        return next(deed for deed in DEEDS if deed in messages[-1]["content"])

    async with layer_of(embedder) as layer:
        asked = layer.wrap(chat, name="chat").outcome
        await layer.start()
        with layer.tighten(max_error_rate=1e-4):
            for frame in FRAMES:
                for deed in DEEDS:
                    await asked([said(frame.format(deed))])
                    await layer.flush()
        assert "embed" not in (await asked([said(LATER.format(DEEDS[0]))])).timings
        guesses = embedder.guesses
        earlier = [said("i moved to another town"), {"role": "assistant", "content": "thanks for telling me"}]
        await asked([*earlier, said(LATER.format(DEEDS[1]))])
        assert embedder.guesses == guesses


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def test_entries_that_are_gone_are_not_seen_at_a_glance() -> None:
    async with layer_of(Guessing()) as layer:
        asked = await kept(layer)
        await layer.erase()
        assert {one.source for one in await later(asked)} == {"backend"}


async def test_a_checked_glance_teaches_by_its_vector() -> None:
    embedder = Guessing()
    async with layer_of(embedder, shadow=1.0) as layer:
        asked = await kept(layer)
        outcomes = await later(asked)
        await layer.flush()
        glanced = [LATER.format(one.answer) for one in outcomes if "embed" not in one.timings]
        assert glanced and set(glanced) <= set(embedder.texts)
        told = layer.stats()["similar"]["decider"]["ask"]["0.2"]
        assert told["checks"] >= len(glanced)


async def test_explain_says_that_a_glance_decided() -> None:
    async with layer_of(Guessing()) as layer:
        ask = await wrapped(layer)
        said = [str(await ask.explain(LATER.format(deed))) for deed in DEEDS]
        assert any("decided by: neighbours, at a glance" in one for one in said)
        assert layer.stats()["similar"]["decider"]["ask"]["0.2"]["hits"] == 0


def test_glances_that_are_in_vain_become_rare_and_return() -> None:
    worth = GlanceRate()
    while worth.share >= LEAST:
        assert worth.due(counted=True)
        worth.learn(False)
    assert sum(worth.due(counted=True) for _ in range(10 * NOW_AND_THEN)) == 10
    for _ in range(20):
        worth.learn(True)
    assert worth.due(counted=True) and worth.due(counted=True)


def test_glances_return_soon_after_a_spell_of_questions_that_nobody_asked_before() -> None:
    """It took up to a thousand requests, in which the model ran for each hit."""
    rate, asked = GlanceRate(), 0
    for _ in range(500):
        rate.learn(False)
    while rate.share < LEAST:
        asked += 1
        if rate.due(counted=True):
            rate.learn(asked % 5 < 3)
    assert asked < 100


def test_who_only_looks_takes_nobody_s_turn_of_the_rare_glances() -> None:
    rate = GlanceRate()
    while rate.share >= LEAST:
        rate.learn(False)
    assert not any(rate.due(counted=False) for _ in range(2 * NOW_AND_THEN))
    for _ in range(NOW_AND_THEN - 1):
        assert not rate.due(counted=True)
    assert rate.due(counted=False) and rate.due(counted=True)


async def test_the_model_s_guess_lies_near_its_vector() -> None:
    embedder = OnnxEmbedder(workers=1)
    assert embedder.guess("not started yet") is None
    await embedder.start()
    assert load_guess.cache_info().currsize == 1  # no request waits for the tables
    texts = [frame.format(deed) for frame in (*FRAMES, LATER) for deed in DEEDS]
    made = (await embedder.embed(texts)).vectors
    guesses = np.array([embedder.guess(text) for text in texts], np.float32)
    assert np.allclose(np.linalg.norm(guesses, axis=1), 1.0, atol=1e-5)
    assert (guesses * made).sum(axis=1).min() > 0.6
    for text in ("", "Grüße aus Köln", "東京", "word " * 600):
        assert embedder.guess(text) is None, text
    await embedder.aclose()
