"""What checks of hits do to the error budget: what counts as wrong, who is warned, who is stopped and comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.semantic.evidence.budget import Alarm
from cachelayer.semantic.evidence.checks import STOP, TIGHTEN
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.function import Account, Function
from cachelayer.semantic.evidence.judging import Judgement
from cachelayer.semantic.evidence.scope import Scope
from cachelayer.types import Candidate, Query, Reason

VECTOR = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
HELD, BOUND = "how do I open it", 0.05
FOUND = [Candidate(1, 0.99, HELD, "turn the key")]


class Sure:
    """A verifier that takes every candidate for right."""

    identity = "sure"

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        return [(0.9999, "")] * len(candidates)


class Traffic:
    """One entry, and rewordings of its request that are served by it."""

    def __init__(self, *, drawn: Callable[[], float] = lambda: 0.0, shadow: float | str = 1.0) -> None:
        self.decider, self.asked = EvidenceDecider(Sure(), random=drawn, shadow=shadow), 0
        self.decider.stored(1, "f", b"", Query(HELD, VECTOR), "turn the key")

    def query(self) -> Query:
        self.asked += 1
        return Query(f"in which way is it opened {self.asked}", VECTOR)

    def served(self, bound: float = BOUND, scope: bytes = b"") -> Query:
        query = self.query()
        assert self.decider.decide("f", scope, query, FOUND, bound).entry == 1
        return query

    def checked(self, query: Query, answer: str, scope: bytes = b"") -> None:
        self.decider.observe("f", scope, query, FOUND, answer, 1)

    def wrong(self, scope: bytes = b"") -> None:
        self.checked(self.served(scope=scope), f"not {self.asked}", scope)

    def missed(self, answer: str, found: Sequence[Candidate] = FOUND) -> None:
        self.decider.observe("f", b"", self.query(), found, answer, None)

    @property
    def function(self) -> Function:
        return self.decider._functions["f"]

    @property
    def here(self) -> Scope:
        return self.function.scopes[b""]

    def account(self, bound: float = BOUND) -> Account:
        return self.function.accounts[bound]


def test_a_hit_whose_entry_made_room_before_its_check_is_right_if_the_backend_says_the_same() -> None:
    for answer, wrong in (("turn the key", 0), ("push", 1)):
        traffic = Traffic()
        query = traffic.served()
        traffic.decider.forget(1)
        traffic.checked(query, answer)
        assert (traffic.account().interval.checks, traffic.account().interval.wrong[1.0]) == (1, wrong)


def test_a_hit_whose_scope_made_room_before_its_check_is_right_if_the_backend_says_the_same() -> None:
    traffic = Traffic()
    query = traffic.served()
    del traffic.function.scopes[b""]
    traffic.checked(query, "turn the key")
    assert (traffic.account().interval.checks, traffic.account().interval.estimate) == (1, 0.0)


def test_a_hit_whose_entry_was_reported_wrong_before_its_check_counts_as_wrong() -> None:
    traffic = Traffic()
    query = traffic.served()
    traffic.decider.report_wrong(1)
    traffic.checked(query, "turn the key")
    assert traffic.account().interval.estimate == 1.0


def test_a_check_counts_under_the_bound_whose_hit_was_drawn() -> None:
    traffic = Traffic()
    query = traffic.served(0.05)
    traffic.served(0.01)
    traffic.checked(query, "push")
    assert [traffic.account(bound).interval.checks for bound in (0.05, 0.01)] == [1, 0]
    assert traffic.here.alarm is not None and traffic.here.alarm.bound == 0.05


def test_a_hit_that_might_have_been_checked_counts_in_the_estimate_and_for_both_alarms() -> None:
    draws = iter([0.0, *[0.9] * 20])
    traffic = Traffic(drawn=lambda: next(draws), shadow=0.5)
    traffic.wrong()
    here, account = traffic.here, traffic.account()
    assert here.alarm is not None and account.interval.estimate == 1.0
    warned = account.alarm.recent, here.alarm.recent
    for _ in range(20):
        traffic.served()
    assert account.interval.hits[0.5] == 21 and account.interval.checks == 1
    assert account.interval.estimate == pytest.approx(2 / 21)
    assert account.alarm.recent < warned[0] and here.alarm.recent < warned[1]


def test_hits_are_checked_more_often_at_the_start_and_while_an_alarm_rises() -> None:
    traffic = Traffic(drawn=lambda: 0.05, shadow="auto")

    def drawn() -> bool:
        return traffic.decider.decide("f", b"", traffic.query(), FOUND, BOUND).shadow

    assert all(drawn() for _ in range(99)) and not any(drawn() for _ in range(20))
    traffic.account().alarm.hit(1.0, True)
    assert drawn()
    traffic.account().alarm.reset()
    assert not drawn()
    traffic.here.alarm = Alarm(BOUND)
    traffic.here.alarm.hit(1.0, True)
    assert drawn()


def test_two_wrong_checks_halve_the_budget_and_right_labels_bring_it_back() -> None:
    traffic = Traffic()
    traffic.wrong()
    assert traffic.account().ledger.scale == 1.0
    traffic.wrong()
    assert traffic.account().alarm.recent >= TIGHTEN and traffic.account().ledger.scale == 0.5
    before = 0.5
    while traffic.account().alarm.recent >= TIGHTEN:
        traffic.missed("turn the key")
        assert traffic.account().ledger.scale in (0.5, 0.5 * 1.005)
    while traffic.account().ledger.scale < 1.0:
        before = traffic.account().ledger.scale
        traffic.missed("turn the key")
        assert before < traffic.account().ledger.scale <= 1.0


def test_a_scope_whose_own_hits_turn_wrong_is_doubted_where_the_others_are_fine_and_no_longer_once_it_is_right() -> (
    None
):
    traffic = Traffic()
    traffic.decider.stored(1, "f", b"fine", Query(HELD, VECTOR), "turn the key")
    traffic.wrong()
    for _ in range(30):
        traffic.checked(traffic.served(scope=b"fine"), "turn the key", b"fine")
    traffic.wrong()
    fine = traffic.function.scopes[b"fine"]
    assert traffic.account().alarm.recent < TIGHTEN and traffic.account().ledger.scale == 1.0
    assert (traffic.here.caution.doubt, fine.caution.doubt) == (2.0, 1.0)
    while traffic.here.caution.doubt == 2.0:  # an early warning fades with misses, too
        traffic.missed("turn the key")
    assert traffic.here.alarm is not None and traffic.here.alarm.recent < TIGHTEN
    while traffic.here.caution.doubt > 1.0:
        before = traffic.here.caution.doubt
        traffic.checked(traffic.served(), "turn the key")
        assert traffic.here.caution.doubt < before


def stopped() -> Traffic:
    """Three wrong checks, and an entry made since."""
    traffic = Traffic()
    for _ in range(3):
        assert not traffic.here.stopped
        traffic.wrong()
    traffic.decider.stored(2, "f", b"", Query(HELD, VECTOR), "push")
    return traffic


PUSH = [Candidate(2, 0.99, HELD, "push")]


def test_a_scope_that_is_mostly_wrong_stops_its_entries_go_and_the_alarms_begin_anew() -> None:
    traffic = stopped()
    assert traffic.here.stopped and traffic.decider.leaving() == [1]
    told = traffic.decider.decide("f", b"", traffic.query(), PUSH, BOUND)
    assert (told.entry, told.reason) == (None, Reason.STOPPED)
    assert traffic.decider.decide("f", b"", traffic.query(), FOUND, BOUND).entry is None
    for alarm in (traffic.account().alarm, traffic.here.alarm):
        assert alarm is not None and alarm.wealth == 0.0 < STOP


def test_a_stopped_scope_serves_again_after_some_twenty_right_answers_and_a_wrong_one_costs_ten() -> None:
    def needed(*first: str) -> int:
        traffic, asked = stopped(), 0
        for answer in first:
            traffic.missed(answer, PUSH)
        while traffic.here.stopped:
            traffic.missed("push", PUSH)
            asked += 1
        assert traffic.account().ledger.scale == 0.5
        found = traffic.decider.decide("f", b"", traffic.query(), PUSH, BOUND)
        assert found.reason is not Reason.STOPPED and (first or found.entry == 2)
        return asked

    assert 15 < needed() < 25
    assert 8 <= needed(*["push"] * 10, "something else") - (needed() - 10) <= 14


def test_a_person_s_verdict_on_what_was_only_typed_differently_says_nothing_of_rewordings() -> None:
    traffic = Traffic()
    factors = list(traffic.function.calibration.factors), list(traffic.function.pairs.factors)
    risk = traffic.function.form.risk
    traffic.decider.verdict("f", 0.99, False, "repeat")
    assert traffic.function.form.risk > risk
    assert (traffic.function.calibration.factors, traffic.function.pairs.factors) == factors
    traffic.decider.verdict("f", 0.99, False, "pair, read closely")
    assert traffic.function.calibration.factors == factors[0] and traffic.function.pairs.factors != factors[1]


def test_an_entry_reported_wrong_is_not_served_where_another_holds_the_same_answer() -> None:
    traffic = Traffic()
    traffic.decider.stored(2, "f", b"", Query("and the gate", VECTOR), "turn the key")
    traffic.decider.report_wrong(1)
    assert traffic.here.known(FOUND) == []
    assert traffic.decider.decide("f", b"", traffic.query(), FOUND, BOUND).entry is None
    traffic.here.entries.pop(2)  # its answer was evicted, and seen again since
    held = Candidate(2, 0.99, "and the gate", "turn the key")
    assert [known.place for known in traffic.here.known([held])] == [0]


@pytest.mark.parametrize("answers", [["no"], ["turn the key"], ["turn the key", "no"]])
def test_a_check_that_came_to_nothing_takes_the_hits_that_it_stood_for_out_of_the_estimate(
    answers: list[str],
) -> None:
    """However many checks are lost, the rest say of the hits what they would say without those."""
    draws, without = (
        Traffic(drawn=iter([0.0, 0.9] * 20).__next__, shadow=0.5),
        Traffic(drawn=iter([0.0, 0.9] * 20).__next__, shadow=0.5),
    )
    for traffic in (draws, without):
        for answer in answers:
            traffic.checked(traffic.served(), answer)
            traffic.served()
    for _ in range(10):
        query = draws.served()
        draws.served()
        draws.decider.unchecked("f", b"", query, 1)
    mine, others = draws.account().interval, without.account().interval
    assert (mine.checks, mine.estimate, mine.bounds()) == (others.checks, others.estimate, others.bounds())
    assert not draws.decider._pending


def test_the_end_of_a_check_that_told_something_changes_nothing() -> None:
    traffic = Traffic(shadow=0.5)
    query = traffic.served()
    traffic.checked(query, "no")
    before = traffic.account().interval.bounds(), traffic.account().alarm.wealth
    traffic.decider.unchecked("f", b"", query, 1)
    assert (traffic.account().interval.bounds(), traffic.account().alarm.wealth) == before


def test_hits_that_lost_checks_leave_the_alarm_s_wealth_a_fair_game() -> None:
    alarm = Alarm(BOUND)
    alarm.hit(0.25, True)
    wealth = alarm.wealth
    undrawn, lost = Alarm(BOUND), Alarm(BOUND)
    for one in (undrawn, lost):
        one.hit(0.25, True)
    undrawn.hit(0.25, False)
    lost.lost(0.25)
    assert 0.75 * undrawn.wealth + 0.25 * lost.wealth == pytest.approx(wealth)


@given(st.floats(1e-6, 1.0), st.integers(0, 300), st.booleans())
def test_what_is_staked_on_a_hit_does_not_depend_on_its_risk(risk: float, hits: int, rising: bool) -> None:
    traffic = Traffic(shadow="auto")
    query = traffic.query()
    case = traffic.decider._case("f", b"", query)
    account = traffic.function.account(BOUND)
    account.ledger.hits = hits
    if rising:
        account.alarm.hit(1.0, True)
    typical, this = (
        traffic.decider._draw(case, account, Judgement(FOUND[0], 0, one, None, None, pair=True, alone=one))
        for one in (1e-3, risk)
    )
    assert (this.typical, this.least) == (typical.typical, typical.least)
    assert this.least <= this.probability and this.least <= this.typical
