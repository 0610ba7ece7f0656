"""`judge=`: the owner says whether two answers say the same, in the background."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.testing import WordEmbedder

ORDERS = ("cancel", "track", "return", "change")
THINGS = ("my order", "the parcel", "a pair of shoes", "this invoice", "the blue lamp")


def wordings(answer: str, chance: random.Random) -> str:
    """The same in other words each time, more than are compared by spelling."""
    filler = chance.sample("well now then so indeed certainly gladly sure fine yes okay right".split(), 6)
    return (
        f"{' '.join(filler)}: to {answer} go to the page of your account and press the button named {answer}"
    )


async def traffic(judge: Any, *, times: int = 160) -> tuple[list[Any], list[tuple[str, str]]]:
    layer = CacheLayer(policy=Policy(max_error_rate=0.1, shadow=0), embedder=WordEmbedder())
    chance, asked = random.Random(1), []

    async def judged(known: str, answer: str) -> bool:
        asked.append((known, answer))
        await asyncio.sleep(0)
        return bool(judge(known, answer))

    @layer.cached(judge=judged)
    async def ask(question: str) -> str:
        return wordings(question.split()[0], chance)

    async with layer:
        out = []
        for _ in range(times):
            order, thing = chance.choice(ORDERS), chance.choice(THINGS)
            out.append(
                await ask.outcome(f"{order} {thing} {chance.choice(('please', 'today', 'now', 'quickly'))}")
            )
            await layer.flush()
        out.append(layer.stats())
    return out, asked


def same(known: str, answer: str) -> bool:
    return known.split()[-1] == answer.split()[-1]


async def test_answers_that_the_judge_takes_for_one_speak_for_each_other() -> None:
    agreeing, asked = await traffic(same)
    apart, _ = await traffic(lambda known, answer: False)
    hits = [sum(o.match == "similar" for o in outcomes[:-1]) for outcomes in (agreeing, apart)]
    assert asked
    assert hits[0] > hits[1]


async def test_the_judge_hears_two_answers_and_is_not_asked_about_equal_ones() -> None:
    _, asked = await traffic(same, times=40)
    assert all(known != answer for known, answer in asked)


@pytest.mark.parametrize("fault", [RuntimeError("no verdict"), ConfigurationError("model", "a", "name one")])
async def test_a_judge_that_fails_is_counted_and_costs_no_answer(fault: Exception) -> None:
    def fails(known: str, answer: str) -> bool:
        raise fault

    outcomes, _ = await traffic(fails, times=40)
    *answers, stats = outcomes
    assert all(o.answer for o in answers)
    assert stats["faults"][f"judge:{type(fault).__name__}"] > 0
    assert stats["learning"]["dropped"] == 0


def test_a_judge_is_a_function() -> None:
    with pytest.raises(ConfigurationError, match="judge"):
        CacheLayer(embedder=WordEmbedder()).cached(lambda question: question, name="f", judge=True)
