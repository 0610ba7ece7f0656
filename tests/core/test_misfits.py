"""Calls that do not fit the signature that a function tells: a decorator below the layer's hands it more or less."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Reason


def with_session(fn: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    @functools.wraps(fn)
    async def given(*args: Any, **kwargs: Any) -> str:
        return await fn("a session", *args, **kwargs)

    return given


async def test_the_log_says_once_why_they_go_uncached_and_so_does_explain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[str] = []

    @CacheLayer(semantic=False).cached(name="ask")
    @with_session
    async def ask(session: str, question: str) -> str:
        calls.append(question)
        return f"{question} in {session}"

    for _ in range(2):
        assert await ask("a secret") == "a secret in a session"
    assert calls == ["a secret"] * 2
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("calls of ask are not cached: ") and "put the layer's decorator below it" in told
    explained: Any = await ask.explain("a secret")
    assert explained.reasons == {"memory": Reason.NOT_KEYABLE} and "decorator" in explained.why
    assert "secret" not in caplog.text


def test_a_keyword_that_is_called_as_a_positional_parameter_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @CacheLayer(semantic=False).cached
    def ask(question: str, /, **more: str) -> tuple[str, dict[str, str]]:
        return question, more

    assert ask("a", question="b") == ("a", {"question": "b"})
    (told,) = [record.getMessage() for record in caplog.records]
    assert "a keyword is called as a parameter in front of the / is (rename one of them)" in told


async def test_a_call_that_the_function_refuses_is_told_by_it_alone(caplog: pytest.LogCaptureFixture) -> None:
    @CacheLayer(semantic=False).cached(name="ask")
    async def ask(question: str) -> str:
        return question

    refused: Any = ask
    with pytest.raises(TypeError, match="question"):
        await refused()
    assert not caplog.records


MISSING = object()


class Omit:
    """As the openai client's word for what is not given."""


omit = Omit()


async def test_an_argument_whose_default_says_that_it_was_not_given_is_as_good_as_not_given() -> None:
    @CacheLayer(semantic=False).cached
    async def ask(question: str, seed: Any = MISSING, top: Any = omit, k: Any = ...) -> str:
        return f"{question} {'any' if seed is MISSING else seed} {'all' if top is omit else top}"

    assert await ask("a") == "a any all" and await ask("a", 7) == "a 7 all"
    assert await ask("a", None, 1) == "a None 1"
    assert (await ask.outcome("a", top=omit, seed=MISSING, k=...)).match == "exact"
    assert (await ask.outcome("a", 7)).answer == "a 7 all"
    with pytest.raises(
        ConfigurationError, match=r"argument 'question' cannot be part of a key \(builtins.object"
    ):
        await CacheLayer(semantic=False).cached(ask.function.fn)(MISSING)
