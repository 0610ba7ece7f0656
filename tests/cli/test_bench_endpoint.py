"""`cachelayer bench URL` counts the pieces of a stream however the server spells its events, and tells no key."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cachelayer.cli import main
from cachelayer.cli.bench.measured import Sample
from cachelayer.cli.bench.targets import Endpoint
from cachelayer.cli.bench.traffic import Item

CHUNK = b'{"choices":[{"delta":{"content":"x"}}]}'


ODD = b"".join(
    b"data: " + data + b"\n\n"
    for data in (
        b"ping",
        b"[]",
        b'{"choices":[null]}',
        b'{"choices":{"a":1}}',
        b'{"choices":[{"delta":"x"}]}',
    )
)


@asynccontextmanager
async def server(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> AsyncIterator[str]:
    """The URL of a server that answers everything with this stream, one request a connection."""
    head = [
        b"HTTP/1.1 " + status,
        b"content-type: text/event-stream",
        b"connection: close",
        *headers,
        b"",
        b"",
    ]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(asked.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
        writer.write(b"\r\n".join(head) + body)
        writer.close()

    running = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with running:
        yield f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/v1"


def events(before: bytes, end: bytes) -> bytes:
    return b"".join(before + data + end for data in (CHUNK, CHUNK, CHUNK, b"[DONE]"))


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (events(b"data: ", b"\n\n"), []),
        (events(b"data: ", b"\r\n\r\n"), []),  # sse-starlette's
        (events(b"data:", b"\n\n"), []),
        (events(b"id: 1\ndata: ", b"\n\n"), []),
        (gzip.compress(events(b"data: ", b"\n\n")), [b"content-encoding: gzip"]),
        (ODD + events(b"data: ", b"\n\n"), []),
    ],
    ids=["openai", "crlf", "no space", "another field", "gzip", "events of other forms between"],
)
async def test_the_pieces_of_a_stream_are_counted(body: bytes, headers: list[bytes]) -> None:
    async with server(body, *headers) as url:
        endpoint = Endpoint(url, headers={}, stream=True, timeout=10.0)
        sample = Sample(time.monotonic())
        await endpoint.serve(Item(None, "q", {"messages": []}), sample)
        await endpoint.aclose()
    assert (sample.status, sample.first is not None, len(sample.gaps)) == ("ok", True, 2)


async def test_an_error_event_makes_a_stream_a_failed_request_and_so_does_a_status() -> None:
    for body, head, told in (
        (
            events(b"data: ", b"\n\n") + b'data: {"error":{"message":"m"}}\n\n',
            b"200 OK",
            ("error", "an error event in the stream"),
        ),
        (b"{}", b"503 Busy", ("shed", "HTTP 503")),
        (b"{}", b"500 Oh", ("error", "HTTP 500")),
    ):
        async with server(body, status=head) as url:
            endpoint = Endpoint(url, headers={}, stream=True, timeout=10.0)
            sample = Sample(time.monotonic())
            await endpoint.serve(Item(None, "q", {"messages": []}), sample)
            await endpoint.aclose()
        assert (sample.status, sample.fault) == told


@pytest.fixture
def traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a file of two requests in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asked.jsonl").write_text('{"q": "a"}\n{"q": "b"}\n')
    return "asked.jsonl"


async def test_reports_hold_no_key_that_the_command_line_held(
    traffic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server(events(b"data: ", b"\n\n")) as url:
        target = url.replace("://", "://me:hunter2@")
        said = f"bench {target} {traffic} --without {target} --concurrency 1 --warmup 0 --json told.json --header"
        argv = ["cachelayer", *said.split(), "Authorization: Bearer sk-secret"]
        monkeypatch.setattr(sys, "argv", argv)
        assert await asyncio.to_thread(main, argv[1:]) == 0
    for path in (Path("told.json"), Path("cachelayer-bench.html")):
        told = path.read_text()
        assert url in told and "Authorization:..." in told
        assert "sk-secret" not in told and "hunter2" not in told


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("fwd=bypass; detail=no-principal", {"no-principal": 2}),
        ('fwd=uri-miss; fwd-status=200; detail="memory:absent similar:guard kept:ttl_zero"', {"similar:guard": 2}),
        ('fwd=bypass; detail="invalid JSON"', {"invalid JSON": 2}),
        ("hit; ttl=9; detail=memory", {}),
    ],
)  # fmt: skip
async def test_why_requests_were_misses_is_told(
    traffic: str, capsys: pytest.CaptureFixture[str], status: str, why: dict[str, int]
) -> None:
    async with server(events(b"data: ", b"\n\n"), f"cache-status: cachelayer; {status}".encode()) as url:
        said = f"bench {url} {traffic} --concurrency 1 --warmup 0 --no-report --json told.json"
        assert await asyncio.to_thread(main, said.split()) == 0
        figures = json.loads(await asyncio.to_thread(Path("told.json").read_text))
    told = capsys.readouterr().out
    assert figures["arms"]["with cache"]["misses"] == why
    assert all(f"misses by reason: {reason} {n}" in told for reason, n in why.items())
    assert ("2 requests named no caller, and nothing is kept for those: set OPENAI_API_KEY" in told) == (
        "no-principal" in why
    )


async def test_a_server_that_says_nothing_of_a_cache_is_told(
    traffic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server(events(b"data: ", b"\n\n")) as url:
        said = f"bench {url} {traffic} --concurrency 1 --warmup 0 --no-report"
        assert await asyncio.to_thread(main, said.split()) == 0
    assert "with cache: no answer has a Cache-Status header" in capsys.readouterr().out
