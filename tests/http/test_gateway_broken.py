"""Upstreams whose answers break off or cannot be read: another stands in, or the caller is told, and the log."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import httpx
import pytest
from asgi_client import Client, ask
from upstream import Server, Upstream

Serving = Callable[..., Server]
WHOLE = json.dumps({"choices": [{"message": {"content": "cut"}, "finish_reason": "stop"}]}).encode()
JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
LONGER = JSON + b"content-length: %d\r\n\r\n%b" % (len(WHOLE) + 9, WHOLE)
CHUNKED = JSON + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(WHOLE), WHOLE)
EVENTS = b'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\ndata: {"choices":[]}\n\n'
CHUNK = {
    "object": "chat.completion.chunk",
    "choices": [{"delta": {"content": "all"}, "finish_reason": "stop"}],
}
DONE = b"data: [DONE]\n\n"
AUDIO = b"HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ncontent-length: 9\r\n\r\nabc"
NO_STATUS = [b"HTTP/1.1 %d Odd\r\ncontent-length: 0\r\n\r\n" % status for status in (101, 600, 999)]


@pytest.fixture
async def saying() -> AsyncIterator[Callable[[bytes], Awaitable[str]]]:
    """Servers that answer every request with these bytes and hang up."""
    made: list[asyncio.Server] = []

    async def start(said: bytes) -> str:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            await writer.drain()
            writer.close()

        made.append(await asyncio.start_server(answer, "127.0.0.1", 0))
        return f"http://127.0.0.1:{made[-1].sockets[0].getsockname()[1]}"

    yield start
    for one in made:
        one.close()


@pytest.fixture
def gateway(gateway: Callable[..., Client]) -> Callable[..., Client]:
    return partial(gateway, server__log="all")


@pytest.mark.parametrize("said", [LONGER, CHUNKED, *NO_STATUS])
async def test_another_upstream_answers_for_one_whose_answer_cannot_be_used(
    gateway: Any, saying: Any, serving: Serving, upstream: Upstream, said: bytes
) -> None:
    c = gateway(await saying(said), serving(upstream).url)
    first, again = [await c.chat("hello") for _ in range(2)]
    assert first.json()["choices"][0]["message"]["content"] == "You said: hello" and again.hit
    alone = await gateway(await saying(said)).chat("hello")
    assert alone.status == 502 and "cannot be reached" not in alone.json()["error"]["message"]


async def test_where_all_failed_the_one_is_asked_first_whose_time_is_up_soonest(
    saying: Any, gateway: Callable[..., Client]
) -> None:
    """It was the first that was named, whatever it had asked for."""
    busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 1\r\n%b\r\n%b"
    said = [busy % (b"retry-after: 60\r\n", b"a"), busy % (b"", b"b"), busy % (b"", b"c")]
    c = gateway(*[await saying(one) for one in said], retry__attempts=1, retry__cooldown=30)
    asked = [(await c.chat(f"question {number}")).body for number in range(6)]
    assert b"".join(asked) == b"abcbcb"


@pytest.mark.parametrize(("said", "why"), [
    (b"SSH-2.0-hunter2\r\n\r\n", "Bad status line: Expected"),
    (JSON + b"a(b): hunter2\r\n\r\n", "Invalid header token"),
    (JSON + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", "can't be present"),
    (JSON + b"a: hunter2%b\r\n\r\n" % bytes([65] * 70000), "Got more than 65536 bytes"),
])  # fmt: skip
async def test_the_log_tells_what_cannot_be_read_and_quotes_nothing_of_it(
    gateway: Any, saying: Any, said: bytes, why: str, capsys: Any
) -> None:
    c = gateway(await saying(said))
    assert "hunter2" not in (await c.chat("hello")).body.decode()
    c.app.log.close()
    failed = json.loads(capsys.readouterr().out.splitlines()[0])
    assert failed["why"].startswith("ClientResponseError: ") and why in failed["why"]
    assert "hunter2" not in failed["why"]


async def test_an_upstream_that_breaks_off_within_its_head_is_told_of(
    gateway: Any, saying: Any, capsys: Any
) -> None:
    c = gateway(await saying(JSON + b"a: hunter"))
    assert (await c.chat("hello")).status == 502
    c.app.log.close()
    assert json.loads(capsys.readouterr().out.splitlines()[0])["why"] == "ServerDisconnectedError"


async def test_a_control_character_in_an_upstreams_header_costs_nobody_the_answer(
    gateway: Any, saying: Any, serving: Serving
) -> None:
    url = await saying(JSON + b"x-a: b\x0b\x01c\td\r\ncontent-length: %d\r\n\r\n%b" % (len(WHOLE), WHOLE))
    async with httpx.AsyncClient(base_url=serving(gateway(url).app).url) as client:
        answer = await client.post("/v1/chat/completions", json=ask("hello"))
    assert answer.content == WHOLE and answer.headers["x-a"] == "b  c\td"


@pytest.mark.parametrize(("said", "path"), [(EVENTS, "/v1/chat/completions"), (AUDIO, "/v1/audio/speech")])
async def test_what_breaks_off_once_its_caller_has_some_of_it_is_told_to_the_log_and_asked_of_nobody_else(
    gateway: Any, saying: Any, serving: Serving, upstream: Upstream, said: bytes, path: str, capsys: Any
) -> None:
    c = gateway(await saying(said), serving(upstream).url)
    answer = await c.post(path, b'{"messages": [], "stream": true}')
    assert answer.complete == (said is EVENTS) and answer.status == 200 and not upstream.requests
    c.app.log.close()
    failed, request = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert failed["event"] == "upstream_failed" and failed["why"] == "ClientPayloadError"
    assert request.get("cut", False) == (said is AUDIO)


async def test_a_stream_that_breaks_off_after_its_last_word_is_whole(gateway: Any, saying: Any) -> None:
    """As servers leave it that write no end of the chunked body."""
    event = b"data: %b\n\n" % json.dumps(CHUNK).encode()
    head = JSON.replace(b"application/json", b"text/event-stream") + b"transfer-encoding: chunked\r\n\r\n"
    c = gateway(await saying(head + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (event, DONE))))
    first, again = [await c.chat("hello", stream=True) for _ in range(2)]
    assert first.body == event + DONE and first.complete and again.hit


async def test_a_stream_whose_length_was_told_ends_with_an_error_event_when_it_breaks_off(
    gateway: Any, saying: Any, serving: Serving
) -> None:
    async with httpx.AsyncClient(base_url=serving(gateway(await saying(EVENTS)).app).url) as client:
        answer = await client.post("/v1/responses", json={"stream": True})
    assert answer.content.startswith(b'data: {"choices":[]}\n\n') and b'"error"' in answer.content


@pytest.mark.parametrize("name", ["message_stop", "response.completed"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
async def test_a_stream_without_done_that_breaks_off_after_its_last_event_is_whole(
    gateway: Any, saying: Any, name: str, line: str
) -> None:
    said = f'event: {name}{line}data: {{"type":"{name}"}}{line}{line}'.encode()
    head, end, _ = EVENTS.partition(b"\r\n\r\n")
    for cut in (0, 1):
        answer = await gateway(await saying(head + end + said[: len(said) - cut])).post("/v1/messages", b"{}")
        assert (
            answer.complete and answer.body.startswith(said[:-1]) and (b"error" in answer.body) == bool(cut)
        )


async def test_the_event_that_ends_a_broken_stream_is_an_error_to_clients_of_openai_and_anthropic(
    gateway: Any, saying: Any
) -> None:
    """These read its data, those its name, without which they take the stream for ended."""
    answer = await gateway(await saying(EVENTS)).post("/v1/messages", b'{"stream": true}')
    *_, last = answer.body.strip().split(b"\n\n")
    name, data = last.split(b"\ndata: ")
    assert name == b"event: error" and "broke off" in json.loads(data)["error"]["message"]


async def test_a_compressed_stream_that_breaks_off_is_cut(gateway: Any, saying: Any) -> None:
    """A plain event within it could be taken for the end of the rest, or for nothing."""
    sent = gzip.compress(b'data: {"choices":[]}\n\n')[:12]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    c = gateway(await saying(head + b"content-length: 99\r\n\r\n" + sent))
    answer = await c.post("/v1/responses", b'{"stream": true}')
    assert (answer.status, answer.body, answer.complete) == (200, sent, False)


@pytest.mark.parametrize("status", [204, 304])
async def test_nobody_waits_for_a_body_whose_length_was_told_and_which_never_comes(
    gateway: Any, saying: Any, status: int
) -> None:
    url = await saying(b"HTTP/1.1 %d Odd\r\netag: a\r\ncontent-length: 1234\r\n\r\n" % status)
    answer = await gateway(url).post("/v1/files/1/content", b"", method="GET")
    assert answer.complete and answer.header("etag") == "a" and not answer.header("content-length")


async def test_a_stream_that_the_gateways_own_end_cuts_is_no_failure_of_its_upstream(
    gateway: Any, serving: Serving, upstream: Upstream, capsys: Any
) -> None:
    c = gateway(serving(upstream).url)
    call = c.chatting({"say": "a b c", "hold": "never", "hold_after": 2}, stream=True)
    await call.parts(1)
    await c.app.behind.aclose()
    answer = await call.wait()
    assert b'"error"' in answer.body and b"[DONE]" not in answer.body
    c.app.log.close()
    assert "upstream_failed" not in capsys.readouterr().out
