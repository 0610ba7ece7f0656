"""What has expired, or is older than the request allows, is no candidate: it hides no other entry from a request."""

from __future__ import annotations

from typing import Any

import pytest
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Explanation, Outcome, Policy, Reason, Source
from cachelayer.testing import ManualClock, WordEmbedder

ASKED, OLD, NEW = "where is my red parcel", "is my red parcel where", "my parcel red is is where"
PATIENT = Budgets(embed="20s", search="20s", verify="20s")
EARLIER = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "what is it"}]
TOO_OLD = pytest.mark.parametrize(("passed", "tighter"), [(40, {}), (10, {"max_age": 60})])


class Asked:
    """A chat whose answers live for a hundred seconds, of which OLD's, the nearest to ASKED, is seventy old."""

    def __init__(self, earlier: list[dict[str, str]]) -> None:
        self.earlier, self.clock = earlier, ManualClock()
        policy = Policy(max_error_rate=0.05, shadow=0, budgets=PATIENT, ttl=100, ttl_jitter=0)
        self.layer = CacheLayer(
            policy=policy, embedder=WordEmbedder(), verifier=SameWords(), clock=self.clock
        )
        self.chat = self.layer.wrap(self._answer, name="chat")

    async def _answer(self, messages: list[dict[str, str]]) -> str:
        return str(messages[-1]["content"])

    def said(self, question: str) -> list[dict[str, str]]:
        return [*self.earlier, {"role": "user", "content": question}]

    async def begin(self) -> None:
        await self.chat(self.said(OLD))
        await self.layer.flush()
        self.clock.advance(70)

    async def told_and_met(self) -> tuple[Explanation, Outcome[str]]:
        """What is explained of ASKED, and what a call of it meets."""
        question = self.said(ASKED)
        return await self.chat.explain(question), await self.chat.outcome(question)


@TOO_OLD
@pytest.mark.parametrize("earlier", [[], EARLIER])
async def test_a_younger_entry_is_served_though_one_that_is_too_old_is_nearer(
    passed: float, tighter: dict[str, Any], earlier: list[dict[str, str]]
) -> None:
    """The nearer one was chosen, and the request then was a miss."""
    asked = Asked(earlier)
    async with asked.layer:
        await asked.begin()
        await asked.chat.refresh(asked.said(NEW))
        await asked.layer.flush()
        asked.clock.advance(passed)
        with asked.layer.tighten(**tighter):
            outcome = await asked.chat.outcome(asked.said(ASKED))
    assert (outcome.source, outcome.answer) == (Source.INDEX, NEW)


@TOO_OLD
async def test_what_is_too_old_is_explained_as_the_call_meets_it(
    passed: float, tighter: dict[str, Any]
) -> None:
    """It was explained as a similar hit."""
    asked = Asked([])
    async with asked.layer:
        await asked.begin()
        asked.clock.advance(passed)
        with asked.layer.tighten(**tighter):
            told, met = await asked.told_and_met()
    assert (told.verdict, met.source) == ("miss", Source.BACKEND)
    assert told.reasons["similar"] is met.misses["similar"] is Reason.EXPIRED


async def test_who_wants_nothing_kept_is_explained_no_similar_hit() -> None:
    asked = Asked([])
    async with asked.layer:
        await asked.begin()
        with asked.layer.tighten(no_cache=True):
            told, met = await asked.told_and_met()
    assert (told.verdict, met.source) == ("miss", Source.BACKEND)
    assert told.reasons == {"memory": Reason.NO_CACHE, "similar": Reason.NO_CACHE}


@pytest.mark.parametrize("earlier", [[], EARLIER])
@pytest.mark.parametrize("times", [3, 12, 25])
async def test_what_was_refreshed_often_hides_no_other_entry(
    times: int, earlier: list[dict[str, str]]
) -> None:
    """Entries that went stay in the index until some have gathered, and were all that was found."""
    asked = Asked(earlier)
    async with asked.layer:
        await asked.chat(asked.said(NEW))
        for _ in range(times):
            await asked.chat.refresh(asked.said(OLD))
            await asked.layer.flush()
        await asked.chat.invalidate(asked.said(OLD))
        told, met = await asked.told_and_met()
    assert (told.verdict, met.source, met.answer) == ("similar hit", Source.INDEX, NEW)


async def test_many_entries_that_are_too_old_hide_no_younger_one() -> None:
    asked = Asked([])
    async with asked.layer:
        for number in range(20):
            await asked.chat(asked.said(f"{OLD}{'?' * number}"))
        await asked.layer.flush()
        asked.clock.advance(70)
        await asked.chat.refresh(asked.said(NEW))
        await asked.layer.flush()
        with asked.layer.tighten(max_age=60):
            told, met = await asked.told_and_met()
    assert (told.verdict, met.source, met.answer) == ("similar hit", Source.INDEX, NEW)
