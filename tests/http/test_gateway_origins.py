"""Web pages that a gateway's owner names may ask it, hits and misses alike; others learn nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from asgi_client import Answer, Client
from upstream import Server, Upstream

PAGE = "https://app.example"
KEY = {"tenant": "acme", "sha256": hashlib.sha256(b"ours").hexdigest(), "trusted": True}
CHAT = "/v1/chat/completions"


@pytest.fixture
def gateway(
    gateway: Callable[..., Client], serving: Callable[..., Server], upstream: Upstream
) -> Callable[..., Client]:
    url = serving(upstream).url
    return lambda *origins, bearer="ours": gateway(url, bearer=bearer, key=[KEY], server__origins=[*origins])


async def preflight(c: Client, origin: str) -> Answer:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,x-a"}
    return await c.post(CHAT, b"", method="OPTIONS", origin=origin, **asked)


@pytest.mark.parametrize(("origins", "named"), [((PAGE, "https://b.example"), PAGE), (("*",), "*")])
async def test_a_page_that_is_named_asks_and_reads_hits_and_misses(
    gateway: Any, upstream: Upstream, origins: tuple[str, ...], named: str
) -> None:
    answer = await preflight(gateway(*origins, bearer=None), PAGE)
    assert answer.status == 204 and answer.complete and not upstream.paths
    assert answer.header("access-control-allow-origin") == named
    assert answer.header("access-control-allow-headers") == "authorization,x-a"
    assert answer.header("access-control-allow-methods") == "POST"
    c = gateway(*origins)
    script = {"say": "x", "headers": {"Access-Control-Allow-Origin": "https://other", "Vary": "Origin"}}
    answers = [
        await c.chat(script, stream=stream, headers={"origin": PAGE}) for stream in (False, False, True)
    ]
    assert [one.hit for one in answers] == [False, True, True]
    assert {one.header("access-control-allow-origin") for one in answers} == {named}
    refused = await gateway(*origins, bearer="wrong").chat("x", headers={"origin": PAGE})
    assert (refused.status, refused.header("access-control-allow-origin")) == (401, named)


async def test_a_page_that_is_not_named_is_told_nothing(gateway: Any, upstream: Upstream) -> None:
    c = gateway(PAGE)
    answer = await preflight(c, "https://evil.example")
    assert answer.status == 403 and not upstream.paths
    script = {"say": "x", "headers": {"access-control-allow-origin": "*"}}
    for told in (answer, await c.chat(script, headers={"origin": PAGE + ".evil"}), await c.chat(script)):
        assert not told.header("access-control-allow-origin") and "Origin" in told.header("vary")


async def test_a_preflight_has_no_way_past_the_keys(gateway: Any, upstream: Upstream) -> None:
    assert (await preflight(gateway(bearer=None), PAGE)).status == 401
    assert (await gateway(PAGE, bearer=None).post(CHAT, b"{}", method="OPTIONS")).status == 401
    assert not upstream.paths


async def test_a_question_for_options_that_is_no_preflight_is_the_upstreams_to_answer(
    gateway: Any, upstream: Upstream
) -> None:
    answer = await gateway(PAGE).post("/v1/echo", b"{}", method="OPTIONS", origin=PAGE)
    assert upstream.paths == ["/v1/echo"] and answer.header("access-control-allow-origin") == PAGE
