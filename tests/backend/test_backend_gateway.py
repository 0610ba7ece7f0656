"""The gateway over model servers: replicas that die are no client's concern until his stream has begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from answering import started
from asgi_client import Client
from script import prompt
from serve_server import ServeStandin

from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway
from cachelayer.cli.serve.models import TEMPLATES

PATH = "/v1/chat/completions"


@pytest.fixture
async def servers() -> AsyncIterator[list[ServeStandin]]:
    found = [ServeStandin() for _ in range(2)]
    async with started(*found):
        yield found


@pytest.fixture
async def c(servers: list[ServeStandin]) -> AsyncIterator[Client]:
    given = {"upstream": [{"url": f"trtllm://{s.address}"} for s in servers]}
    app = Gateway(load(None, {}, {**given, "cache.semantic": "off", "server.log": "off"}))
    yield Client(app)
    await app.behind.aclose()


def ask(say: str, *, stream: bool, **keys: Any) -> dict[str, Any]:
    return {"model": "tiny-llama", "messages": [{"role": "user", "content": prompt(say, **keys)}],
            "stream": stream, "max_tokens": 40}  # fmt: skip


@pytest.mark.parametrize("stream", [True, False])
async def test_a_model_server_is_an_upstream(c: Client, servers: list[ServeStandin], stream: bool) -> None:
    first, again = [await c.post(PATH, ask("hello there", stream=stream)) for _ in range(2)]
    assert first.status == 200 and again.hit
    other = await c.post(PATH, ask("hello there", stream=not stream))
    assert other.hit
    whole = other if stream else again
    assert whole.json()["choices"][0]["message"]["content"] == "hello there"
    listed = await c.post("/v1/models", b"", method="GET")
    assert [m["id"] for m in listed.json()["data"]] == ["tiny-llama"]


async def test_model_servers_of_two_models_are_no_replicas(c: Client, servers: list[ServeStandin]) -> None:
    servers[1].model = "other"
    for path, body, method in ((PATH, ask("x", stream=False), "POST"), ("/v1/models", b"", "GET")):
        answer = await c.post(path, body, method=method)
        assert answer.status == 503 and "serves other" in answer.json()["error"]["message"]
    servers[1].model = "tiny-llama"
    assert (await c.post(PATH, ask("x", stream=False))).status == 200


async def test_tenants_get_salts_of_their_own(c: Client, servers: list[ServeStandin]) -> None:
    await c.post(PATH, ask("x", stream=False))
    await c.post(PATH, ask("x", stream=False), authorization="Bearer other")
    salts = [r["cache_salt"] for s in servers for r in s.requests if r.get("cache_salt")]
    assert len(set(salts)) == 2 and all(salt.startswith("own:") for salt in salts)


async def test_a_tenants_completion_is_refused_with_the_remedy_where_salts_are_for_chat(c: Client) -> None:
    refused = await c.post("/v1/completions", {"model": "tiny-llama", "prompt": prompt("x")})
    assert refused.status == 400 and "send messages=" in refused.json()["error"]["message"]


async def test_a_caller_parts_his_own_prefixes_and_never_joins_another_tenants(
    c: Client, servers: list[ServeStandin]
) -> None:
    """A salt tells by its timing what was asked under it: nobody takes another's by naming it."""
    await c.post(PATH, ask("x", stream=False))
    (theirs,) = {r["cache_salt"] for s in servers for r in s.requests if r.get("cache_salt")}
    for user in ("Bearer a", "Bearer b"):
        mine = ask("x", stream=False) | {"cache_salt": theirs}
        assert (await c.post(PATH, mine, authorization=user)).status == 200
    salts = {r["cache_salt"] for s in servers for r in s.requests if r.get("cache_salt")}
    assert len(salts) == 3


async def test_one_callers_broken_requests_take_the_model_from_nobody(
    c: Client, servers: list[ServeStandin]
) -> None:
    for broken in ({"n": 0}, {"self": 1}, {"messages": ["x"]}, {"priority": []}, {"session": {}}):
        for _ in range(6):
            assert (await c.post(PATH, ask("x", stream=False) | broken)).status == 400
    for _ in range(6):
        await c.post(PATH, ask("y", stream=False, status=503))
    assert (await c.post(PATH, ask("well", stream=False))).status == 200


async def test_a_replica_that_dies_is_replaced_before_the_first_token_and_told_of_after_it(
    c: Client, servers: list[ServeStandin]
) -> None:
    await c.post(PATH, ask("warm", stream=True))
    await servers[0].crash()
    for i in range(6):
        answer = await c.post(PATH, ask(f"answer {i}", stream=True))
        assert answer.text() == f"answer {i}"
    cut = await c.post(PATH, ask("abcdefgh", stream=True, drop_after=4))
    events = cut.events()
    assert cut.complete and events[-1]["error"]["code"] == "upstream_error" and None not in events
    assert not (await c.post(PATH, ask("abcdefgh", stream=True, drop_after=4))).hit


async def test_a_refusal_keeps_its_status_and_its_patience(c: Client, servers: list[ServeStandin]) -> None:
    answer = await c.post(PATH, ask("x", stream=False, runtime="too long"))
    assert answer.status == 400 and "too long" in answer.json()["error"]["message"]
    busy = await c.post(PATH, ask("x", stream=False, status=503, retry_after=7))
    assert busy.status == 503 and busy.header("retry-after") == "7"
    for body in (b"[]", b"{"):
        assert (await c.post(PATH, body)).status == 400
    for path in ("/v1/nothing", "/v1/models"):
        assert (await c.post(path, b"{}")).status == 404


async def test_it_is_ready_while_one_of_its_servers_is(c: Client, servers: list[ServeStandin]) -> None:
    ready = []
    for server in (None, *servers):
        if server is not None:
            await server.crash()
        ready.append((await c.post("/readyz", b"", method="GET")).status)
    assert ready == [200, 200, 503]


async def test_a_requests_time_runs_while_the_gateway_asks_what_its_servers_are() -> None:
    """The first requests waited for as long as a server that hangs was given, whatever they said."""

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    given = {"upstream": [{"url": f"trtllm://127.0.0.1:{server.sockets[0].getsockname()[1]}"}]}
    app = Gateway(load(None, {}, {**given, "cache.semantic": "off", "server.log": "off"}))
    late = await Client(app).post(PATH, ask("x", stream=False) | {"timeout": 0.1})
    assert late.status == 504 and "no model server answered" in late.json()["error"]["message"]
    wrong = await Client(app).post(PATH, ask("x", stream=False) | {"timeout": "soon"})
    assert wrong.status == 400, "and what is no request is told so at once"
    await app.behind.aclose()
    server.close()


@pytest.mark.parametrize(
    ("template", "begins"),
    [("chatml", "<|im_start|>system\nbe brief<|im_end|>"), ("llama3", "<|begin_of_text|>")],
)
def test_messages_become_one_prompt_where_the_server_has_no_template(template: str, begins: str) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    ]
    told = TEMPLATES[template](messages)
    assert told.startswith(begins) and "hi" in told and "assistant" in told[-40:]
