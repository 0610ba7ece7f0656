"""Stale answers over HTTP: within the owner's window, and within the caller's."""

from __future__ import annotations

import json

import pytest
from test_manners_http import Switch, made
from upstream import Upstream

from cachelayer.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def test_stale_answers_serve_within_the_owners_window_and_the_callers(
    upstream: Upstream, clock: ManualClock
) -> None:
    c = made(upstream, clock, {"stale_while_revalidate": 600})
    await c.chat("hello")
    clock.advance(3700)
    impatient = await c.chat("hello", headers={"cache_control": "max-stale=60"})
    assert not impatient.hit
    clock.advance(3700)
    stale = await c.chat("hello", headers={"cache_control": "max-stale=200"})
    assert "; hit; ttl=-100; detail=stale" in stale.header("cache-status")


@pytest.mark.parametrize("told", ["max-stale=0", "max-stale=60", "min-fresh=5", "max-age=99999"])
async def test_who_refuses_what_is_stale_costs_one_call(
    upstream: Upstream, clock: ManualClock, told: str
) -> None:
    c = made(upstream, clock, {"stale_while_revalidate": 600})
    await c.chat("hello")
    clock.advance(3700)
    assert not (await c.chat("hello", headers={"cache_control": told})).hit
    await c.app.layer.flush()
    assert len(upstream.requests) == 2 and (await c.chat("hello")).hit


@pytest.mark.parametrize("told", ["max-stale=0", "max-stale=60", "min-fresh=5", "max-age=99999"])
async def test_an_app_that_fails_is_asked_once_for_who_refuses_what_is_stale(
    upstream: Upstream, clock: ManualClock, told: str
) -> None:
    app = Switch(upstream)
    c = made(app, clock, {"stale_if_error": 600})
    await c.chat("hello")
    clock.advance(3700)
    app.status = 503
    assert (await c.chat("hello", headers={"cache_control": told})).status == 503
    assert app.asked == 2
    assert "; hit; ttl=-100" in (await c.chat("hello")).header("cache-status")
    longer = await c.chat("hello", headers={"cache_control": "max-age=99999, max-stale"})
    assert "; hit; ttl=-100" in longer.header("cache-status")


@pytest.mark.parametrize("window", ["stale_while_revalidate", "stale_if_error"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("control", "stale"),
    [
        ("max-age=100", True),
        ("must-revalidate", False),
        ("max-age=100, proxy-revalidate", False),
        ("s-maxage=100", False),
    ],
)
async def test_what_its_app_forbids_to_serve_stale_is_not(
    upstream: Upstream, clock: ManualClock, window: str, stream: bool, control: str, stale: bool
) -> None:
    """RFC 9111, section 4.2.4."""
    app = Switch(upstream)
    c = made(app, clock, {window: 600})
    asked = json.dumps({"say": "a b", "headers": {"cache-control": control}})
    await c.chat(asked, stream=stream)
    for _ in range(2):
        assert (await c.chat(asked, stream=stream)).hit
    clock.advance(3700 if control == "must-revalidate" else 200)
    if window == "stale_if_error":
        app.status = 503
        assert (await c.chat(asked, stream=stream)).status == (200 if stale else 503)
    else:
        assert (await c.chat(asked, stream=stream)).hit is stale
        await c.app.layer.flush()
        assert (await c.chat(asked, stream=stream)).hit
    assert app.asked == 2


@pytest.mark.parametrize("status", [503, 500])
async def test_who_can_have_nothing_that_is_kept_is_told_what_a_failing_app_says(
    upstream: Upstream, clock: ManualClock, status: int
) -> None:
    app = Switch(upstream)
    c = made(app, clock, {"stale_if_error": 600})
    await c.chat("hello", stream=True)
    app.status = status
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    answer = await c.chat("hello", **usage)
    assert (answer.status, answer.json()) == (status, {"error": {"message": "down"}})
    assert app.asked == 2 and (await c.chat("hello", stream=True)).hit
