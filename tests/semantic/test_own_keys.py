"""`key=` and `text=`: the text that a key leaves out is compared by meaning, and never taken for another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from counting import Counting
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy, Source
from cachelayer.testing import WordEmbedder

FORWARDS, BACKWARDS, OTHER = "how do I return it", "it return I do how", "who built the bridge"


@dataclass
class Request:
    prompt: str
    model: str


def prompt_of(request: Request) -> str:
    return request.prompt


def make(embedder: WordEmbedder | None = None) -> CacheLayer:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=patient)
    return CacheLayer(policy=policy, embedder=embedder or WordEmbedder(), verifier=SameWords())


async def served(layer: CacheLayer, ask: Any, *asked: Any) -> list[tuple[Any, Source]]:
    """Answer and source of each call; what one taught is there before the next."""
    found = []
    for arguments in asked:
        outcome = await ask.outcome(*arguments)
        found.append((outcome.answer, outcome.source))
        await layer.flush()
    return found


async def test_a_text_function_gives_what_is_compared_and_the_key_what_is_equal() -> None:
    async with make() as layer:

        @layer.cached(key=lambda request: request.model, text=prompt_of)
        async def ask(request: Request) -> str:
            return f"{request.model}: {request.prompt}"

        assert await served(
            layer, ask, *[(Request(text, "a"),) for text in (FORWARDS, BACKWARDS, FORWARDS, OTHER)]
        ) == [
            (f"a: {FORWARDS}", Source.BACKEND),
            (f"a: {FORWARDS}", Source.INDEX),
            (f"a: {FORWARDS}", Source.MEMORY),
            (f"a: {OTHER}", Source.BACKEND),
        ]
        assert await served(layer, ask, (Request(BACKWARDS, "b"),)) == [(f"b: {BACKWARDS}", Source.BACKEND)]


@pytest.mark.parametrize(
    "options",
    [
        {"text": "question", "key": lambda question, db: db},
        {"text": lambda question, db: question, "ignore": ["question"]},
    ],
    ids=["key", "ignore"],
)
async def test_a_text_that_no_key_holds_tells_requests_apart_all_the_same(options: dict[str, Any]) -> None:
    """Every question to one database was answered with the first one's answer."""
    async with make() as layer:

        @layer.cached(**options)
        async def ask(question: str, db: str) -> str:
            return f"{db}: {question}"

        assert await served(layer, ask, (FORWARDS, "a"), (OTHER, "a"), (BACKWARDS, "a"), (FORWARDS, "b")) == [
            (f"a: {FORWARDS}", Source.BACKEND),
            (f"a: {OTHER}", Source.BACKEND),
            (f"a: {FORWARDS}", Source.INDEX),
            (f"b: {FORWARDS}", Source.BACKEND),
        ]


async def test_a_chat_beside_a_key_is_compared_turn_by_turn() -> None:
    def said(*texts: str) -> list[dict[str, str]]:
        roles = ("user", "assistant", "user")
        return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]

    async with make() as layer:

        @layer.cached(text="messages", key=lambda messages, db: db)
        async def ask(messages: list[dict[str, str]], db: str) -> str:
            return " / ".join(one["content"] for one in messages)

        again = await served(layer, ask, (said(FORWARDS), "a"), (said(BACKWARDS), "a"))
        assert again == [(FORWARDS, Source.BACKEND), (FORWARDS, Source.INDEX)]
        followed = said(OTHER, "nobody", FORWARDS)
        assert (await served(layer, ask, (followed, "a")))[0][1] is Source.BACKEND


async def test_nothing_is_embedded_where_all_that_a_key_returns_must_be_equal() -> None:
    embedder = Counting()
    async with make(embedder) as layer:

        @layer.cached(key=lambda question, db: [question.lower(), db])
        async def ask(question: str, db: str) -> str:
            return question

        assert await served(layer, ask, (FORWARDS, "a"), (FORWARDS.upper(), "a"), (BACKWARDS, "a")) == [
            (FORWARDS, Source.BACKEND),
            (FORWARDS, Source.MEMORY),
            (BACKWARDS, Source.BACKEND),
        ]
        assert not embedder.texts and layer.stats()["similar"]["entries"] == 0
        assert (await ask.explain(OTHER, "a")).reasons["similar"] == "off"


def test_a_text_function_alone_is_refused_where_texts_are_compared() -> None:
    """Everything that it reads is part of the key, so that no two texts were ever compared."""

    async def ask(request: Request) -> str:
        return request.prompt

    with pytest.raises(ConfigurationError, match=r"text=.*give key="):
        make().cached(text=prompt_of)(ask)
    assert CacheLayer(semantic=False).cached(text=prompt_of)(ask)
