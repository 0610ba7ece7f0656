"""Prompts keep their beginnings equal; the lint names what does not; a burst computes a new prefix once."""

from __future__ import annotations

import asyncio
import random

import pytest
from cachelayer.adapters.tensorrt_llm.blocks import PrefixIndex, chain
from cachelayer.adapters.tensorrt_llm.prefix import Lead, PrefixFlight
from cachelayer.adapters.tensorrt_llm.prompts import (
    Document,
    arrange,
    differences,
    lint,
    stable_tools,
)
from hypothesis import given
from hypothesis import strategies as st
from turns import given_up

documents = st.lists(
    st.tuples(st.text(min_size=1, max_size=5), st.text(max_size=20)),
    max_size=6,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: [Document(*pair) for pair in pairs])


@given(documents, st.randoms(use_true_random=False), st.booleans())
def test_the_same_documents_in_any_order_give_the_same_prompt(
    found: list[Document], rng: random.Random, twice: bool
) -> None:
    shuffled = found + found[: 1 if twice else 0]
    rng.shuffle(shuffled)
    one = arrange(system="s", question="q", documents=found)
    assert arrange(system="s", question="q", documents=shuffled) == one


@given(documents, st.dictionaries(st.sampled_from("abc"), st.text(max_size=5)))
def test_variables_come_last_and_roles_alternate(found: list[Document], variables: dict[str, str]) -> None:
    history = [{"role": "user", "content": "h1"}, {"role": "assistant", "content": "h2"}]
    messages = arrange(
        system="s",
        question="q?",
        examples=[("x", "y")],
        documents=found,
        history=history,
        variables=variables,
    )
    assert [m["role"] for m in messages] == ["system", *["user", "assistant"] * 2, "user"]
    tail = "".join(f"{k}: {v}\n" for k, v in sorted(variables.items()))
    assert messages[-1]["content"] == f"{tail}q?"
    assert history[0]["content"] == "h1", "the caller's history is not touched"
    for document in found:
        assert f'<document id="{document.id}">' in messages[3]["content"]


def test_a_longer_history_only_appends() -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    short = arrange(system="s", question="q", documents=[Document("1", "d")], history=turns)
    longer = [*turns, {"role": "user", "content": "q"}, {"role": "assistant", "content": "r"}]
    assert arrange(system="s", question="q2", documents=[Document("1", "d")], history=longer)[:4] == short


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Today is 2026-11-21.", "date"),
        ("It is 14:05 now.", "time"),
        ("Today is Saturday, 21 November.", "weekday date"),
        ("Request 3f2b8c1e-0d4a-4b6e-9c1d-2a3b4c5d6e7f.", "uuid"),
        ("Session 9f86d081884c7d65.", "hex id"),
        ("Sent at 1795251097.", "epoch"),
    ],
)
def test_the_lint_names_what_moves_and_what_it_costs(text: str, kind: str) -> None:
    messages = [
        {"role": "system", "content": "You help. " + text + " x" * 400},
        {"role": "user", "content": "older " * 100},
        {"role": "user", "content": "question at 12:00 on 2026-01-01"},
    ]
    (finding,) = lint(messages)
    assert (finding.kind, finding.message) == (kind, 0)
    # all that follows the moving part, up to the last message
    assert finding.tokens == pytest.approx((len(messages[0]["content"]) - finding.offset + 600) / 4, abs=2)


def test_the_lint_is_silent_on_an_arranged_prompt() -> None:
    messages = arrange(
        system="You help. Version 3.2.", question="q", variables={"date": "2026-11-21", "time": "10:00"}
    )
    assert lint(messages, stable_tools([{"function": {"name": "f", "a": 1}}])) == []


def test_the_lint_sees_tools_that_are_not_in_order() -> None:
    tools = [{"function": {"name": "z"}}, {"function": {"name": "a"}}]
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    assert [f.kind for f in lint(messages, tools)] == ["tool order"]
    assert [f.kind for f in lint(messages, [{"type": "function", "function": {"name": "a"}}])] == [
        "key order"
    ]
    assert stable_tools(tools) == [{"function": {"name": "a"}}, {"function": {"name": "z"}}]


def test_samples_that_part_early_say_where_and_whether_order_is_the_reason() -> None:
    def sample(passages: str, question: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": f"s\n{passages}"}, {"role": "user", "content": question}]

    (finding,) = differences([sample("one\ntwo", "a"), sample("two\none", "b")])
    assert (finding.kind, finding.message, finding.offset) == ("order", 0, 2)
    assert differences([sample("one", "a"), sample("one", "b")]) == []
    assert differences([sample("one", "a"), sample("two", "b")])[0].kind == "content"


def flight(**options: float) -> PrefixFlight:
    return PrefixFlight(PrefixIndex(1000, ttl=100), **options)  # type: ignore[arg-type]


SHARED = chain(b"s" * 128 * 20)


async def test_a_burst_with_a_new_prefix_computes_it_once() -> None:
    gate, order = flight(), []

    async def request(number: int) -> None:
        lead = await gate.enter([*SHARED, number])
        order.append((number, len(lead.blocks)))
        await asyncio.sleep(0)  # the first token is a step away
        lead.warm()
        lead.close()

    await asyncio.gather(*(request(i) for i in range(20)))
    assert order[0] == (0, 21), "the first computes the shared blocks and its own"
    assert {blocks for _, blocks in order[1:]} == {1}, "the others only their own"
    assert gate.held == 19


async def test_different_prefixes_do_not_wait_for_each_other() -> None:
    gate = flight()
    leads = [await gate.enter(chain(bytes([i]) * 128 * 20)) for i in range(5)]
    assert gate.held == 0
    for lead in leads:
        lead.close()


async def test_a_short_shared_beginning_is_not_worth_a_wait() -> None:
    gate = flight(min_blocks=8)
    first = await gate.enter([*SHARED[:4], 1])
    second = await gate.enter([*SHARED[:4], 2])
    assert gate.held == 0
    first.close()
    second.close()


async def test_when_the_leader_fails_one_sibling_leads_and_the_others_wait_for_it() -> None:
    gate = flight()
    first = await gate.enter([*SHARED, 1])
    waiting = [asyncio.ensure_future(gate.enter([*SHARED, n])) for n in (2, 3)]
    await asyncio.sleep(0)
    first.close()  # no first token
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    (second,) = done
    assert len(second.result().blocks) == 21 and len(pending) == 1
    second.result().warm()
    lead: Lead = await pending.pop()
    assert len(lead.blocks) == 1
    lead.close()


async def test_a_wait_ends_with_the_hold_or_the_deadline_and_the_request_goes_alone() -> None:
    gate = flight(max_hold=0.02)
    first = await gate.enter([*SHARED, 1])
    second = await gate.enter([*SHARED, 2])
    assert not first.done.done() and len(second.blocks) == 1, "both compute; the leader keeps its lead"
    first.warm()
    second.close()
    patient = flight(max_hold=600.0)
    first = await patient.enter([*SHARED, 1])
    soon = asyncio.get_running_loop().time() + 0.02
    second = await asyncio.wait_for(patient.enter([*SHARED, 2], soon), 20)
    assert not first.done.done()
    first.close()
    second.close()


async def test_a_cancelled_sibling_leaves_nothing_behind() -> None:
    gate = flight()
    first = await gate.enter(SHARED)
    waiting = asyncio.ensure_future(gate.enter(SHARED))
    await asyncio.sleep(0)
    await given_up(waiting)
    first.warm()
    assert gate._leaders == {}
    lead = await gate.enter(SHARED)
    assert lead.blocks == frozenset(), "all is warm"
    lead.close()
