"""What requests tighten their error budget to changes nothing for others: neither what was proved nor what may stop."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from verifiers import Sure

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.evidence.checks import RESUME
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.testing import WordEmbedder
from cachelayer.types import Candidate, Query

QUERY = Query("where is the old station", np.full(4, 0.5, np.float32))
OWN = 0.02


async def test_error_rates_that_callers_ask_for_take_the_place_of_nobodys_account() -> None:
    layer = CacheLayer(
        embedder=WordEmbedder(), verifier=Sure(), policy=Policy(shadow=1.0, max_error_rate=OWN)
    )

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return "left"

    def accounts() -> dict[str, Any]:
        found: dict[str, Any] = layer.stats()["similar"]["decider"]["ask"]
        return found

    async with layer:
        await ask("what is the way to the old station")
        await layer.flush()
        await ask("what is the way to the old station dear")
        await layer.flush()
        before = accounts()[str(OWN)]
        assert before["checks"] == 1
        for i in range(1, 200):
            with layer.scope(principal="mallory"), layer.tighten(max_error_rate=OWN * i / 200):
                await ask(f"what is the way to the old station friend {i}")
                await layer.flush()
        after = accounts()
    assert after[str(OWN)] == before
    assert set(after) == {"0.02", "0.01", "0.005", "0.002", "0.001", "0.0005", "0.0002", "0.0001"}


async def test_a_tightened_bound_is_rounded_down_and_the_owners_is_taken_as_it_is() -> None:
    layer = CacheLayer(embedder=WordEmbedder(), verifier=Sure(), policy=Policy(shadow=0, max_error_rate=0.03))

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return "left"

    async with layer:
        await ask("what is the way to the old station")
        await layer.flush()
        with layer.tighten(max_error_rate=0.03):
            assert (await ask.outcome("what is the way to the old station dear")).match == "similar"
        with layer.tighten(max_error_rate=0.027):
            assert (await ask.outcome("what is the way to the old station sir")).match == "similar"
        with layer.tighten(max_error_rate=0.00009):
            outcome = await ask.outcome("what is the way to the old station friend")
    assert (outcome.match, outcome.misses["similar"]) == (None, "off")
    assert set(layer.stats()["similar"]["decider"]["ask"]) == {"0.03", "0.02"}


def _checked(decider: EvidenceDecider, bound: float, answer: str) -> None:
    decider.stored(1, "f", b"", QUERY, "left")
    found = [Candidate(1, 0.97, "where was the old station", "left")]
    decision = decider.decide("f", b"", QUERY, found, bound)
    assert decision.entry == 1
    assert decision.shadow
    decider.observe("f", b"", QUERY, found, answer, 1)


def test_a_scopes_alarm_tests_the_owners_bound_though_a_stricter_request_was_checked_first() -> None:
    decider = EvidenceDecider(Sure(), random=random.Random(0).random, shadow=1.0)
    _checked(decider, 0.0001, "left")
    _checked(decider, OWN, "left")
    alarm = decider._functions["f"].scopes[b""].alarm
    assert alarm is not None
    assert alarm.bound == OWN
    _checked(decider, 0.0001, "left")
    assert decider._functions["f"].scopes[b""].alarm is alarm


def test_a_stopped_scope_earns_its_way_back_by_the_owners_bound_not_by_a_requests() -> None:
    decider = EvidenceDecider(Sure(), random=random.Random(0).random)
    fn = decider._function("f", QUERY)
    here = decider._scope(fn, b"")
    here.stopped = True
    for bound in (0.0001, OWN):
        fn.account(bound)
    for _ in range(200):
        decider._regain(fn, here, 1e-5, True)
    assert here.regained >= RESUME
    assert not here.stopped
