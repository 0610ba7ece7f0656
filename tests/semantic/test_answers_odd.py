"""Answers that no person would write, as models make them that lose the thread, cost nobody anything."""

from __future__ import annotations

import pytest
from verifiers import SameWords

from cachelayer import CacheLayer
from cachelayer.semantic.answers import is_prose, normalize
from cachelayer.testing import WordEmbedder

WORDS = "these are more than a dozen words of prose which nobody would take for code at all"


@pytest.mark.parametrize("filler", ["\n", " ", "\r\n", "\t\n", "; ", "{\n", "\n;"])
def test_an_answer_of_nothing_but_blank_lines_is_read_in_one_pass(filler: str) -> None:
    answer = f"{WORDS}{filler * 200_000}{WORDS}"  # hours, if each line were read to the end
    assert is_prose(answer) or not filler.isspace()
    assert normalize(answer)


@pytest.mark.parametrize("code", ["a\n  def f", "a\n\n\tclass A", "x = 1;  \ny", "{\n", "a }"])
def test_lines_of_code_are_code_wherever_they_stand(code: str) -> None:
    assert normalize(code) == code.strip() and not is_prose(f"{WORDS}\n{code}\n{WORDS}")


async def test_json_nested_too_deeply_is_compared_as_text_and_its_neighbours_are_decided_about() -> None:
    async def ask(question: str) -> str:
        return "[" * 100_000 + "]" * 100_000

    async with CacheLayer(embedder=WordEmbedder(), verifier=SameWords()) as layer:
        cached = layer.wrap(ask, name="ask")
        await cached("turn on the alarm")
        await layer.flush()
        outcome = await cached.outcome("the alarm turn on")
        await layer.flush()
    assert outcome.source == "index"
