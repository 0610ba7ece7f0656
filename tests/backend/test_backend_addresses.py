"""What stands in a backend's address is used or refused by name."""

from __future__ import annotations

import asyncio
import base64
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from answering import answering
from cachelayer.adapters.tensorrt_llm import Delta, TensorRTLLM, Unavailable
from cachelayer.adapters.tensorrt_llm.request import parse
from serve_server import ServeStandin
from until import until

from cachelayer.errors import ConfigurationError


@pytest.fixture
async def proxied() -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """A server behind a path, and the paths and credentials that it was asked with."""
    asked: list[tuple[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers.get("authorization", "")))
        if not request.path.endswith("/v1/chat/completions"):
            return web.Response(text="{}")
        choice = {"index": 0, "message": {"content": "hello"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]})

    async with answering(answer) as address:
        yield address, asked


@pytest.mark.parametrize("path", ["/models/llama", "/models/llama/v1/", ""])
async def test_a_path_and_credentials_in_an_address_are_used_and_told_to_nobody(
    proxied: tuple[str, list[tuple[str, str]]], path: str
) -> None:
    address, asked = proxied
    llm = TensorRTLLM.connect(f"trtllm://ann:s%40cret@{address}{path}")
    answer = await llm(messages=[{"role": "user", "content": "x"}])
    assert answer["choices"][0]["message"]["content"] == "hello"
    under = "/models/llama" if path else ""
    basic = "Basic " + base64.b64encode(b"ann:s@cret").decode()
    assert asked[0] == (f"{under}/health", basic) and asked[-1] == (f"{under}/v1/chat/completions", basic)
    assert llm.transport.name == f"http://{address}{under}"
    await llm.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "trtllm://ann:s3cret@host:none", "trtllm://host:99999", "trtllm://host:0", "trtllm://[::1",
        "trtllm://host?model=x", "http://host/#x", "triton://ann:s3cret@host:8001/ensemble", "host:8000", "",
        None, [None], 8000,
    ],
)  # fmt: skip
def test_what_an_address_cannot_mean_is_refused_by_name_without_its_password(url: Any) -> None:
    with pytest.raises(ConfigurationError, match="url=") as refusal:
        TensorRTLLM.connect(url)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("trtllm://host", "http://host:8000"), ("http://host", "http://host:80"), ("https://[::1]", "https://[::1]:443"),
        ("trtllms://host", "https://host:443"),
    ],
)  # fmt: skip
def test_a_port_that_is_left_out_is_the_schemes(url: str, means: str) -> None:
    assert TensorRTLLM.connect(url).transport.name == means


def test_two_names_for_a_tritons_model_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="one_model"):
        TensorRTLLM.connect("triton://host/another", model="one_model")


@pytest.mark.parametrize("several", [False, True])
async def test_a_start_that_failed_leaves_nothing_to_close_and_may_be_tried_again(several: bool) -> None:
    server = ServeStandin()
    await server.start()
    await server.crash()
    url = f"trtllm://{server.address}"
    llm = TensorRTLLM.connect([url] if several else url)
    with pytest.raises(Unavailable), warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        await llm.start()
    transports = [m.transport for m in llm.transport.members.values()] if several else [llm.transport]  # type: ignore[attr-defined]
    assert [transport._http._session for transport in transports] == [None]
    await server.start()
    assert (await llm.start()).models == ("tiny-llama",)
    await llm.aclose()
    await server.crash()


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_a_health_route_is_served_and_an_ill_one_says_why(
    serve: ServeStandin, status: int
) -> None:
    async def other_make(request: web.Request) -> web.Response:
        return web.Response(status=status if request.path == "/health" else 200, text="{}")

    async with answering(other_make) as address:
        llm = TensorRTLLM.connect(f"trtllm://{address}")
        assert (await llm.start()).kind == "openai"
        await llm.aclose()
    serve.healthy = False
    with pytest.raises(Unavailable, match="503"):
        await TensorRTLLM.connect(f"trtllm://{serve.address}").start()


async def test_leaving_the_block_closes_what_is_connected(serve: ServeStandin) -> None:
    async with TensorRTLLM.connect(f"trtllm://{serve.address}") as llm:
        await llm(messages=[{"role": "user", "content": "x"}])
        assert serve.open
    await until(lambda: not serve.open, 5.0)  # kept ones close after fifteen seconds


async def test_a_connection_that_ends_as_it_is_used_again_is_replaced_by_one_more() -> None:
    """What a server closed for being idle, and the client learns of only by asking."""
    answered: list[int] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = not answered
        for _ in range(1 if first else 9):
            head = await reader.readuntil(b"\r\n\r\n")
            size = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if b"content-length" in line]
            await reader.readexactly(int(size[0]) if size else 0)
            answered.append(1)
            said = b'{"choices":[{"index":0,"message":{"content":"yes"},"finish_reason":"stop"}]}'
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(said) + said)
        if first:
            await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    transport = TensorRTLLM.connect(f"trtllm://{host}:{port}").transport
    request = parse({"messages": [{"role": "user", "content": "?"}]}, 0.0)
    for _ in range(2):
        said = [event async for event in transport.events(request)]
        assert isinstance(said[1], Delta) and said[1].text == "yes"
    await transport.aclose()
    server.close()
