"""A cheap model's answers beside a reference's: sampled, compared by meaning, bounded, sliced; nobody waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.semantic.evidence.prose import say_the_same
from cachelayer.testing import WordEmbedder
from cachelayer.types import Embedded


def layer_with(**options: Any) -> tuple[CacheLayer, Any]:
    layer = CacheLayer(semantic=False)

    @layer.cached(name="ask", **options)
    async def ask(question: str, model: str = "cheap") -> str:
        return question.upper() if "hard" not in question else "no idea"

    return layer, ask


async def better(question: str, model: str = "cheap") -> str:
    return question.upper() + "."


async def test_what_differs_is_counted_bounded_sliced_and_exported(tmp_path: Path) -> None:
    layer, ask = layer_with()
    comparison = layer.compare(ask, better, share=1.0)
    for n in range(40):
        await ask(f"is this {'hard' if n % 4 == 0 else 'easy'} {n}")
    await layer.flush()
    report = comparison.report()
    assert (report["answers"], report["different"]) == (40, 0.25)
    assert 0.05 < report["low"] < 0.25 < report["high"] < 0.6
    assert (
        report["slices"]["model"]["cheap"]["wrong"] == 10
        and report["slices"]["language"]["en"]["checks"] == 40
    )
    assert comparison.quality.export(tmp_path / "differ.jsonl") == 40
    row = json.loads((tmp_path / "differ.jsonl").read_text().splitlines()[0])
    assert (row["answer"], row["truth"], row["verdict"]) == ("no idea", "IS THIS HARD 0.", "wrong")
    text = layer.metrics().render()[1].decode()
    assert 'cachelayer_model_checks_total{function="ask",verdict="different"} 10.0' in text
    assert 'cachelayer_model_difference{end="estimate",function="ask"} 0.25' in text
    await layer.aclose()


async def test_hits_are_not_compared_and_a_share_is_a_share() -> None:
    layer, ask = layer_with()
    comparison = layer.compare("ask", better, share=0.25)
    for _ in range(3):
        for n in range(200):
            await ask(f"easy {n}")
        await layer.flush()
    report = comparison.report()
    assert report["answers"] == 200
    assert 20 < report["slices"]["function"]["ask"]["checks"] < 85  # 50, and 5 standard deviations
    await layer.aclose()


async def test_streams_are_compared_whole_and_a_reference_that_fails_harms_nobody() -> None:
    layer, failures = CacheLayer(semantic=False), 0

    @layer.cached(name="ask")
    async def ask(question: str) -> Any:
        for piece in ("all ", "is ", "well"):
            yield piece

    async def reference(question: str) -> str:
        nonlocal failures
        if "fail" in question:
            failures += 1
            raise ConnectionError
        return "All is well"

    comparison = layer.compare(ask, reference, share=1.0)
    for question in ("a", "fail", "b"):
        assert "".join([piece async for piece in ask(question)]) == "all is well"
    await layer.flush()
    assert failures == 1 and comparison.report()["slices"]["function"]["ask"]["checks"] == 2
    assert comparison.report()["different"] == 0.0 and layer.stats()["faults"] == {
        "compare:ConnectionError": 1
    }
    await layer.aclose()


async def test_a_reference_that_answers_nothing_in_words_is_compared_with_nothing_and_no_fault() -> None:
    layer, ask = layer_with()

    async def picture(question: str) -> bytes:
        return b"\xff"

    comparison = layer.compare(ask, picture, share=1.0)
    await ask("easy")
    await layer.flush()
    assert (comparison.report()["different"], layer.stats()["faults"]) == (None, {})
    await layer.aclose()


@pytest.mark.parametrize("whole", [True, False])
async def test_prose_that_the_model_does_not_read_to_its_end_counts_as_different(whole: bool) -> None:
    class Short(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            made = await super().embed(texts)
            return Embedded(made.vectors, [whole or not text.endswith("Indeed.") for text in texts])

    layer = CacheLayer(embedder=Short())

    @layer.cached
    async def ask(question: str) -> str:
        return A

    async def reference(question: str) -> str:
        return A + " Indeed."

    comparison = layer.compare(ask, reference, share=1.0)
    async with layer:
        await ask("what is the way to the old station")
        await layer.flush()
        assert comparison.report()["different"] == (0.0 if whole else 1.0)


async def test_a_reference_that_answers_with_an_error_is_no_reference() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(name="ask")
    async def ask(question: str) -> dict[str, str]:
        return {"say": question}

    async def reference(question: str) -> dict[str, Any]:
        return {"error": {"message": "busy"}} if question == "b" else {"say": question}

    comparison = layer.compare(ask, reference, share=1.0)
    for question in "abc":
        await ask(question)
    await layer.flush()
    report = comparison.report()
    assert (report["slices"]["function"]["ask"]["checks"], report["different"]) == (2, 0.0)
    await layer.aclose()


async def test_the_caller_never_waits_for_the_reference() -> None:
    layer, ask = layer_with()
    free = asyncio.Event()

    async def slow(question: str, model: str = "cheap") -> str:
        await free.wait()
        return question

    comparison = layer.compare(ask, slow, share=1.0)
    assert await ask("one") == "ONE" and comparison.report()["slices"] == {}
    free.set()
    await layer.flush()
    assert comparison.report()["different"] == 0.0
    await layer.aclose()


async def test_a_function_that_must_not_be_called_again_is_not_compared() -> None:
    layer, ask = layer_with(pure=False)
    comparison = layer.compare(ask, better, share=1.0)
    await ask("one")
    await layer.flush()
    assert comparison.report()["answers"] == 0
    await layer.aclose()


async def test_the_owner_s_judge_decides_where_there_is_one() -> None:
    layer, ask = layer_with(judge=lambda known, answer: len(known) + 1 == len(answer) or known == "no idea")
    comparison = layer.compare(ask, better, share=1.0)
    await ask("one"), await ask("a hard one")
    await layer.flush()
    assert comparison.report()["different"] == 0.0
    await layer.aclose()


@pytest.mark.parametrize(
    ("field", "made"),
    [
        ("function", {"function": "nobody"}),
        ("share", {"share": 0}),
        ("share", {"share": 1.5}),
        ("reference", {"reference": 3}),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(field: str, made: dict[str, Any]) -> None:
    layer, ask = layer_with()
    with pytest.raises(ConfigurationError, match=f"^{field}="):
        layer.compare(made.pop("function", ask), made.pop("reference", better), **made)


def test_a_plain_function_has_no_loop_to_compare_on() -> None:
    layer = CacheLayer(semantic=False)
    plain = layer.cached(name="plain")(lambda question: question)
    with pytest.raises(ConfigurationError, match="async"):
        layer.compare(plain, better)


A = "You can send every unused product back within thirty days of delivery and get your money back in full."
B = "Whatever was never used may be returned to us for a complete refund during the first thirty days after it came."
C = "You can send every unused product back within sixty days of delivery and get your money back in full."
D = "Returns are handled at the desk on the ground floor, next to the entrance, on every working day but Friday."
NEARLY = np.array([[1.0, 0.0], [0.95, np.sqrt(1 - 0.95**2)]], np.float32)
FAR = np.array([[1.0, 0.0], [0.7, np.sqrt(1 - 0.7**2)]], np.float32)


@pytest.mark.parametrize(
    ("a", "b", "vectors", "same"),
    [(A, B, NEARLY, True), (A, C, NEARLY, False), (A, D, FAR, False), ("yes", "no", NEARLY, False)],
)
def test_prose_is_compared_by_meaning_and_doubt_is_a_difference(
    a: str, b: str, vectors: NDArray[np.float32], same: bool
) -> None:
    assert say_the_same(a, b, vectors) is same


async def test_checks_of_hits_judge_prose_as_the_error_budget_does() -> None:
    class Sure:
        identity = "sure"

        def judge(self, query: Any, candidates: Any) -> list[tuple[float, str]]:
            return [(1.0, "")] * len(candidates)

    policy = Policy(shadow=1.0, max_error_rate=0.5, quarantine=0)
    layer = CacheLayer(embedder=WordEmbedder(), verifier=Sure(), policy=policy)
    said = {
        "what is the way to the old station": A,
        "what is the way to the old station please": A + " Indeed.",
    }

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return said[question]

    async with layer:
        for question in said:
            outcome = await ask.outcome(question)
            await layer.flush()
        assert outcome.match == "similar"
        assert dict(layer.stats()["functions"]["ask"])["shadow_checks"] == 1
        report = layer.quality().report()
        assert report["slices"] == {} or report["slices"]["function"]["ask"]["wrong"] == 0
        assert 'verdict="right"} 1.0' in layer.metrics().render()[1].decode()
