"""Answers from an OpenAI-style server: the request it gets, the answer taken, faults mapped at the edge."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cachelayer import CacheLayerError, MissingExtra
from cachelayer.cli.bench.targets import Endpoint
from cachelayer.cli.demo.corpus import Article
from cachelayer.cli.demo.httpx_chat import Chat
from cachelayer.cli.demo.run import Options, demo
from cachelayer.cli.demo.tally import Lane

ARTICLE = Article("leak-sensor", "sensor", "Test the Leak Sensor", "Lay a wet finger across the feet.", ())


class Server:
    """Answers every POST with `status` and `body`; remembers what came."""

    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body
        self.head = ""
        self.received: dict[str, Any] = {}
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line[15:]) for line in self.head.lower().split("\r\n") if line.startswith("content-length:")
        )
        self.received = json.loads(await reader.readexactly(length))
        body = json.dumps(self.body).encode()
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (self.status, len(body))
            + body
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(status: int, body: Any) -> AsyncIterator[Server]:
    server = Server(status, body)
    async with await asyncio.start_server(server.answer, "127.0.0.1", 0) as listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        yield server


async def test_the_model_gets_article_and_question_and_its_text_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    reply = {"choices": [{"message": {"content": " Lay a finger. "}}]}
    async with serving(200, reply) as server:
        chat = Chat(server.url, "m")
        assert await chat.write("does it work?", ARTICLE) == "Lay a finger."
        await chat.aclose()
    assert server.head.startswith("POST /v1/chat/completions ")
    assert "authorization: Bearer sesame" in server.head.replace("Authorization", "authorization")
    assert server.received["model"] == "m"
    assert server.received["temperature"] == 0
    assert ARTICLE.body in server.received["messages"][0]["content"]
    assert server.received["messages"][1] == {"role": "user", "content": "does it work?"}


@pytest.mark.parametrize(
    ("status", "body", "says"), [(500, {}, "500"), (200, {"choices": []}, "choices"), (200, [], "choices")]
)
async def test_a_reply_that_is_none_is_one_error_that_names_the_address(
    status: int, body: Any, says: str
) -> None:
    pytest.importorskip("httpx")
    async with serving(status, body) as server:
        chat = Chat(server.url, "m")
        with pytest.raises(CacheLayerError, match=says) as caught:
            await chat.write("?", ARTICLE)
        await chat.aclose()
    assert server.url in str(caught.value)


def _chat(url: str) -> Chat:
    return Chat(url, "m")


def _endpoint(url: str) -> Endpoint:
    return Endpoint(url, headers={}, stream=True, timeout=1.0)


@pytest.mark.parametrize("asks", [_chat, _endpoint])
@pytest.mark.parametrize(
    "url", ["http://[::1", "http://u:hunter2@h:x/v1", "http:///v1", "ftp://h", "h:80/v1"]
)
def test_a_url_that_is_no_servers_is_told_of_without_its_password(
    asks: Callable[[str], Any], url: str
) -> None:
    pytest.importorskip("httpx")
    with pytest.raises(CacheLayerError, match="not the URL of a server; give one like http") as told:
        asks(url)
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize("asks", [_chat, _endpoint])
@pytest.mark.parametrize("key", ["sk-hunter2\n", "sk-hunter2\udcff"])
def test_a_key_that_cannot_be_sent_is_told_of_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, asks: Callable[[str], Any], key: str
) -> None:
    """The client's own fault, which was printed, quotes it."""
    pytest.importorskip("httpx")
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(
        CacheLayerError, match="what the variable OPENAI_API_KEY holds cannot be sent"
    ) as told:
        asks("http://127.0.0.1:1")
    assert "hunter2" not in str(told.value)


async def test_a_password_in_the_url_stands_in_no_error_and_no_report() -> None:
    pytest.importorskip("httpx")
    async with serving(404, {}) as server:
        url = server.url.replace("http://", "http://u:hunter2@")
        chat = Chat(url, "m")
        with pytest.raises(CacheLayerError, match="404") as told:
            await chat.write("?", ARTICLE)
        await chat.aclose()
    assert "hunter2" not in f"{told.value}{Options(backend=url, model='m')}"


async def test_a_server_that_is_not_there_is_an_error_of_ours(unused_tcp_port: int) -> None:
    pytest.importorskip("httpx")
    chat = Chat(f"http://127.0.0.1:{unused_tcp_port}/v1", "m")
    with pytest.raises(CacheLayerError):
        await chat.write("?", ARTICLE)
    await chat.aclose()


async def test_a_run_asks_the_server_and_counts_its_answers() -> None:
    pytest.importorskip("httpx")
    async with serving(200, {"choices": [{"message": {"content": "Read the article."}}]}) as server:
        tally = await demo(Options(requests=20, backend=server.url, model="m"), io.StringIO())
    assert (tally.requests, tally.failed) == (20, 0)
    assert tally.lanes[Lane.BACKEND].requests > 0


async def test_a_server_that_fails_at_once_ends_the_run_with_its_address() -> None:
    pytest.importorskip("httpx")
    async with serving(503, {}) as server:
        with pytest.raises(CacheLayerError, match="503"):
            await demo(Options(requests=20, backend=server.url, model="m"), io.StringIO())


def test_without_httpx_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"cachelayer\[demo\]"):
        Chat("http://127.0.0.1:1", "m")
