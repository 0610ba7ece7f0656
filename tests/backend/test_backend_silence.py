"""A replica that hangs fails no request by itself, so the router has to notice that nobody hears from it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from answering import started
from cachelayer.adapters.tensorrt_llm import DeadlineExceeded, TensorRTLLM
from cachelayer.adapters.tensorrt_llm.fleet import Fleet
from cachelayer.adapters.tensorrt_llm.router import Choice, Router, RouterPolicy
from script import prompt
from serve_server import ServeStandin
from until import open_gate

from cachelayer.errors import ConfigurationError


def router(replicas: int = 2) -> Router:
    policy = RouterPolicy(silence=5, cooldown=10)
    return Router.over([f"r{i}" for i in range(replicas)], policy, random.Random(1))


def send(router: Router, now: float, *, to: int | None = None, stream: bool = True) -> Choice:
    others = [replica for i, replica in enumerate(router.replicas) if to is not None and i != to]
    choice = router.choose([], 100, now, without=others)
    assert choice is not None
    router.sent(choice, now, stream=stream)
    return choice


def leave(router: Router, choice: Choice, now: float, *, late: bool = True) -> None:
    router.finished(choice, now, begun=False, late=late)


def speak(router: Router, choice: Choice, now: float) -> None:
    router.first(choice, now)
    router.ended(choice)
    router.finished(choice, now, begun=True)


def names(router: Router, now: float, times: int = 20) -> set[str]:
    found = set()
    for _ in range(times):
        choice = send(router, now, stream=False)
        found.add(choice.replica.name)
        speak(router, choice, now) if choice.replica.name != "r0" else leave(router, choice, now)
    return found


def test_a_replica_that_gives_no_stream_a_token_is_passed_over_and_asked_once_in_a_while() -> None:
    r = router()
    for now in range(5):
        leave(r, send(r, float(now), to=0), now + 1.0)
    assert "r0" in names(r, 4.9), "not yet"
    assert names(r, 5.0) == names(r, 14.9) == {"r1"}
    once = send(r, 15.0)
    assert once.replica.name == "r0" and names(r, 15.0) == {"r1"}, "one request asks whether it is back"
    leave(r, once, 16.0)
    assert names(r, 34.9) == {"r1"}, "the pause doubles"
    once = send(r, 35.0)
    assert once.replica.name == "r0"
    speak(r, once, 35.1)
    assert names(r, 35.2) == {"r0", "r1"} and r.replicas[0].mutes == 0


def test_replicas_that_are_all_silent_are_asked_all_the_same() -> None:
    r = router()
    waiting = [send(r, 0.0, to=0), send(r, 0.0, to=1)]
    assert {send(r, 9.0).replica.name for _ in range(20)} == {"r0", "r1"}
    for choice in waiting:
        leave(r, choice, 9.0)


def test_what_says_nothing_about_a_replica_does_not_count() -> None:
    """A caller who leaves early; an answer that is no stream, which is silent while it is made."""
    r = router()
    leave(r, send(r, 0.0, to=0), 0.1, late=False)
    send(r, 0.0, to=0, stream=False)
    assert r.replicas[0].quiet is None
    send(r, 1.0, to=0)
    assert r.replicas[0].quiet == 1.0
    r.replicas[0].heard()
    assert r.replicas[0].quiet is None, "others are answered: this one waits for its turn"
    r.replicas[0].mutes, r.replicas[0].waiting = 1, 0
    leave(r, send(r, 2.0, to=0), 2.1, late=False)
    assert r.replicas[0].quiet == 2.0, "it was asked whether it is back, and did not say"


def test_a_silence_below_zero_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="silence"):
        RouterPolicy(silence=-1)


@pytest.fixture
async def servers() -> AsyncIterator[list[ServeStandin]]:
    found = [ServeStandin(), ServeStandin()]
    async with started(*found):
        yield found


async def test_a_session_leaves_a_home_that_hangs(servers: list[ServeStandin], gate: Path) -> None:
    """Its last replica looked cheapest and was sent every request, each of which ran into its deadline."""
    llm = TensorRTLLM.connect(
        [f"trtllm://{server.address}" for server in servers],
        fleet={"seed": 1, "router": RouterPolicy(silence=0, cooldown=60)},
    )

    async def ask(say: str, **keys: Any) -> None:
        messages = [{"role": "user", "content": prompt(say, **keys)}]
        async for _ in await llm(messages=messages, stream=True, session="s", timeout=keys.get("within", 30)):
            pass

    await ask("hello")
    fleet = llm.transport
    assert isinstance(fleet, Fleet)
    (home,) = [r for r in fleet.router.replicas if r is fleet.router._sessions["s"]]
    assert home.quiet is None
    with pytest.raises(DeadlineExceeded):
        await ask("x", hold=str(gate), within=0.2)
    assert home.quiet is not None and home.waiting == 0
    await asyncio.gather(*(ask("y") for _ in range(4)))
    assert fleet.router._sessions["s"] is not home
    open_gate(gate)
    await llm.aclose()
