"""Who sends a head without end, or nothing more of what he began, takes neither memory nor a connection for long."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from upstream import Server, Upstream

from cachelayer.cli.serve.protocol import MAX_HEAD, protocol

Serving = Callable[..., Server]
GET = b"GET /echo HTTP/1.1\r\nhost: x\r\n"
POST = b"POST /echo HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"
HASTY: dict[str, Any] = {"http": type("Hasty", (protocol(),), {"patience": 0.2})}


@pytest.fixture
def connected() -> Iterator[Callable[[Server], socket.socket]]:
    made: list[socket.socket] = []

    def connect(server: Server) -> socket.socket:
        made.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def rest(one: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    said = b""
    try:
        while piece := one.recv(65536):
            said += piece
    except ConnectionError:
        pass
    return said


@pytest.mark.parametrize("sent", [
    b"", GET, POST + b"content-length: 9\r\n\r\n{", CHUNKED, CHUNKED + b"2\r\n{}\r\n",
    CHUNKED + b"2\r\n{}\r\n0\r\nx: a",
])  # fmt: skip
def test_who_sends_nothing_more_is_let_go(
    serving: Serving, upstream: Upstream, connected: Any, sent: bytes
) -> None:
    one = connected(serving(upstream, **HASTY))
    one.sendall(sent)
    assert rest(one) == b""


def test_an_answer_may_take_its_time(serving: Serving, upstream: Upstream, connected: Any) -> None:
    server = serving(upstream, **HASTY)
    body = b'{"model":"m","messages":[{"role":"user","content":"{\\"say\\":\\"x\\",\\"hold\\":\\"g\\"}"}]}'
    slow = connected(server)
    slow.sendall(
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )
    for _ in range(3):
        assert rest(connected(server)) == b""
    upstream.gate("g").set()
    assert slow.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_connection_waits_for_its_next_request_as_long_as_it_is_to(
    serving: Serving, upstream: Upstream, connected: Any
) -> None:
    """Longer than a head may be incomplete."""
    server = serving(upstream, **HASTY, timeout_keep_alive=300)
    idle, other = connected(server), connected(server)
    for one in (idle, other):
        one.sendall(GET + b"content-length: 0\r\n\r\n")
        assert one.recv(65536).startswith(b"HTTP/1.1 200")
    other.sendall(b"GET /e")
    for _ in range(3):
        assert rest(connected(server)) == b""
    assert rest(other) == b""
    idle.sendall(GET + b"connection: close\r\n\r\n")
    assert rest(idle).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("begun", [
    GET + b"x-a: ", b"GET /", GET, CHUNKED + b"2\r\n{}\r\n0\r\nx-a: ", CHUNKED + b"2;",
])  # fmt: skip
def test_a_head_without_end_is_refused(
    serving: Serving, upstream: Upstream, connected: Any, begun: bytes
) -> None:
    one = connected(serving(upstream, http=protocol()))
    more = b"x-b: " + b"b" * 1000 + b"\r\n" if begun == GET else b"a" * 1000
    with pytest.raises(ConnectionError):
        one.sendall(begun)
        for _ in range(100 * MAX_HEAD // 1000):
            one.sendall(more)


@pytest.mark.parametrize("ends", [b"", b"\r\n\r\n", b"\r\ncontent-length: 0\r\n\r\n"])
def test_a_client_is_told_that_his_head_is_too_large(
    serving: Serving, upstream: Upstream, connected: Any, ends: bytes
) -> None:
    """Whether it comes at once or in pieces: one that came at once went on to the upstream."""
    one = connected(serving(upstream, http=protocol()))
    one.sendall(GET + b"x-a: " + b"a" * MAX_HEAD + ends)
    assert rest(one).startswith(b"HTTP/1.1 431 ")
    assert not upstream.paths


def test_bodies_and_many_requests_are_no_heads(serving: Serving, upstream: Upstream, connected: Any) -> None:
    one = connected(serving(upstream, http=protocol()))
    body = b"a" * 2 * MAX_HEAD
    for _ in range(2):
        one.sendall(POST + b"content-length: %d\r\n\r\n" % len(body) + body)
        said = b""
        while not said.endswith(body):
            said += one.recv(65536)
    one.sendall(CHUNKED + (b"3e8\r\n" + b"b" * 1000 + b"\r\n") * 200 + b"0\r\n\r\n")
    one.sendall((GET + b"content-length: 0\r\n\r\n") * 10 + GET + b"connection: close\r\n\r\n")
    assert rest(one).count(b"HTTP/1.1 200") == 12
