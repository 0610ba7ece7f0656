"""The router is pure: the same history gives the same choice, and its books balance."""

from __future__ import annotations

import random

import pytest
from cachelayer.adapters.tensorrt_llm.blocks import PrefixIndex, chain, prompt_bytes
from cachelayer.adapters.tensorrt_llm.router import Choice, Router, RouterPolicy
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.errors import ConfigurationError

BLOCKS = list(range(100, 120))


def router(replicas: int = 3, seed: int = 1, **policy: float) -> Router:
    return Router.over([f"r{i}" for i in range(replicas)], RouterPolicy(**policy), random.Random(seed))  # type: ignore[arg-type]


def send(
    router: Router, blocks: list[int], tokens: int, now: float = 0.0, session: str | None = None
) -> Choice:
    choice = router.choose(blocks, tokens, now, session=session)
    assert choice is not None
    router.sent(choice, now, session)
    return choice


@given(st.binary(max_size=2000), st.binary(max_size=300), st.binary(max_size=300))
def test_two_prompts_share_exactly_the_blocks_of_their_common_prefix(
    common: bytes, a: bytes, b: bytes
) -> None:
    left, right = chain(common + a), chain(common + b)
    same = next((i for i, (x, y) in enumerate(zip(common + a, common + b, strict=False)) if x != y), None)
    length = min(len(common + a), len(common + b)) if same is None else same
    shared = next(
        (i for i, (x, y) in enumerate(zip(left, right, strict=False)) if x != y), min(len(left), len(right))
    )
    assert shared == length // 128
    assert not set(chain(common + a, "tenant")) & set(left), "namespaces share nothing"


def test_messages_with_a_common_beginning_have_a_common_beginning_as_bytes() -> None:
    system = {"role": "system", "content": "s" * 500}
    one = prompt_bytes([system, {"role": "user", "content": "a"}], None, [{"b": 1, "a": 2}])
    two = prompt_bytes([system, {"role": "user", "content": "b"}], None, [{"a": 2, "b": 1}])
    assert one[:-1] == two[:-1]
    other = prompt_bytes([system], None, [{"b": 1}])
    assert not set(chain(other)) & set(chain(one)), "tools come first in a prompt"
    spoken = prompt_bytes([{**system, "role": "user"}], None)
    assert not set(chain(spoken)) & set(chain(prompt_bytes([system], None))), "so does who speaks"


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=40), st.integers(1, 8))
def test_the_index_is_bounded_and_matches_only_what_it_was_told(
    paths: list[list[int]], capacity: int
) -> None:
    index = PrefixIndex(capacity, ttl=10)
    for now, path in enumerate(paths):
        index.add(path, float(now))
        assert len(index) <= capacity
        assert index.matched([*path, 99], float(now)) <= len(path)
    assert index.matched(BLOCKS, 0.0) == 0


def test_entries_of_the_index_age_and_the_root_outlives_its_leaves() -> None:
    index = PrefixIndex(3, ttl=10)
    index.add([1, 2, 3, 4], 0.0)
    assert index.matched([1, 2, 3, 4], 1.0) == 3, "the leaf went"
    assert index.matched([1, 2, 3], 10.0) == 0, "all are too old"


def test_a_shared_prefix_draws_and_a_longer_queue_repels() -> None:
    r = router()
    first = send(r, BLOCKS, 700)
    r.first(first, 0.0)
    assert send(r, BLOCKS, 700).replica is first.replica
    for _ in range(40):
        choice = send(r, [], 4000)
    spread = {send(r, [], 4000).replica.name for _ in range(6)}
    assert spread == {"r0", "r1", "r2"}
    assert choice.missing == 4000


actions = st.lists(
    st.tuples(st.sampled_from(["send", "first", "finish", "fail"]), st.integers(0, 5)), max_size=60
)


@given(actions, st.integers(0, 3))
def test_the_books_balance_whatever_happens(history: list[tuple[str, int]], seed: int) -> None:
    """After every request is over nothing is counted as in flight, whatever failed in between."""
    r, live, now = router(seed=seed), {}, 0.0
    for action, key in history:
        now += 1.0
        if action == "send" and key not in live:
            choice = r.choose(BLOCKS[key:], 700, now)
            if choice is not None:
                r.sent(choice, now)
                live[key] = [choice, False]
        elif action == "first" and key in live and not live[key][1]:
            r.first(live[key][0], now)
            live[key][1] = True
        elif action in ("finish", "fail") and key in live:
            choice, begun = live.pop(key)
            if action == "fail":
                r.failed(choice, now)
            r.finished(choice, now, begun=begun)
    for choice, begun in live.values():
        r.finished(choice, now, begun=begun)
    for replica in r.replicas:
        assert (replica.inflight, replica.waiting, replica.pending, replica.queued) == (0, 0, 0, 0)


@given(actions)
def test_the_same_history_gives_the_same_choices(history: list[tuple[str, int]]) -> None:
    def names() -> list[str]:
        r = router(seed=3)
        return [send(r, BLOCKS[key:], 700, float(at)).replica.name for at, (_, key) in enumerate(history)]

    assert names() == names()


def test_a_breaker_opens_lets_one_probe_through_and_closes_on_its_first_token() -> None:
    r = router(replicas=2, failures=2, cooldown=5.0)
    bad, well = r.replicas
    for now in (0.0, 1.0):
        r.sent(choice := Choice(bad, 0, 10), now)
        r.failed(choice, now)
        r.finished(choice, now, begun=False)
    assert send(r, [], 10, 2.0).replica is well
    probe = send(r, [], 10, 6.0)
    assert probe.probe and probe.replica is bad
    assert send(r, [], 10, 6.0).replica is well, "one probe at a time"
    r.failed(probe, 6.0)
    r.finished(probe, 6.0, begun=False)
    assert send(r, [], 10, 15.9).replica is well, "it cools down twice as long"
    probe = send(r, [], 10, 16.0)
    assert probe.probe and probe.replica is bad
    r.first(probe, 16.1)
    r.finished(probe, 16.2, begun=True)
    assert send(r, [], 10, 16.3).probe is False


def test_failures_in_a_row_are_forgotten_by_a_whole_answer_not_by_a_first_token() -> None:
    r = router(replicas=1, failures=3)
    for _ in range(3):
        choice = send(r, [], 10)
        r.first(choice, 0.0)
        r.failed(choice, 0.0)
        r.finished(choice, 0.0, begun=True)
    assert r.replicas[0].failures == 3
    choice = send(r, [], 10, 1.0)
    assert choice.probe
    r.first(choice, 1.0)
    r.ended(choice)
    assert r.replicas[0].failures == 0


def test_a_replica_that_cooled_down_is_tried_even_where_another_is_cheaper() -> None:
    r = router(replicas=2, failures=1, cooldown=5.0)
    cheap = send(r, BLOCKS, 700)
    r.first(cheap, 0.0)
    other = next(replica for replica in r.replicas if replica is not cheap.replica)
    failing = Choice(other, 0, 700)
    r.sent(failing, 0.0)
    r.failed(failing, 0.0)
    r.finished(failing, 0.0, begun=False)
    assert send(r, BLOCKS, 700, 1.0).replica is cheap.replica
    probe = send(r, BLOCKS, 700, 6.0)
    assert probe.probe and probe.replica is other
    assert send(r, BLOCKS, 700, 6.0).replica is cheap.replica, "one request tries it, the others do not wait"


def test_a_draining_replica_and_one_that_was_tried_are_not_asked_and_a_full_one_last() -> None:
    r = router(replicas=2)
    r.replicas[0].draining = True
    assert {send(r, [], 10).replica.name for _ in range(5)} == {"r1"}
    assert r.choose([], 10, 0.0, without=[r.replicas[1]]) is None
    r.replicas[0].draining = False
    choice = r.choose([], 10, 0.0, full=[r.replicas[1]])
    assert choice is not None and choice.replica.name == "r0"
    assert r.choose([], 10, 0.0, full=r.replicas) is not None


def test_a_session_stays_where_it_was_until_another_is_much_cheaper() -> None:
    r = router(replicas=4)
    home = send(r, [], 500, session="s").replica
    r.finished(Choice(home, 0, 500), 0.0, begun=False)
    for at in range(5):
        again = send(r, [], 500, float(at), session="s")
        assert again.replica is home
        r.finished(again, float(at), begun=False)
    home.pending += 10**7
    assert send(r, [], 500, 9.0, session="s").replica is not home


def test_sessions_are_bounded() -> None:
    r = router(sessions=10)
    for i in range(100):
        send(r, [], 10, session=str(i))
    assert len(r._sessions) == 10


def test_several_routers_take_the_better_of_two_where_nothing_is_shared() -> None:
    """No herd: with stale counts alike, choices spread."""
    r = router(replicas=8, routers=4)
    r.replicas[0].pending = -1  # the cheapest by a hair, as every router sees it
    chosen = [r.choose([], 100, 0.0) for _ in range(200)]
    share = sum(c is not None and c.replica is r.replicas[0] for c in chosen) / 200
    assert share < 0.5


@pytest.mark.parametrize("wrong", [{"block": 0}, {"ttl": -1.0}, {"failures": 0}, {"queue_weight": -1.0}])
def test_a_wrong_policy_is_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        RouterPolicy(**wrong)  # type: ignore[arg-type]
    assert refusal.value.field in wrong


def test_what_was_in_flight_when_a_replica_was_lost_is_one_failure() -> None:
    """Each request of a busy replica that restarted counted as a failed try: it was left alone for 80 s, not 5."""
    r = router(replicas=2)
    lost = [send(r, [], 100) for _ in range(40)]
    for choice in lost:
        if choice.replica.name == "r0":
            r.failed(choice, 1.0)
        r.finished(choice, 1.0, begun=False)
    assert r.replicas[0].open_until == 6.0
    assert all(send(r, [], 100, 5.9).replica.name == "r1" for _ in range(20))
    once = send(r, [], 100, 6.0)
    assert once.replica.name == "r0" and once.probe
    r.failed(once, 7.0)
    r.finished(once, 7.0, begun=False)
    assert r.replicas[0].open_until == 17.0, "a try that fails doubles the pause"
