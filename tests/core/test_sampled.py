"""`Policy(sampled=False)`: what was sampled is not kept, wherever a client wants its temperature said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cachelayer import CacheLayer, Policy, Reason, Source


@dataclass
class Config:
    temperature: float | None = None
    seed: int = 1


class Slotted:
    __slots__ = ("temperature",)

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature


class Told:
    """A model that was told its temperature when it was made."""

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    def complete(self, prompt: str) -> str:
        return prompt

    __call__ = complete


class Omit:
    """As the clients' word of this name for what was not given."""


OMIT = Omit()


def gemini(contents: str, config: Any = None) -> str:
    return contents


def chat(messages: list[Any], **rest: Any) -> str:
    return "said"


def ollama(model: str = "m", prompt: str = "", options: Any = None) -> str:
    return prompt


def responses(input: str, temperature: Any = OMIT, extra_body: Any = None) -> str:
    return input


def plain(question: str, **rest: Any) -> str:
    return question


def embed_content(contents: str, config: Any = None) -> list[float]:
    return [1.0]


def render(prompt: str) -> str:
    return prompt


def predict(model: str) -> str:
    return model


ASKED: list[tuple[bool, Callable[..., Any], dict[str, Any]]] = [
    (True, gemini, {"contents": "q"}),
    (True, gemini, {"contents": "q", "config": {"temperature": 0.7}}),
    (True, gemini, {"contents": "q", "config": Config(0.7)}),
    (True, gemini, {"contents": "q", "config": Config()}),
    (True, gemini, {"contents": "q", "config": {"top_p": 0.9}}),
    (False, gemini, {"contents": "q", "config": {"temperature": 0}}),
    (False, gemini, {"contents": "q", "config": Config(0.0)}),
    (False, gemini, {"contents": "q", "config": {"temperature": 0, "top_p": 0.9}}),
    (True, chat, {"messages": [], "inferenceConfig": {"maxTokens": 9}}),
    (True, chat, {"messages": [], "inferenceConfig": {"temperature": 0.1}}),
    (False, chat, {"messages": [], "inferenceConfig": {"temperature": 0}}),
    (True, chat, {"messages": [], "temperature": 0, "extra_body": {"temperature": 0.5}}),
    (True, ollama, {"prompt": "q"}),
    (True, ollama, {"prompt": "q", "options": {"temperature": 1}}),
    (False, ollama, {"prompt": "q", "options": {"temperature": 0}}),
    (True, responses, {"input": "q"}),
    (True, responses, {"input": "q", "temperature": 1}),
    (True, responses, {"input": "q", "extra_body": {"temperature": 1}}),
    (False, responses, {"input": "q", "temperature": 0}),
    (True, plain, {"question": "q", "top_p": 0.5}),
    (True, plain, {"question": "q", "config": Config(0.7)}),
    (False, plain, {"question": "q"}),
    (False, plain, {"question": "q", "weather": {"temperature": "mild"}}),
    (False, embed_content, {"contents": "q"}),
    (True, chat, {"messages": []}),
    (True, chat, {"messages": [], "generation": {"topP": 0.9}}),
    (False, chat, {"messages": [], "generation": {"topP": 0}}),
    (True, plain, {"question": "q", "temperature": None}),
    (True, plain, {"question": "q", "temperature": np.float32(0.7)}),
    (False, chat, {"messages": [], "temperature": np.float32(0)}),
    (False, render, {"prompt": "q"}),
    (False, predict, {"model": "m"}),
]


@pytest.mark.parametrize(("sampled", "fn", "asked"), ASKED)
def test_a_temperature_is_seen_wherever_a_client_wants_it_said(
    sampled: bool, fn: Callable[..., Any], asked: dict[str, Any]
) -> None:
    llm = CacheLayer(policy=Policy(sampled=False), semantic=False).wrap(fn)
    first, second = llm.outcome(**asked), llm.outcome(**asked)
    assert (first.misses["memory"] is Reason.SAMPLED) is sampled
    assert (second.source is Source.BYPASS) is sampled


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_temperature_that_is_left_out_of_the_key_is_seen(temperature: float) -> None:
    layer = CacheLayer(policy=Policy(sampled=False), semantic=False)
    for options in ({"ignore": ["config"]}, {"key": lambda contents, config: contents}):
        llm = layer.wrap(gemini, name=str(*options), **options)
        for config in ({"temperature": temperature}, Slotted(temperature)):
            told = llm.explain("q", config)
            assert (told.verdict == "bypass") is (temperature > 0)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_temperature_of_the_object_that_is_asked_is_seen(temperature: float) -> None:
    model = Told(temperature=temperature)
    for asked in (model.complete, model):
        llm = CacheLayer(policy=Policy(sampled=False), semantic=False).wrap(asked, share_self=True)
        llm("q")
        assert (llm.outcome("q").source is Source.BYPASS) is (temperature > 0)


def test_a_function_that_reads_its_arguments_itself_has_the_only_word() -> None:
    def translate(messages: list[Any], mode: str) -> str:
        return mode

    translate.cachelayer_sampled = lambda asked: asked["mode"] == "creative"  # type: ignore[attr-defined]
    llm = CacheLayer(policy=Policy(sampled=False), semantic=False).wrap(translate)
    assert [llm.explain([], mode).verdict == "bypass" for mode in ("creative", "literal")] == [True, False]
