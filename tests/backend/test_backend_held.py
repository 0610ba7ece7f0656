"""What the router believes that its replicas hold, and for how long it leaves one alone."""

from __future__ import annotations

import random

from cachelayer.adapters.tensorrt_llm.router import Choice, Router, RouterPolicy

BLOCKS = list(range(100, 120))


def router(replicas: int = 2, **policy: float) -> Router:
    return Router.over([f"r{i}" for i in range(replicas)], RouterPolicy(**policy), random.Random(1))  # type: ignore[arg-type]


def send(
    router: Router, blocks: list[int], tokens: int, now: float = 0.0, session: str | None = None
) -> Choice:
    choice = router.choose(blocks, tokens, now, session=session)
    assert choice is not None
    router.sent(choice, now, session)
    return choice


def test_the_session_that_was_not_heard_of_for_longest_is_forgotten_first() -> None:
    r = router(sessions=2)
    for session in ("a", "b", "a", "c"):
        send(r, [], 10, session=session)
    assert [*r._sessions] == ["a", "c"]


def test_what_a_lost_replica_held_draws_nobody_to_it() -> None:
    r = router(replicas=2, failures=1, cooldown=5.0)
    held = send(r, BLOCKS, 700)
    r.first(held, 0.0)
    r.ended(held)
    r.finished(held, 0.0, begun=True)
    lost = Choice(held.replica, 0, 10)
    r.sent(lost, 1.0)
    r.failed(lost, 1.0)
    r.finished(lost, 1.0, begun=False)
    assert send(r, BLOCKS, 700, 6.0).matched == 0


def test_the_pause_of_a_replica_that_fails_or_hangs_grows_to_sixteen_times_its_first() -> None:
    r = router(replicas=2, failures=1, cooldown=5.0, silence=5.0)
    lost, now = r.replicas[0], 0.0
    for _ in range(9):
        r.sent(choice := Choice(lost, 0, 10, probe=lost.failures > 0), now)
        r.failed(choice, now)
        r.finished(choice, now, begun=False)
        paused, now = lost.open_until - now, lost.open_until
    assert paused == 80.0
    hanging = r.replicas[1]
    hanging.quiet, hanging.mutes = 0.0, 9
    assert not r._asked_again(hanging, 84.9) and r._asked_again(hanging, 85.0)


def test_blocks_on_their_way_push_nothing_out_that_a_replica_holds() -> None:
    r = router(replicas=1, capacity=4)
    held = send(r, [1, 2, 3, 4], 128)
    r.first(held, 0.0)
    r.finished(held, 0.0, begun=True)
    coming = send(r, [5, 6, 7], 96)
    assert r.replicas[0].index.matched([1, 2, 3, 4], 0.0) == 4
    r.first(coming, 0.0)
    assert len(r.replicas[0].index) == 4


def test_a_prompt_that_is_known_whole_still_costs_a_token() -> None:
    r = router(replicas=1)
    r.first(send(r, [1, 2], 64), 0.0)
    assert send(r, [1, 2], 64).missing == 1


def test_of_several_routers_each_sends_a_prefix_to_where_it_is_held() -> None:
    r = router(replicas=8, routers=4)
    held = send(r, BLOCKS, 700)
    r.first(held, 0.0)
    assert {send(r, BLOCKS, 700).replica for _ in range(20)} == {held.replica}


def test_a_prefix_is_as_fresh_as_the_end_of_the_request_that_used_it_last() -> None:
    r = router(replicas=1, ttl=10.0)
    choice = send(r, [1, 2], 64)
    r.first(choice, 0.0)
    r.finished(choice, 8.0, begun=True)
    assert send(r, [1, 2], 64, 15.0).matched == 2


def test_missing_tokens_weigh_more_the_more_requests_wait_at_the_mean_replica() -> None:
    r = router(replicas=2, prefill_weight=2.0, queue_weight=5.0)
    holds, idle = r.replicas
    holds.index.add([1, 2, 3, 4], 0.0)
    holds.waiting = idle.waiting = 1
    for pending, chosen in ((128 * 7 - 1, holds), (128 * 7 + 1, idle)):
        holds.pending = pending
        choice = r.choose([1, 2, 3, 4], 224, 0.0)
        assert choice is not None and choice.replica is chosen
