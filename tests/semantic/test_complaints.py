"""What one principal reports of others' answers holds for itself at once, and for everybody within limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shelf import Shelf
from verifiers import SameWords

from cachelayer import CacheLayer, Outcome, Policy
from cachelayer.semantic.complaints import FREE, HOUR, Complaints
from cachelayer.testing import Gate, WordEmbedder


def asking(
    answer: Callable[[str], str] = lambda question: f"answer to {question}", *, store: Any = None
) -> tuple[CacheLayer, Any]:
    policy = Policy(max_error_rate=0.05, shadow=0)
    layer = CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords(), store=store)

    @layer.cached
    async def ask(question: str) -> str:
        return answer(question)

    async def asked(principal: str | None, question: str, tenant: str | None = None) -> Outcome:
        with layer.scope(principal=principal, tenant=tenant):
            outcome = await ask.outcome(question)
        await layer.flush()
        return outcome

    return layer, asked


async def reported(
    layer: CacheLayer, outcome: Outcome, principal: str | None, tenant: str | None = None
) -> bool:
    with layer.scope(principal=principal, tenant=tenant):
        return await layer.report_wrong(outcome)


async def test_one_principal_takes_few_answers_of_others_from_them_and_is_heard_for_its_own_requests() -> (
    None
):
    layer, asked = asking()
    async with layer:
        taken = 0
        for number in range(2 * FREE):
            one, other = f"red parcel {number:03}x", f"parcel {number:03}x red"
            made = await asked("ann", one)
            hit = await asked("bob", other)
            assert hit.match == "similar" and await reported(layer, hit, "bob")
            assert (await asked("bob", other)).answer == f"answer to {other}"
            taken += (await asked("ann", one)).id != made.id
        assert taken == FREE


@pytest.mark.parametrize("beside", [False, True])
async def test_what_a_principal_made_it_may_take_back_and_the_owner_everything(beside: bool) -> None:
    """Also where a function beside has vectors of its own, whose tier knows nothing of the answers."""
    layer, asked = asking()
    if beside:
        layer.wrap(Gate(), name="look", vector=len)
    async with layer:
        for number in range(FREE + 5):
            assert await reported(layer, await asked("ann", f"blue lamp {number:03}x"), "ann")
        outcomes = [await asked("ann", f"green chair {number:03}x") for number in range(2 * FREE)]
        assert [await reported(layer, one, "bob") for one in outcomes] == [True] * FREE + [False] * FREE
        assert all([await reported(layer, one, None) for one in outcomes[FREE:]])


@pytest.mark.parametrize("stored", [False, True])
async def test_it_is_the_same_where_nothing_is_compared_by_meaning(stored: bool) -> None:
    layer = CacheLayer(semantic=False)
    if stored:  # and nothing is in memory
        layer = CacheLayer(semantic=False, store=Shelf(), policy=Policy(max_bytes=0))

    @layer.cached
    async def ask(question: str) -> str:
        return f"answer to {question}"

    async with layer:
        outcomes = [await ask.outcome(f"green chair {number}") for number in range(2 * FREE)]
        await layer.flush()
        assert [await reported(layer, one, "bob") for one in outcomes] == [True] * FREE + [False] * FREE
        assert (await ask.outcome(f"green chair {FREE}")).match == "exact"
        assert all([await reported(layer, one, None) for one in outcomes[FREE:]])


async def test_what_a_principal_read_from_the_store_is_still_another_s() -> None:
    shelf = Shelf()
    (here, asked), (there, asked_there) = asking(store=shelf), asking(store=shelf)
    async with here, there:
        questions = [f"green chair {number:03}x" for number in range(FREE + 5)]
        for question in questions:
            await asked("ann", question)
        outcomes = [await asked_there("bob", question) for question in questions]
        assert {one.source for one in outcomes} == {"redis"}
        assert [await reported(there, one, "bob") for one in outcomes] == [True] * FREE + [False] * 5
        again = await asked_there("ann", questions[-1])
        assert again.match == "exact" and await reported(there, again, "ann")


async def test_within_a_tenant_s_scope_no_other_tenant_s_answer_is_reported() -> None:
    layer, asked = asking()
    async with layer:
        outcome = await asked(None, "red parcel", tenant="acme")
        assert not await reported(layer, outcome, None, tenant="other")
        assert (await asked(None, "red parcel", tenant="acme")).source == "memory"
        assert await reported(layer, outcome, None, tenant="acme")


async def test_an_answer_is_accused_once_by_a_principal_however_many_requests_have_it() -> None:
    layer, asked = asking(lambda question: "always this")
    async with layer:
        for number in range(9):
            await asked("ann", f"red parcel {number:03}x")
        for number in range(8):
            for name in ("bob", "cid"):
                assert await reported(layer, await asked(name, f"parcel {number:03}x red"), name)
        tier = layer._similar
        assert tier is not None
        (function,) = tier.decider._functions.values()  # type: ignore[attr-defined]
        assert [sum(here.hood.answers.wrong) for here in function.scopes.values()] == [4.0]


@given(st.lists(st.sampled_from("abc"), max_size=300))
def test_reports_reach_as_far_as_the_others_keep_up(reporters: list[str]) -> None:
    complaints, counts = Complaints(), dict.fromkeys("abc", 0)
    for name in reporters:
        others = sum(counts.values()) - counts[name]
        accepted = complaints.accepts(b"scope", name, "", 0.0)
        assert accepted == (counts[name] < FREE + others)
        counts[name] += accepted


def test_after_an_hour_they_reach_as_far_again_and_the_scopes_are_bounded() -> None:
    complaints = Complaints()
    assert sum(complaints.accepts(b"scope", "a", "", 0.0) for _ in range(99)) == FREE
    assert complaints.accepts(b"scope", "a", "", HOUR) and complaints.accepts(b"other", "a", "", 0.0)
    for number in range(5000):
        complaints.accepts(b"%d" % number, "a", "", 0.0)
    assert len(complaints._scopes) <= 256


def test_reports_in_many_other_scopes_do_not_give_a_principal_more_of_one() -> None:
    complaints, taken = Complaints(), 0
    for _ in range(3):
        taken += sum(complaints.accepts(b"scope", "a", "ann", 0.0) for _ in range(99))
        for number in range(300):  # of its own answers
            assert complaints.accepts(b"own %d" % number, "a", "a", 0.0)
            complaints.repeated(b"own %d" % number, "a", number, 0.0)
    assert taken == FREE
    assert len(complaints._scopes) <= 256
