"""No room for a copy, an index or a counter costs the copy, the index or the counter, and no caller an answer."""

from __future__ import annotations

import pytest
from short_of_memory import Line, watched

from cachelayer import CacheLayer, Policy
from cachelayer.testing import WordEmbedder

QUESTIONS = ("where is my red parcel", "where is my red parcel", "my red parcel where is", "my violin")


async def faults_of(*files: str, at: Line | None = None) -> tuple[set[Line], int]:
    """Ask, with one line failing: every caller is answered, by one call of the backend at most."""
    calls: list[str] = []

    async def answer(question: str) -> dict[str, str]:
        calls.append(question)
        return {"about": question.split()[-1]}

    lines: set[Line] = set()
    policy = Policy(max_error_rate=0.05, shadow=0)
    async with CacheLayer(embedder=WordEmbedder(), policy=policy) as layer:
        asked = [layer.wrap(answer, name=name, semantic=name == "similar") for name in ("similar", "exact")]
        with watched(lines, at, *files):
            for ask in asked:
                for question in QUESTIONS:
                    before = len(calls)
                    assert set(await ask(question)) == {"about"}
                    assert len(calls) - before <= 1
        await layer.flush()
        return lines, sum(layer.stats()["faults"].values())


@pytest.mark.parametrize(
    "files",
    [["tiers/meaning.py"], ["exact/answers/admission.py", "exact/memory/calendar.py"]],
)
async def test_where_memory_is_short_inside_the_cache_callers_have_their_answers(files: list[str]) -> None:
    """It reached the caller, after the backend had answered, too: an answer was paid for and thrown away."""
    lines, none = await faults_of(*files)
    assert len(lines) > 20 and none == 0
    for line in sorted(lines):
        _, told = await faults_of(*files, at=line)
        assert told, f"{line} is counted"


@pytest.mark.parametrize("semantic", [True, False])
async def test_where_it_is_short_in_the_backend_the_caller_hears_of_it_and_nobody_asks_again(
    semantic: bool,
) -> None:
    calls: list[str] = []

    async def answer(question: str) -> str:
        calls.append(question)
        raise short

    short = MemoryError("for a context that long")
    async with CacheLayer(embedder=WordEmbedder(), policy=Policy(max_error_rate=0.05)) as layer:
        ask = layer.wrap(answer, name="ask", semantic=semantic)
        with pytest.raises(MemoryError) as told:
            await ask(QUESTIONS[0])
        assert told.value is short and calls == [QUESTIONS[0]]
        assert layer.stats()["faults"] == {}
