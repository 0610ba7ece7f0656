"""Methods of pydantic models, as of LangChain's tools and models, are cached where they stand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import BaseModel

from cachelayer import CacheLayer, Source

pytest.importorskip("langchain_core")

from langchain_core.tools import BaseTool

layer = CacheLayer(semantic=False)


class Clerk(BaseModel):
    name: str
    asked: int = 0

    @layer.cached(self_key="name")
    def look(self, item: str) -> str:
        self.asked += 1
        return f"{self.name}: {item}"

    @layer.cached(self_key="name")
    async def ask(self, question: str) -> str:
        self.asked += 1
        return f"{self.name}: {question}"

    @layer.cached(self_key="name")
    async def say(self, text: str) -> AsyncIterator[str]:
        self.asked += 1
        yield self.name

    @classmethod
    @layer.cached
    def of(cls, name: str) -> str:
        return f"{cls.__name__} {name}"


class Chief(Clerk):
    pass


@pytest.fixture(autouse=True)
async def emptied() -> Any:
    await layer.erase()


async def test_they_are_cached_for_each_model_and_are_none_of_its_fields() -> None:
    ann, bob = Clerk(name="ann"), Clerk(name="bob")
    for one in (ann, bob, ann):
        assert one.look("lamp") == f"{one.name}: lamp"
        assert await one.ask("how?") == f"{one.name}: how?"
        assert [word async for word in one.say("it")] == [one.name]
    assert (ann.asked, bob.asked) == (3, 3) and list(Clerk.model_fields) == ["name", "asked"]
    assert (await ann.ask.outcome("how?")).source is Source.MEMORY


def test_those_that_a_model_inherits_are_its_own() -> None:
    assert (Clerk(name="ann").look("lamp"), Chief(name="ann").look("lamp")) == ("ann: lamp",) * 2
    assert Chief(name="ann").look.outcome("lamp").source is Source.MEMORY
    assert (Clerk.of("x"), Chief.of("x")) == ("Clerk x", "Chief x")


def test_a_tool_of_langchain_may_cache_what_it_runs() -> None:
    ran: list[str] = []

    class Price(BaseTool):
        name: str = "price"
        description: str = "Look up a price."

        @layer.cached(share_self=True)
        def _run(self, item: str) -> int:
            ran.append(item)
            return len(item)

    tool = Price()
    assert [tool.invoke({"item": "lamp"}) for _ in range(2)] == [4, 4] and ran == ["lamp"]


def test_a_mock_made_after_one_takes_its_arguments() -> None:
    with patch.object(Clerk, "look", autospec=True, return_value="free"):
        assert Clerk(name="ann").look("lamp") == "free"
        with pytest.raises(TypeError):
            Clerk(name="ann").look("lamp", "more")
