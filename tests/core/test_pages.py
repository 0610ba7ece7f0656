"""A page that a proxy sends with status 200 is no model's answer, though clients hand it on as text."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from cachelayer import CacheLayer, Source

PAGE = "\n<!doctype html><title>Back soon</title>"


class AsyncAPIResource:
    """Stands for the class below what holds the methods of openai's client, anthropic's, groq's, together's."""


class Messages(AsyncAPIResource):
    def __init__(self, *said: Any) -> None:
        self.said = list(said)

    async def create(self, *, model: str = "m", **body: Any) -> Any:
        return self.said.pop(0)


@pytest.mark.parametrize("bind", [lambda fn: fn, lambda fn: partial(fn, model="m")])
async def test_a_page_is_passed_on_and_the_next_caller_asks_again(bind: Any) -> None:
    ask = CacheLayer(semantic=False).wrap(bind(Messages(PAGE, "It is <b>bold</b>.", "more").create))
    first = await ask(messages=[])
    assert first == PAGE
    assert [await ask(messages=[]) for _ in range(2)] == ["It is <b>bold</b>."] * 2


async def test_a_function_of_ones_own_may_answer_with_a_page() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def page(name: str) -> str:
        return PAGE

    assert await page("home") == PAGE
    assert (await page.outcome("home")).source is Source.MEMORY
