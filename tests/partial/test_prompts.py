"""Prompts are rendered and tokenized once, and what is written otherwise is another prompt."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.testing import WordEmbedder


class Tone(enum.Enum):
    DRY = "dry"


class Mood(enum.Enum):
    DRY = "dry"


async def test_prompts_are_rendered_and_tokenized_once() -> None:
    encoded: list[str] = []

    def encode(text: str) -> list[int]:
        encoded.append(text)
        return [len(word) for word in text.split()]

    async with CacheLayer(semantic=False) as layer:
        with pytest.raises(ConfigurationError, match="tokenizer"):
            layer.prompts.count("x")
        layer.prompts.tokenizer(encode, name="words-1")
        hello = layer.prompts.template("hello", "Hello {name}, be {tone}", version="2")

        @layer.cached(semantic=False)
        async def ask(name: str) -> int:
            return layer.prompts.count(hello(name=name, tone="short"))

        assert await ask("Ann") == 4 and layer.prompts.count("Hello Ann, be short") == 4
        ids = layer.prompts.ids("Hello Ann, be short")
        assert ids.dtype == np.int32 and ids.tolist() == [5, 4, 2, 5] and len(encoded) == 1
        assert await layer.invalidate(prompts=["hello"]) == 2
        assert layer.prompts.count("") == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Tone.DRY, "dry"),
        (Tone.DRY, Mood.DRY),
        (3, 3.0),
        (0.5, np.float32(0.5)),
        ([3], (3,)),
        ({"a": [Tone.DRY]}, {"a": ["dry"]}),
    ],
)
def test_variables_of_a_prompt_that_are_written_otherwise_are_others(one: Any, other: Any) -> None:
    tell = CacheLayer(semantic=False).prompts.template("tone", "Be {tone}, {name}")
    for tone in (one, other):
        assert tell(tone=tone, name="Ann") == tell(name="Ann", tone=tone) == f"Be {tone}, Ann"


async def test_an_edited_text_is_another_prompt_whatever_was_kept_of_the_old_one(tmp_path: Path) -> None:
    for text in ("Be short. {question}", "Be kind. {question}"):
        layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())
        render = layer.prompts.template("answer", text, version="1")
        async with layer:
            assert render(question="why?") == text.format(question="why?")


@pytest.mark.parametrize("text", ["Hello {", "{} asks", "{0} asks", "{name:{}}"])
def test_a_text_whose_variables_cannot_be_given_is_no_template(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^template="):
        CacheLayer(semantic=False).prompts.template("hello", text)


def test_variables_are_one_rendering_in_whatever_order_they_are_given() -> None:
    layer, made = CacheLayer(semantic=False), []

    def greeting(**variables: str) -> str:
        made.append(variables)
        return "{name} of {place}".format(**variables)

    render = layer.prompts.template("greeting", greeting)
    given = {"name": "Ann", "place": "Ulm"}
    assert render(**given) == render(**dict(reversed(given.items()))) == "Ann of Ulm"
    assert len(made) == 1
