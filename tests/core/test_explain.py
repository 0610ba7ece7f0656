"""What is explained is what a call would meet, tier by tier, to the second (law 6)."""

from __future__ import annotations

from typing import Any

import pytest
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.testing import Gate, ManualClock, WordEmbedder

FORWARDS, BACKWARDS, OTHER = "where is my red parcel", "my red parcel is where", "where is my blue parcel"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def exact(clock: ManualClock, **policy: Any) -> Any:
    policy = {"ttl": 100, "ttl_jitter": 0, **policy}
    layer = CacheLayer(policy=Policy(**policy), semantic=False, clock=clock)
    return layer, layer.wrap(Gate(opened=True), name="ask")


async def test_the_age_of_what_would_be_served_is_told(clock: ManualClock) -> None:
    _, ask = exact(clock)
    await ask("q")
    clock.advance(30)
    told, met = await ask.explain("q"), await ask.outcome("q")
    assert (told.verdict, told.age) == ("exact hit", 30.0) and (met.source, met.age) == (Source.MEMORY, 30.0)


@pytest.mark.parametrize("stale", [0, 50])
@pytest.mark.parametrize("age", [99, 100, 149, 150])
async def test_an_entry_is_explained_as_expired_when_calls_find_it_so(
    clock: ManualClock, age: float, stale: float
) -> None:
    _, ask = exact(clock, stale_while_revalidate=stale)
    await ask("q")
    clock.advance(age)
    told, met = await ask.explain("q"), await ask.outcome("q")
    assert (
        (told.verdict == "exact hit") is (met.source in (Source.MEMORY, Source.STALE)) is (age < 100 + stale)
    )
    assert told.reasons.get("memory") is (None if age < 100 + stale else Reason.EXPIRED)


@pytest.mark.parametrize("oldest", [29, 30, 31])
async def test_a_greatest_age_is_heeded_alike(clock: ManualClock, oldest: float) -> None:
    layer, ask = exact(clock)
    await ask("q")
    clock.advance(30)
    with layer.tighten(max_age=oldest):
        told, met = await ask.explain("q"), await ask.outcome("q")
    assert (told.verdict == "exact hit") is (met.source is Source.MEMORY) is (oldest >= 30)


async def test_without_an_in_process_tier_that_is_off(clock: ManualClock) -> None:
    _, ask = exact(clock, max_bytes=0)
    await ask("q")
    told, met = await ask.explain("q"), await ask.outcome("q")
    assert told.reasons["memory"] is met.misses["memory"] is Reason.OFF


async def test_a_call_that_goes_past_all_tiers_is_told_why() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(sampled=False)
    async def ask(question: str, temperature: float = 0.0) -> str:
        return question

    told = await ask.explain("q", 0.7)
    assert told.verdict == "bypass" and told.reasons == (await ask.outcome("q", 0.7)).misses


async def test_a_similar_answer_and_none_are_explained_as_what_they_would_be() -> None:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=patient)
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords()) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask(FORWARDS)
        await layer.flush()
        for question, verdict in ((BACKWARDS, "similar hit"), (OTHER, "miss")):
            told, met = await ask.explain(question), await ask.outcome(question)
            assert told.verdict == verdict and told.candidates[0]["text"] == FORWARDS
            assert told.reasons == met.misses
            assert (met.match == "similar") is (verdict == "similar hit")


async def test_why_calls_go_uncached_is_told() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def ask(question: Any) -> Any:
        return object() if question == "odd" else None

    for question in ("odd", "odd", "none"):
        await ask(question)
    told = await ask.explain("odd")
    assert (
        told.why == "of the answers so far, not stored: not_keepable 2, empty_answer 1"
        and told.why in str(told)
    )
    told = await ask.explain(object())
    assert told.verdict == "bypass" and told.why.startswith("argument 'question' cannot be part of a key")


@pytest.mark.parametrize("option", [{"key": lambda question: 1 / 0}, {"vary": [lambda: 1 / 0]}], ids=str)
async def test_it_is_told_that_a_key_could_not_be_made(option: dict[str, Any]) -> None:
    @CacheLayer(semantic=False).cached(**option)
    async def ask(question: str) -> str:
        return question

    assert await ask("a") == "a"
    assert "raised ZeroDivisionError; the log says where" in (await ask.explain("a")).why


async def test_a_hit_needs_no_reason(clock: ManualClock) -> None:
    _, ask = exact(clock)
    await ask("q")
    assert (await ask.explain("q")).why == (await ask.explain("other")).why == ""


async def test_where_the_text_was_looked_for_in_vain_is_told() -> None:
    """As of Cohere's `chat(message=...)`, a decorator of which says that it takes anything."""

    async def chat(**body: Any) -> str:
        return "yes"

    ask = CacheLayer(embedder=WordEmbedder()).wrap(chat)
    missed = await ask.explain(message="Is it open?")
    assert missed.reasons["similar"] is Reason.NOT_TEXT
    assert "argument 'messages', which is compared by meaning, was not given; text= says" in str(missed)
    sent = [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Yes"}]
    assert "holds no text that a user said last" in (await ask.explain(messages=sent)).detail


async def test_all_that_must_be_equal_is_told_in_short_the_instructions_of_a_chat_and_what_is_no_text_too() -> (
    None
):
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def chat(messages: list[dict[str, str]]) -> str:
        return "yes"

    @layer.cached(name="look")
    async def look(question: Any) -> str:
        return "yes"

    system = {"role": "system", "content": "Answer in French." * 20}
    told = await chat.explain([system, {"role": "user", "content": "Is it open?"}])
    assert told.scope["messages"][0]["content"] == system["content"]
    compared, equal = str(told).splitlines()[-2:]
    assert compared == "  compared exactly: 'Is it open?'"
    assert equal.startswith('  must be equal: messages = [{"content":"Answer in') and len(equal) == 108
    assert "must be equal: question = 7" in str(await look.explain(7))


async def test_beside_a_retrieval_other_functions_are_explained_and_answered_as_ever() -> None:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=patient)
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords()) as layer:
        layer.retrieval(Gate(opened=True), name="search")
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask(FORWARDS)
        await layer.flush()
        assert (await ask.explain(BACKWARDS)).verdict == "similar hit"
        assert (await ask.outcome(BACKWARDS)).match == "similar"
