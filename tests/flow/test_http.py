"""The client towards servers behind us, against servers that are sockets: what is sent, what comes, and every fault."""

from __future__ import annotations

import asyncio
import base64
from contextlib import closing

import pytest
from http_talk import OK, Reader, Writer, asked, request_of, talking

from cachelayer.errors import ConfigurationError
from cachelayer.flow.http import Http, HttpFault, TookTooLong


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
