"""What was reported as wrong for a rewording is not served to it again, nor the other way round."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Outcome, Policy, Source
from cachelayer.semantic.pair_log import PairLog
from cachelayer.semantic.reported_pairs import PAIR, REPORTED, ReportedPairs, digest, pair_of, request_digest
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Candidate, Turn

FORWARDS, BACKWARDS, SIDEWAYS = (
    "where is my red parcel today",
    "today where is my parcel red",
    "my red parcel today where is",
)


def make(**options: Any) -> CacheLayer:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=patient)
    return CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords(), **options)


async def test_a_reported_rewording_is_served_from_that_request_no_more_and_others_still_are() -> None:
    async with make() as layer:

        @layer.cached
        async def ask(question: str) -> str:
            return f"answer to {question}"

        async def asked(question: str) -> Outcome:
            outcome = await ask.outcome(question)
            await layer.flush()
            return outcome

        await asked(FORWARDS)
        served = await asked(BACKWARDS)
        assert (served.match, served.answer) == ("similar", f"answer to {FORWARDS}")
        assert await layer.report_wrong(served)
        await asked(FORWARDS)
        for question in (BACKWARDS, FORWARDS, BACKWARDS):
            assert (await asked(question)).answer == f"answer to {question}"
        assert (await asked(SIDEWAYS)).match == "similar"


async def test_the_other_way_round_and_in_flight_they_are_apart_too() -> None:
    async with make() as layer:
        gate = Gate()
        ask = layer.wrap(gate, name="ask")
        callers = [asyncio.create_task(ask.outcome(question)) for question in (FORWARDS, BACKWARDS)]
        await gate.entered()
        tier = layer._similar
        assert tier is not None
        while not tier.inflight.joined:
            await asyncio.sleep(0)
        gate.open()
        _, joined = await asyncio.gather(*callers)
        assert (joined.source, joined.match) == (Source.COALESCED, "similar")
        await layer.flush()
        assert await layer.report_wrong(joined)
        again = await asyncio.gather(*(ask.outcome(question) for question in (BACKWARDS, FORWARDS)))
        assert [outcome.source for outcome in again] == [Source.BACKEND] * 2


def candidate(text: str, *turns: Turn) -> Candidate:
    return Candidate(1, 0.9, text, None, turns)


@given(st.text(max_size=5), st.text(max_size=5), st.binary(max_size=3))
def test_a_pair_is_the_same_both_ways_round(one: str, other: str, scope: bytes) -> None:
    a, b = candidate(one), candidate(other)
    pair = pair_of(b"owner", scope, request_digest(a), b)
    assert pair == pair_of(b"owner", scope, request_digest(b), a) and len(pair) == PAIR
    held = ReportedPairs()
    held.add(pair)
    assert held.sift(scope, a, [b]) == [] == held.sift(scope, b, [a])


def test_other_conversations_and_other_scopes_are_other_pairs() -> None:
    a, b, held = candidate("cancel it"), candidate("stop it"), ReportedPairs()
    held.add(pair_of(b"owner", b"scope", request_digest(a), b))
    assert held.sift(b"scope", a, [b]) == []
    later = candidate("stop it", Turn("user", "my order is late"))
    assert held.sift(b"scope", a, [later]) == [later]
    assert held.sift(b"other", a, [b]) == [b]


def test_the_latest_are_held_and_those_of_an_owner_go_with_it() -> None:
    a, b, held = candidate("cancel it"), candidate("stop it"), ReportedPairs()
    for number in range(REPORTED + 3):
        held.add(pair_of(b"owner", b"%d" % number, request_digest(a), b))
    assert len(held) == REPORTED == len(held._partitions)
    held.add(pair_of(b"another", b"scope", request_digest(a), b))
    held.drop([digest(b"owner")])
    assert len(held) == 1 == len(held._partitions) and held.sift(b"scope", a, [b]) == []
    held.drop(None)
    assert len(held) == 0 and held.sift(b"scope", a, [b]) == [b]


async def test_one_report_leaves_other_rewordings_alone() -> None:
    async with make() as layer:

        @layer.cached
        async def ask(question: str) -> str:
            return f"answer to {question}"

        await ask(FORWARDS)
        await layer.flush()
        assert {(await ask.outcome(question)).match for question in (BACKWARDS, SIDEWAYS)} == {"similar"}
        assert await layer.report_wrong(await ask.outcome(BACKWARDS))
        await ask(FORWARDS)
        await layer.flush()
        assert (await ask.outcome(SIDEWAYS)).match == "similar"
        assert (await ask.outcome(BACKWARDS)).answer == f"answer to {BACKWARDS}"


async def test_what_was_reported_holds_after_a_restart_until_it_is_erased(tmp_path: Path) -> None:
    async def run(report: bool) -> Outcome:
        async with make(index=tmp_path) as layer:
            ask = layer.wrap(Gate(lambda question: f"answer to {question}", opened=True), name="ask")
            with layer.scope(tenant="acme"):
                await ask(FORWARDS)
                await layer.flush()
                outcome = await ask.outcome(BACKWARDS)
                if report:
                    assert await layer.report_wrong(outcome)
            await layer.flush()
            if not report:
                await layer.erase(tenant="acme")
        return outcome

    assert (await run(report=True)).match == "similar"
    assert b"parcel" not in (tmp_path / "apart").read_bytes()
    assert (await run(report=False)).source is Source.BACKEND
    assert (await run(report=True)).match == "similar"


def test_a_log_of_pairs_holds_the_latest_and_survives_what_happens_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    for number in range(20):
        PairLog(path, 4, 5).append(b"%04d" % number)
    assert path.stat().st_size < 8 + 4 * 2 * 5 + 4
    latest = [b"%04d" % number for number in range(15, 20)]
    assert PairLog(path, 4, 5).load() == latest
    with path.open("ab") as file:
        file.write(b"to")  # torn
    log = PairLog(path, 4, 5)
    log.append(b"0020")
    assert log.load() == [*latest[1:], b"0020"]
    log.drop([b"001"])
    assert log.load() == [b"0020"]
    log.drop(None)
    assert log.load() == []
    path.write_bytes(b"something else")
    assert log.load() == []
    log.append(b"0021")
    assert PairLog(path, 4, 5).load() == [b"0021"]


@pytest.mark.parametrize("which", ["pairs", "pairs.twin"])
def test_pairs_are_held_whatever_happens_to_one_of_their_files(tmp_path: Path, which: str) -> None:
    """A damaged byte lost a report for good, or all of them, and nothing was told."""
    log, records = PairLog(tmp_path / "pairs", 4, 9), [b"%04d" % number for number in range(9)]
    for record in records:
        log.append(record)
    file = tmp_path / which
    data = file.read_bytes()
    changed = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    for sick in (*changed, *(data[:at] for at in range(len(data) - 8)), bytes(len(data))):
        file.write_bytes(sick)
        log = PairLog(tmp_path / "pairs", 4, 9)
        assert set(log.load()) >= set(records) and log.unlike
        assert (tmp_path / "pairs").read_bytes() == (tmp_path / "pairs.twin").read_bytes()
        for copy in ("pairs", "pairs.twin"):
            (tmp_path / copy).write_bytes(data)
    file.write_bytes(data[:-2])  # a kill while the last was written
    assert log.load() == records and not log.unlike
