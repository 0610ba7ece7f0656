"""Calls that do not fit the signature that a function tells: a decorator below the layer's hands it more or less."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cachelayer import CacheLayer, Reason


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


async def test_a_call_that_the_function_refuses_is_told_by_it_alone(caplog: pytest.LogCaptureFixture) -> None:
    @CacheLayer(semantic=False).cached(name="ask")
    async def ask(question: str) -> str:
        return question

    refused: Any = ask
    with pytest.raises(TypeError, match="question"):
        await refused()
    assert not caplog.records
