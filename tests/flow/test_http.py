"""The client towards servers behind us, against servers that are sockets: what is sent, what comes, and every fault."""

from __future__ import annotations

import asyncio
import base64
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from cachelayer.errors import ConfigurationError
from cachelayer.flow.http import Answer, Http, HttpFault, Stale, TookTooLong

OK = b"HTTP/1.1 200 OK\r\n"
Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Talk = Callable[[Reader, Writer], Awaitable[None]]


async def request_of(reader: Reader) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """The request line, the headers in lower case, the body."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, *lines = head[:-4].split(b"\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(b": ") for one in lines)}
    return line, headers, await reader.readexactly(int(headers.get(b"content-length", b"0")))


@asynccontextmanager
async def talking(talk: Talk, **options: Any) -> AsyncIterator[Http]:
    """A client of a server that talks so on each connection."""

    async def connected(reader: Reader, writer: Writer) -> None:
        with closing(writer):
            await talk(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base/"
    http = Http(url, **{"connect": 5.0, "needed_by": "a test", "extra": "serve", **options})
    try:
        yield http
    finally:
        await http.aclose()
        server.close()


async def asked(http: Http, **given: Any) -> tuple[Answer, bytes]:
    answer = await http.send("POST", "/v1/x", **given)
    with closing(answer):
        return answer, await answer.read()


async def test_what_is_given_is_sent_byte_by_byte_and_nothing_is_added_but_what_http_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    seen = []

    async def talk(reader: Reader, writer: Writer) -> None:
        for _ in range(2):
            seen.append(await request_of(reader))
            writer.write(
                OK + b"Set-Cookie: a=1; Path=/\r\nX-Odd: \xc3\xa9\xff\r\ncontent-length: 2\r\n\r\nok"
            )

    async with talking(talk) as http:
        long = b"x" * 60_000
        for _ in range(2):
            answer, body = await asked(
                http,
                query=b"a=%20b&c",
                body=b"\x00\xff",
                headers=[(b"x-long", long), (b"x-word", "é".encode())],
            )
            assert (
                answer.status == 200
                and body == b"ok"
                and (b"X-Odd", b"\xc3\xa9\xff") in tuple(answer.headers)
            )
        assert http.path == "/base"
    for line, headers, body in seen:
        assert line == b"POST /base/v1/x?a=%20b&c HTTP/1.1" and body == b"\x00\xff"
        assert headers.pop(b"host").startswith(b"127.0.0.1:")
        assert headers == {b"x-long": long, b"x-word": "é".encode(), b"content-length": b"2"}


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/a b", b"/a%20b"),
        ("/ü", b"/%C3%BC"),
        ("/50%?", b"/50%25%3F"),
        ("/a%2Fb", b"/a%2Fb"),
        ("/a/b:c@d", b"/a/b:c@d"),
    ],
)
async def test_a_path_is_escaped_once(path: str, sent: bytes) -> None:
    lines = []

    async def talk(reader: Reader, writer: Writer) -> None:
        lines.append((await request_of(reader))[0])
        writer.write(OK + b"content-length: 0\r\n\r\n")

    async with talking(talk) as http:
        with closing(await http.send("GET", path)) as answer:
            assert await answer.read() == b""
    assert lines == [b"GET /base" + sent + b" HTTP/1.1"]


async def test_a_redirect_and_an_encoded_body_are_the_callers_business() -> None:
    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        head = b"HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:9/\r\ncontent-encoding: gzip\r\n"
        writer.write(head + b"content-length: 3\r\n\r\nabc")

    async with talking(talk) as http:
        answer, body = await asked(http)
        assert (answer.status, answer.header("location"), body) == (307, "http://127.0.0.1:9/", b"abc")


async def test_pieces_come_as_they_were_sent_and_what_came_before_a_break_is_not_lost() -> None:
    go = asyncio.Event()

    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n")
        await go.wait()
        writer.write(b"5\r\nthree\r\n")

    async with talking(talk) as http:
        answer, got = await http.send("POST", "/"), []
        with pytest.raises(HttpFault, match="Payload"):
            async for piece in answer.pieces():
                got.append(piece)
                if len(got) == 2:
                    go.set()
                    while answer._response.content.exception() is None:  # known before the third is read
                        await asyncio.sleep(0)
        answer.close()
        assert got == [b"one", b"two", b"three"]


async def test_an_answer_that_is_closed_early_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        assert await reader.read() == b""
        closed.set()

    async with talking(talk) as http:
        answer = await http.send("POST", "/")
        assert await anext(answer.pieces()) == b"one"
        answer.close()
        await asyncio.wait_for(closed.wait(), 5)


async def test_a_client_that_is_closed_leaves_nobody_waiting_and_asks_nothing_again() -> None:
    asked: list[bytes] = []

    async def talk(reader: Reader, writer: Writer) -> None:
        asked.append((await request_of(reader))[0])
        if b"begun" in asked[-1]:
            writer.write(OK + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        await reader.read()

    async with talking(talk) as http:
        begun = await http.send("POST", "/begun")
        pieces = begun.pieces()
        assert await anext(pieces) == b"one"
        reading = asyncio.ensure_future(anext(pieces))
        waiting = asyncio.ensure_future(http.send("POST", "/silent"))
        while len(asked) < 2:
            await asyncio.sleep(0.001)
        await http.aclose()
        for work in (reading, waiting):
            with pytest.raises(HttpFault, match="closed") as told:
                await asyncio.wait_for(work, 5)
            assert not isinstance(told.value, Stale)
        assert len(asked) == 2 and begun._response.connection is None


async def test_what_came_unasked_on_a_kept_connection_answers_no_request() -> None:
    """As some servers send 408 before they close one."""
    connections: list[Writer] = []

    async def talk(reader: Reader, writer: Writer) -> None:
        line, *_ = await request_of(reader)
        connections.append(writer)
        writer.write(OK + b"content-length: 1\r\n\r\n" + line.split()[1][-1:])
        await reader.read()

    async with talking(talk) as http:
        assert await http.whole("GET", "/1") == (200, b"1")
        connections[0].write(b"HTTP/1.1 408 Request Time-out\r\ncontent-length: 0\r\n\r\n")
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(http.base).port)
        writer.write(b"GET /2 HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n2")  # by now what was sent before it has come, too
        writer.close()
        assert await http.whole("GET", "/3") == (200, b"3") and len(connections) == 3


@pytest.mark.parametrize("reset", [False, True])
async def test_a_body_that_only_a_lost_connection_ended_is_not_whole(reset: bool) -> None:
    """Where nothing else says how long it is, the connection's end is its own; that of a killed server is reset."""
    begun = asyncio.Event()

    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"connection: close\r\n\r\none")
        await begun.wait()
        if reset:
            at_once = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            writer.transport.abort()

    async with talking(talk) as http:
        pieces = (await http.send("GET", "/")).pieces()
        assert await anext(pieces) == b"one"
        begun.set()
        if reset:
            with pytest.raises(HttpFault, match="ClientPayloadError"):
                await anext(pieces)
        else:
            assert [piece async for piece in pieces] == []


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async def talk(reader: Reader, writer: Writer) -> None:
        line, _, _ = await request_of(reader)
        if b"late" in line:
            writer.write(OK + b"content-length: 5\r\n\r\nab")
        await reader.read()

    async with talking(talk, read=0.05) as http:
        with pytest.raises(TookTooLong):
            await http.send("POST", "/")
        with closing(await http.send("POST", "/late")) as late, pytest.raises(TookTooLong):
            await late.read()
        with pytest.raises(TookTooLong):
            await http.whole("GET", "/", within=0.01)


async def test_what_the_server_hangs_up_on_is_sent_once() -> None:
    seen: list[bytes] = []

    async def talk(reader: Reader, writer: Writer) -> None:
        seen.append((await request_of(reader))[0])

    async with talking(talk) as http:
        for method in ("GET", "DELETE"):
            with pytest.raises(Stale):
                await http.send(method, "/")
    assert len(seen) == 2


async def test_a_kept_connection_that_ended_is_told_from_a_server_that_is_gone() -> None:
    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"content-length: 2\r\n\r\nok")
        await request_of(reader)

    async with talking(talk) as http:
        assert (await asked(http))[1] == b"ok"
        with pytest.raises(Stale):
            await http.send("POST", "/")
        assert (await asked(http))[1] == b"ok"  # on a new one
    dead = Http("http://127.0.0.1:9", connect=5.0, needed_by="a test", extra="serve")
    with pytest.raises(HttpFault) as fault:
        await dead.send("POST", "/")
    assert not isinstance(fault.value, Stale | TookTooLong) and "127.0.0.1:9" in str(fault.value)
    await dead.aclose()


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", OK + b"content-length: x\r\n\r\n", b""]
)
async def test_what_is_no_http_is_a_fault(said: bytes) -> None:
    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(said)

    async with talking(talk) as http:
        with pytest.raises(HttpFault):
            await asked(http)


async def test_a_password_in_the_url_is_sent_in_place_of_what_callers_give_and_told_to_nobody() -> None:
    given = []

    async def talk(reader: Reader, writer: Writer) -> None:
        line, headers, _ = await request_of(reader)
        given.append((line, headers[b"authorization"]))
        writer.write(OK + b"content-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    http = Http(f"http://me:p%40ss@127.0.0.1:{port}", connect=5.0, needed_by="a test", extra="serve")
    await asked(http, headers=[(b"Authorization", b"Bearer theirs")])
    assert given == [(b"POST /v1/x HTTP/1.1", b"Basic " + base64.b64encode(b"me:p@ss"))]
    await http.aclose()
    server.close()
    await server.wait_closed()
    with pytest.raises(HttpFault) as fault:
        await http.send("GET", "/")
    assert "p%40ss" not in str(fault.value) and "p@ss" not in str(fault.value)
    await http.aclose()


@pytest.mark.parametrize("url", ["ftp://host", "host:80", "http://", "/v1"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="https"):
        Http(url, connect=1.0, needed_by="a test", extra="serve")
