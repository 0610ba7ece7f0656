"""Where the gateway listens, and how it reads HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from upstream import Server, Upstream
from uvicorn.server import ServerState

from cachelayer.cli.serve.config import ConfigFault
from cachelayer.cli.serve.parts import ServerPart
from cachelayer.cli.serve.process import listening
from cachelayer.cli.serve.protocol import protocol


def test_a_name_that_no_host_can_have_is_named() -> None:
    with pytest.raises(
        ConfigFault, match=r"cannot listen on a\.\.b, port 0 \(no host can have this name\); give"
    ):
        listening(ServerPart(host="a..b", port=0))


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigFault, match=f"cannot listen on 127.0.0.1, port {port} .*in use.*server.port"
        ):
            listening(ServerPart(port=port))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""])
def test_who_listens_takes_connections_at_once_on_one_port(host: str) -> None:
    sockets = listening(ServerPart(host=host, port=0))
    (port,) = {one.getsockname()[1] for one in sockets}
    socket.create_connection(("127.0.0.1", port), timeout=10).close()
    assert all(one.proto == socket.IPPROTO_TCP for one in sockets)  # else asyncio lets small pieces wait
    for one in sockets:
        one.close()


@pytest.mark.parametrize("offer", ["Upgrade: h2c", "upgrade:h2c, foo/2"])
def test_a_request_that_offers_another_protocol_keeps_its_body(
    serving: Callable[..., Server], upstream: Upstream, offer: str
) -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"Upgrade: h2c"}]}'
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{offer}\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    )
    told = f"{head}HTTP2-Settings: AA\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with socket.create_connection(("127.0.0.1", serving(upstream, http=protocol()).port), timeout=20) as one:
        for cut in (len(told), len(told) - 30):
            one.sendall(told[:cut])
            one.sendall(told[cut:])
            assert one.recv(65536).startswith(b"HTTP/1.1 200")
    assert upstream.requests == [json.loads(body)] * 2


class Wire(asyncio.Transport):
    """A connection to a client who reads nothing, and says no goodbye."""

    closing = False

    def __init__(self, *, secure: bool = False) -> None:
        super().__init__({"sslcontext": "one"} if secure else {})
        self.aborted, self.closed, self.written = asyncio.Event(), asyncio.Event(), b""

    def write(self, data: Any) -> None:
        """Nobody reads it."""
        self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        """Nothing comes but what a test says."""

    resume_reading = pause_reading

    def close(self) -> None:
        self.closing = True
        self.closed.set()

    def abort(self) -> None:
        self.aborted.set()


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("secure", [False, True])
async def test_a_process_that_ends_waits_for_no_goodbye_of_a_client(busy: bool, secure: bool) -> None:
    """TLS has one; without it a closed connection waits only until all was sent."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await go_on.wait()
        await Upstream._reply(send, 200, b"", [])

    config = uvicorn.Config(app, http=protocol(), log_level="error")
    config.load()
    hasty = type("Hasty", (protocol(),), {"parting": 0.0, "lingering": 0.0})
    connection, wire = hasty(config=config, server_state=ServerState(), app_state={}), Wire(secure=secure)
    connection.connection_made(wire)
    if busy:
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
        await begun.wait()
    connection.shutdown()
    assert not wire.closing and connection._part is None
    go_on.set()
    await wire.closed.wait()
    assert (b"\r\nconnection: close\r\n" in wire.written) == busy
    assert (connection._part is not None) == secure
    if secure:
        await wire.aborted.wait()
    connection.connection_lost(None)


@pytest.mark.parametrize("earlier", ["none", "answered", "begun"])
async def test_what_a_client_is_just_sending_when_the_process_ends_is_answered(earlier: str) -> None:
    """Idle connections were closed at once: of busy clients some lost a request at every restart of the workers."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"said", "more_body": False})

    config = uvicorn.Config(app, http=protocol(), log_level="error", timeout_graceful_shutdown=3600)
    config.load()
    patient = type("Patient", (protocol(),), {"lingering": 3600.0})
    connection, wire = patient(config=config, server_state=ServerState(), app_state={}), Wire()
    connection.connection_made(wire)
    if earlier != "none":
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
        await begun.wait()
    if earlier == "begun":
        connection.shutdown()
    go_on.set()
    await asyncio.gather(*connection.tasks)
    if earlier != "begun":
        connection.shutdown()
    assert not wire.closing and b"connection: close" not in wire.written
    wire.written = b""
    connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
    await asyncio.gather(*connection.tasks)
    assert b"\r\nconnection: close\r\n" in wire.written and b"said" in wire.written and wire.closing
    connection.connection_lost(None)


@pytest.mark.parametrize(("lingering", "drain"), [(0.0, 3600), (3600.0, 0)])
async def test_an_idle_connection_is_closed_when_the_process_ends(lingering: float, drain: int) -> None:
    config = uvicorn.Config(Upstream(), http=protocol(), log_level="error", timeout_graceful_shutdown=drain)
    config.load()
    one = type("One", (protocol(),), {"lingering": lingering})
    connection, wire = one(config=config, server_state=ServerState(), app_state={}), Wire()
    connection.connection_made(wire)
    connection.shutdown()
    await wire.closed.wait()
    connection.connection_lost(None)


async def test_every_request_is_told_that_its_client_has_left() -> None:
    """Of those that one connection sent without waiting for the answers, the last alone was."""
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        told.append((await receive())["type"])

    config = uvicorn.Config(app, http=protocol(), log_level="error")
    config.load()
    connection = protocol()(config=config, server_state=ServerState(), app_state={})
    connection.connection_made(Wire())
    for _ in range(2):
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
    connection.connection_lost(None)
    await asyncio.wait_for(asyncio.gather(*connection.tasks), 5)
    assert told == ["http.disconnect"]


@pytest.mark.parametrize("name", [b"Upgrade", b"UPGRADE"])
async def test_a_head_that_comes_in_two_pieces_offers_no_other_protocol(name: bytes) -> None:
    bodies: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert dict(scope["headers"])[b"a"] == b"upgrade:" and b"upgrade" not in dict(scope["headers"])
        bodies.append((await receive())["body"])
        await Upstream._reply(send, 200, b"", [])

    config = uvicorn.Config(app, http=protocol(), log_level="error")
    config.load()
    said = (
        b"POST / HTTP/1.1\r\na: upgrade:\r\n%b: h2c\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\n{}"
        % name
    )
    cuts = range(1, len(said))
    for cut in cuts:
        connection = protocol()(config=config, server_state=ServerState(), app_state={})
        connection.connection_made(Wire())
        for _ in range(2):
            connection.data_received(said[:cut])
            connection.data_received(said[cut:])
            await asyncio.gather(*connection.tasks)
        connection.connection_lost(None)
    assert bodies == [b"{}"] * 2 * len(cuts)


@pytest.mark.parametrize("pause", [False, True])
def test_a_trailer_is_no_header(serving: Callable[..., Server], pause: bool) -> None:
    seen: list[set[bytes]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await Upstream()(scope, receive, send)
        while (await receive()).get("more_body"):
            continue
        seen.append({name for name, _ in scope["headers"]})
        return await Upstream._reply(send, 200, b"", [])

    head = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Org\r\n\r\n2\r\n{}\r\n"
    with socket.create_connection(("127.0.0.1", serving(app, http=protocol()).port), timeout=20) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, pause)
        one.sendall(head)
        one.sendall(b"0\r\nX-Org: acme\r\nAuthorization: Bearer a\r\n\r\n")
        one.sendall(b"GET /y HTTP/1.1\r\nHost: x\r\nX-Own: 1\r\nConnection: close\r\n\r\n")
        while one.recv(65536):
            continue
    assert seen == [{b"host", b"transfer-encoding", b"trailer"}, {b"host", b"x-own", b"connection"}]
