"""How a replica whose breaker is open is tried: by whom, when, and what a try that fails means."""

from __future__ import annotations

from cachelayer.adapters.tensorrt_llm.router import Choice, Replica, Router

from .test_backend_router import router, send


def lose(r: Router, replica: Replica, now: float) -> None:
    r.sent(choice := Choice(replica, 0, 10), now)
    r.failed(choice, now)
    r.finished(choice, now, begun=False)


def test_where_all_breakers_are_open_one_request_at_a_time_tries_each_replica() -> None:
    """They may be back, or only one caller's requests were too much for them: nobody waits for a pause to end."""
    r = router(replicas=2, failures=1, cooldown=60.0)
    for replica in r.replicas:
        lose(r, replica, 0.0)
    tries = [send(r, [], 10, 1.0) for _ in range(2)]
    assert {t.replica.name for t in tries} == {"r0", "r1"} and all(t.probe for t in tries)
    assert r.choose([], 10, 1.0) is None
    r.failed(tries[0], 1.0)
    r.finished(tries[0], 1.0, begun=False)
    assert r.choose([], 10, 1.0, without=[tries[0].replica]) is None, "the other is being tried"
    r.first(tries[1], 1.0)
    r.finished(tries[1], 1.0, begun=True)
    assert [send(r, [], 10, 1.0).replica for _ in range(3)] == [tries[1].replica] * 3


def test_a_request_that_others_failed_tries_a_replica_that_has_not_cooled_down() -> None:
    """It was given the other's error though this one was back, and might have answered."""
    r = router(replicas=2, failures=2, cooldown=60.0)
    back, fails = r.replicas
    lose(r, back, 0.0)
    lose(r, back, 0.0)
    assert send(r, [], 10, 1.0).replica is fails
    choice = r.choose([], 10, 1.0, without=[fails])
    assert choice is not None and choice.replica is back and choice.probe


def test_tries_before_a_replica_cooled_down_do_not_lengthen_its_pause() -> None:
    """An outage of a second under load left the replica that came back last alone for 80 s."""
    r = router(replicas=1, failures=1, cooldown=5.0)
    (only,) = r.replicas
    lose(r, only, 0.0)
    for _ in range(40):
        lost = send(r, [], 10, 1.0)
        assert lost.probe
        r.failed(lost, 1.0)
        r.finished(lost, 1.0, begun=False)
    assert only.open_until == 6.0 and only.failures == 1


def test_a_trial_ends_with_the_request_that_makes_it_and_not_with_an_older_one() -> None:
    r = router(replicas=2, failures=1, cooldown=5.0)
    older = [send(r, [], 10) for _ in range(2)]
    lost = older[0].replica
    lose(r, lost, 0.0)
    assert send(r, [], 10, 5.0).replica is lost
    for choice in older:
        r.finished(choice, 5.0, begun=False)
    assert lost.probing and not send(r, [], 10, 5.0).probe


def test_a_trial_whose_caller_left_is_repeated_after_a_pause() -> None:
    """Where callers are less patient than a replica that hangs, each in turn was sent there and waited for nothing."""
    r = router(replicas=2, failures=1, cooldown=5.0)
    hangs = r.replicas[0]
    lose(r, hangs, 0.0)
    probe = send(r, [], 10, 5.0)
    assert probe.replica is hangs
    r.finished(probe, 6.0, begun=False, late=True)
    assert not any(send(r, [], 10, 10.9).probe for _ in range(9))
    assert send(r, [], 10, 11.0).replica is hangs, "and the pause is not doubled: it refused nothing"


def test_a_replica_found_healthy_serves_those_whom_no_other_can_before_its_first_token() -> None:
    """A long answer without a stream kept everybody else away from the only server that was back."""
    r = router(replicas=2, failures=1, cooldown=60.0)
    for replica in r.replicas:
        lose(r, replica, 0.0)
    probe = send(r, [], 10, 1.0)
    r.began(probe)
    following = [send(r, [], 10, 1.0) for _ in range(3)]
    assert {choice.replica for choice in following} == {probe.replica}
    assert not any(choice.probe for choice in following)
    r.failed(following[0], 2.0)
    assert probe.replica.failures == 1, "what it is worth the trial itself will tell"
