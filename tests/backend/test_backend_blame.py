"""Whose fault an answer is: a replica's costs no caller an error and opens its breaker, a request's own is told as it
is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from answering import answering
from cachelayer.adapters.tensorrt_llm import Overloaded, RequestRejected, TensorRTLLM, Unavailable
from serve_server import CHAT, ServeStandin

MESSAGES = [{"role": "user", "content": "x"}]
GONE = {"object": "error", "message": "The model `tiny-llama` does not exist.", "code": 404}
TOO_LONG = '{"error": {"message": "too long", "type": "BadRequestError", "code": 400}}'


class Another(ServeStandin):
    """After its start, another server at its address."""

    now = ""

    async def _generate(
        self, path: str, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if self.now == "without the model":
            self.requests.append(body)
            return self._reply(writer, 404, GONE)
        if self.now == "no model server":
            self.requests.append(body)
            return self._reply(writer, 404, b"default backend - 404")
        if self.now == "without salts":
            self.chat_fields = CHAT - {"cache_salt"}
        return await super()._generate(path, body, reader, writer)


class Says:
    """Healthy, and answers every request with the same."""

    def __init__(self) -> None:
        self.says, self.status, self.models = "", 200, 200
        self.headers: dict[str, str] = {}
        self.asked = 0
        self.address = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/v1/models":
            return web.Response(text="{}", status=self.models)
        if request.path != "/v1/chat/completions":
            return web.Response(text="{}")
        self.asked += 1
        streams = self.status == 200 and (await request.json()).get("stream")
        text = f"data: {self.says}\n\n" if streams else self.says
        return web.Response(text=text, status=self.status, headers=self.headers)


@pytest.fixture
async def says() -> AsyncIterator[Says]:
    server = Says()
    async with answering(server.answer) as server.address:
        yield server


def fleet_of(*addresses: str) -> TensorRTLLM:
    return TensorRTLLM.connect([f"trtllm://{address}" for address in addresses], fleet={"seed": 1})


async def asked(llm: TensorRTLLM, stream: bool = False, **keys: Any) -> Any:
    answer = await llm(messages=MESSAGES, stream=stream, **keys)
    return [chunk async for chunk in answer] if stream else answer


def up(llm: TensorRTLLM, address: str) -> int:
    return int(llm.transport.signals()["replicas"][f"http://{address}"]["up"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("now", ["without the model", "without salts", "no model server"])
async def test_a_server_that_no_longer_has_what_it_had_costs_no_caller_an_error(
    serve: ServeStandin, now: str
) -> None:
    """It was replaced faster than its breaker opened: what it refused was told as the requests' own fault."""
    other = Another()
    await other.start()
    llm = fleet_of(serve.address, other.address)
    assert (await llm.start()).salt
    for _ in range(6):
        await asked(llm, model="tiny-llama", cache_salt="acme")
    other.now = now
    for place in range(12):
        assert await asked(llm, place % 2 == 0, model="tiny-llama", cache_salt="acme")
    assert not up(llm, other.address) and up(llm, serve.address)
    await llm.aclose()
    await other.crash()


async def test_a_model_that_no_replica_serves_and_a_route_that_is_none_are_the_requests_own(
    serve: ServeStandin, says: Says
) -> None:
    says.status, says.says = 404, '{"message": "The model `nothing` does not exist."}'
    llm = fleet_of(says.address)
    with pytest.raises(RequestRejected, match=r"^The model `nothing` does not exist\.$"):
        await asked(llm, model="nothing")
    assert up(llm, says.address)
    await llm.aclose()


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
async def test_what_a_proxy_says_of_a_lost_server_costs_no_caller_an_error(
    serve: ServeStandin, says: Says, status: int
) -> None:
    """A 504 was taken for the request's own deadline: told to each caller in turn, and held against nobody."""
    says.status, says.says = status, "<html>sorry</html>"
    llm = fleet_of(serve.address, says.address)
    for place in range(12):
        assert await asked(llm, place % 2 == 0)
    assert 0 < says.asked <= 3
    alone = fleet_of(says.address)
    with pytest.raises(Unavailable, match=f"^http://{says.address} answers {status}$") as told:
        await asked(alone)
    assert told.value.status == status
    await llm.aclose()
    await alone.aclose()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "body", [TOO_LONG, TOO_LONG[len('{"error": ') : -1].replace("{", '{"object": "error", ')]
)
async def test_a_requests_own_fault_under_status_200_is_told_as_it_is(
    says: Says, stream: bool, body: str
) -> None:
    """It was nonsense, asked of every replica and held against each."""
    says.says = body
    llm = fleet_of(says.address)
    with pytest.raises(RequestRejected, match=r"^too long$"):
        await asked(llm, stream)
    assert says.asked == 1 and up(llm, says.address)
    await llm.aclose()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_servers_own_fault_under_status_200_is_told_with_its_name(says: Says, stream: bool) -> None:
    says.says = '{"error": {"message": "the engine died", "code": 500}}'
    llm = fleet_of(says.address)
    with pytest.raises(Unavailable, match=f"^http://{says.address}: the engine died$"):
        await asked(llm, stream)
    await llm.aclose()


async def test_a_replica_that_asks_to_be_left_alone_is_while_another_serves(
    serve: ServeStandin, says: Says
) -> None:
    """It refuses at once, so it looked idle, and nearly every request went there first."""
    says.status, says.says, says.headers = 429, '{"error": {"message": "slow down"}}', {"retry-after": "60"}
    llm = fleet_of(serve.address, says.address)
    for _ in range(12):
        assert await asked(llm)
    assert says.asked == 1 and up(llm, says.address)
    await llm.aclose()


async def test_a_caller_whom_nobody_serves_is_told_when_to_come_back(serve: ServeStandin, says: Says) -> None:
    says.status, says.says, says.headers = 429, '{"error": {"message": "slow down"}}', {"retry-after": "60"}
    llm = fleet_of(serve.address, says.address)
    await llm.start()
    await serve.crash()
    for _ in range(8):
        with pytest.raises(Overloaded, match=f"http://{says.address} answers 429: slow down") as busy:
            await asked(llm)
        assert busy.value.retry_after == 60
    await llm.aclose()


async def test_a_page_in_place_of_an_error_is_told_in_part(says: Says) -> None:
    says.status, says.says = 400, "no " * 100_000
    llm = TensorRTLLM.connect(f"trtllm://{says.address}")
    with pytest.raises(RequestRejected, match=r"^no no") as refusal:
        await asked(llm)
    assert len(str(refusal.value)) <= 2000
    await llm.aclose()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_start_that_does_not_hear_what_a_server_has_is_none(says: Says, status: int) -> None:
    """A server that was just starting, or busy, counted as one without models and salts until it was lost."""
    says.models = status
    llm = TensorRTLLM.connect(f"trtllm://{says.address}")
    with pytest.raises(Unavailable, match=f"answers /v1/models with {status}"):
        await llm.start()
    says.models = 404
    assert (await llm.start()).models == ()
    await llm.aclose()
