"""Clients of HTTP/1.0, as some proxies are towards what is behind them, can read what the gateway answers."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from upstream import Server, Upstream

from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway
from cachelayer.cli.serve.protocol import protocol

Serving = Callable[..., Server]
DONE = b"data: [DONE]\n\n"


@pytest.fixture
def said(serving: Serving, upstream: Upstream) -> Callable[[bytes, bytes], tuple[bytes, bytes]]:
    """Head and body of the gateway's answer to a request's head and body, up to the end of the connection."""
    given = {"upstream": [{"url": serving(upstream).url}], "cache.semantic": "off", "server.log": "off"}
    port = serving(Gateway(load(None, {}, given)), http=protocol()).port

    def ask(head: bytes, body: bytes) -> tuple[bytes, bytes]:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
            one.sendall(
                b"%b\r\nauthorization: Bearer k\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)
            )
            answer = b"".join(iter(lambda: one.recv(65536), b""))
        head, _, told = answer.partition(b"\r\n\r\n")
        return head.lower(), told

    return ask


CHAT = b"POST /v1/chat/completions HTTP/1.0"


def chat(**more: Any) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "a b"}], **more}).encode()


@pytest.mark.parametrize("again", [1, 2])
def test_a_stream_comes_without_chunks_and_ends_with_the_connection(said: Any, again: int) -> None:
    for _ in range(again):
        head, body = said(CHAT, chat(stream=True))
    assert b"transfer-encoding" not in head and b"connection: close" in head
    assert body.startswith(b'data: {"') and body.endswith(DONE) and (b"; hit" in head) is (again > 1)


def test_an_answer_with_a_length_and_one_of_no_body_are_as_ever(said: Any) -> None:
    head, body = said(CHAT, chat())
    assert b"content-length: %d" % len(body) in head and json.loads(body)["choices"]
    head, body = said(b"HEAD /echo HTTP/1.0", b"")
    assert head.startswith(b"http/1.1 200") and body == b""


def test_no_word_comes_before_the_answer(said: Any) -> None:
    """`Expect` is nothing to answer in HTTP/1.0."""
    head, _ = said(CHAT + b"\r\nexpect: 100-continue", chat())
    assert head.startswith(b"http/1.1 200")
