"""Connections to servers behind us, broken, kept, closed early or lost: an answer is whole or says that it is not."""

from __future__ import annotations

import asyncio
import socket
import struct
from urllib.parse import urlsplit

import pytest
from http_talk import OK, Reader, Writer, asked, request_of, talking

from cachelayer.flow.http import Http, HttpFault, Stale, TookTooLong


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


async def test_a_body_that_goes_on_as_none_is_a_fault_at_once() -> None:
    go = asyncio.Event()

    async def talk(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        await go.wait()
        writer.write(b"no length\r\n")
        await reader.read()

    async with talking(talk) as http:
        pieces = (await http.send("POST", "/")).pieces()
        assert await anext(pieces) == b"one"
        go.set()
        with pytest.raises(HttpFault, match="cannot be read"):
            await asyncio.wait_for(anext(pieces), 5)


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


async def test_what_the_server_hangs_up_on_is_sent_once() -> None:
    """On a new connection nobody need ask again: no server closed that one for being idle."""
    seen: list[bytes] = []

    async def talk(reader: Reader, writer: Writer) -> None:
        seen.append((await request_of(reader))[0])

    async with talking(talk) as http:
        for method in ("GET", "DELETE"):
            with pytest.raises(HttpFault) as told:
                await http.send(method, "/")
            assert not isinstance(told.value, Stale)
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
