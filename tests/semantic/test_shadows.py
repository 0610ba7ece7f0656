"""Shadow checks cost what the owner allows, and what may not be checked is no part of any estimate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from verifiers import Sure

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy
from cachelayer.testing import Gate, ManualClock, WordEmbedder
from cachelayer.types import Embedded

FIRST = "what is the way to the old station"
BESIDE = [f"{FIRST} {word}" for word in ("please", "now then", "dear", "friend", "kindly", "sir")]
MANY = [f"{FIRST} {word} {more}" for word in ("please", "dear", "friend", "kindly") for more in "abcdefgh"]


class Busy(WordEmbedder):
    """An embedder that can be made to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.free = asyncio.Event(), asyncio.Event()
        self.free.set()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if not self.free.is_set():
            self.asked.set()
        await self.free.wait()
        return await super().embed(texts)


def layered(clock: ManualClock | None = None, **policy: Any) -> tuple[CacheLayer, Any, list[str]]:
    layer = CacheLayer(
        embedder=WordEmbedder(), verifier=Sure(), clock=clock or ManualClock(),
        policy=Policy(**{"shadow": 1.0, "max_error_rate": 0.5, **policy}),
    )  # fmt: skip
    called: list[str] = []

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        called.append(question)
        return "left"

    return layer, ask, called


async def asked(layer: CacheLayer, ask: Any, questions: Sequence[str]) -> None:
    for question in questions:
        assert (await ask.outcome(question)).match == "similar"
        await layer.flush()


def told(layer: CacheLayer) -> dict[str, Any]:
    """What the error budget says of the function."""
    found: dict[str, Any] = layer.stats()["similar"]["decider"]["ask"]["0.5"]
    return found


async def test_checks_of_a_function_stay_below_its_limit_an_hour_and_begin_anew_in_the_next() -> None:
    clock = ManualClock()
    layer, ask, called = layered(clock, shadow_limit=2)
    async with layer:
        await ask(FIRST)
        await layer.flush()
        await asked(layer, ask, BESIDE[:4])
        assert called == [FIRST, *BESIDE[:2]]
        clock.advance(3600.0)
        await asked(layer, ask, BESIDE[4:])
        assert called == [FIRST, *BESIDE[:2], *BESIDE[4:]]


async def test_a_check_counts_as_right_or_wrong_by_what_the_backend_says_now() -> None:
    answers, policy = ["left", "left", "right"], Policy(shadow=1.0, max_error_rate=0.5)
    layer = CacheLayer(embedder=WordEmbedder(), verifier=Sure(), policy=policy)
    ask = layer.wrap(Gate(lambda question: answers.pop(0), opened=True), name="ask")
    async with layer:
        await ask(FIRST)
        await layer.flush()
        for question, verdicts in zip(BESIDE, ({"right": 1}, {"right": 1, "wrong": 1}), strict=False):
            assert (await ask.outcome(question)).match == "similar"
            await layer.flush()
            assert ask.function.stats.shadow_verdicts == verdicts


async def test_what_is_beyond_the_limit_speaks_neither_for_nor_against_the_estimate() -> None:
    layer, ask, called = layered(shadow=0.5, shadow_limit=1)
    async with layer:
        await ask(FIRST)
        await layer.flush()
        rest = iter(MANY)
        while len(called) < 2:
            await asked(layer, ask, [next(rest)])
        before = told(layer)
        await asked(layer, ask, list(rest))
        after = told(layer)
    assert before["checks"] == after["checks"] == 1
    assert before["interval"] == after["interval"]
    assert before["hits"] < after["hits"] == len(MANY)


async def test_what_was_waited_for_is_never_checked_and_so_no_part_of_the_estimate() -> None:
    gate, patient = Gate(), Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(shadow=0.5, max_error_rate=0.5, budgets=patient)
    layer = CacheLayer(embedder=WordEmbedder(), verifier=Sure(), policy=policy)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        callers = [asyncio.create_task(ask.outcome(question)) for question in (FIRST, *MANY)]
        await gate.entered()
        tier = layer._similar
        assert tier is not None
        while tier.inflight.joined < len(MANY):
            await asyncio.sleep(0)
        gate.open()
        assert {outcome.answer for outcome in await asyncio.gather(*callers)} == {"answer 1"}
        await layer.flush()
        account = tier.decider._functions["ask"].account(0.5)  # type: ignore[attr-defined]
    assert (account.ledger.hits, account.interval.checks, account.alarm.wealth) == (len(MANY), 0, 0.0)
    assert not any(account.interval.hits.values()) and not tier.decider._pending  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", [{"pure": False}, {"shadow_limit": 0, "shadow": 0}])
async def test_a_function_that_is_never_checked_is_unverified_and_claims_nothing(
    policy: dict[str, Any],
) -> None:
    layer, _, called = layered(shadow=0.5)

    @layer.cached(name="ask2", **policy)
    async def ask(question: str) -> str:
        called.append(question)
        return "left"

    async with layer:
        await ask(FIRST)
        await layer.flush()
        await asked(layer, ask, MANY)
        account = layer.stats()["similar"]["decider"]["ask2"]["0.5"]
    assert called == [FIRST]
    assert (account["state"], account["interval"]) == ("unverified", (0.0, 1.0))


@pytest.mark.parametrize("value", [-1, 1.5, True, "many"])
def test_a_limit_that_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="shadow_limit"):
        Policy(shadow_limit=value)


def reply(content: str, end: str | None) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": end}]}


@pytest.mark.parametrize("failed", [None, {"error": {"message": "busy"}}, reply("Turn", None)])
async def test_a_check_whose_backend_fails_vouches_for_no_hit(failed: Any) -> None:
    """By an exception, which counted as a fault of the cache's, or by an answer that is an error or broke off: those
    counted as the truth."""
    policy, answers = Policy(shadow=0.5, max_error_rate=0.5), [reply("Turn left.", "stop")]
    layer = CacheLayer(embedder=WordEmbedder(), verifier=Sure(), policy=policy)
    backend = Gate(lambda question: answers[-1], opened=True)
    ask = layer.wrap(backend, name="ask")
    async with layer:
        await ask(FIRST)
        await layer.flush()
        answers.append(failed)
        if failed is None:
            backend.error = OSError("busy")
        await asked(layer, ask, MANY)
        assert layer._similar is not None
        state, decider = told(layer), layer._similar.decider
    checked = backend.calls - 1
    assert (state["hits"], state["checks"], state["estimate"]) == (len(MANY), 0, None)
    counted = decider._functions["ask"].account(0.5).interval.hits[0.5]  # type: ignore[attr-defined]
    assert checked > 0 and counted == len(MANY) - 2 * checked
    assert not decider._pending  # type: ignore[attr-defined]
    assert layer.stats()["faults"] == {}
    assert ask.function.stats.backend_errors == (checked if failed is None else 0)


async def test_what_somebody_changed_while_it_was_compared_is_not_asked_in_its_place() -> None:
    embedder, called = Busy(), list[str]()
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(shadow=1.0, max_error_rate=0.5, budgets=patient)
    layer = CacheLayer(embedder=embedder, verifier=Sure(), policy=policy)

    @layer.cached
    async def chat(messages: list[dict[str, str]]) -> str:
        called.append(messages[-1]["content"])
        return "left"

    async with layer:
        await chat([{"role": "user", "content": FIRST}])
        await layer.flush()
        messages = [{"role": "user", "content": BESIDE[0]}]
        embedder.free.clear()
        asking = asyncio.ensure_future(chat.outcome(messages))
        await embedder.asked.wait()
        messages[0]["content"] = "what is the time"
        embedder.free.set()
        assert (await asking).match == "similar"
        await layer.flush()
        assert called == [FIRST]


async def test_a_hit_that_says_nothing_in_words_is_checked_for_nothing_and_that_is_no_fault() -> None:
    layer = CacheLayer(
        embedder=WordEmbedder(), verifier=Sure(), policy=Policy(shadow=1.0, max_error_rate=0.5)
    )
    backend = Gate(lambda question: b"\xff" if question == FIRST else "left", opened=True)
    ask = layer.wrap(backend, name="ask")
    async with layer:
        await ask(FIRST)
        await layer.flush()
        await asked(layer, ask, BESIDE[:2])
        assert backend.calls == 3 and layer.stats()["faults"] == {}
        assert not ask.function.stats.shadow_verdicts
