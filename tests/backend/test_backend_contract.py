"""The laws that hold for every transport alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import tensorrt_llm_standin as trt
from cachelayer.adapters.tensorrt_llm import (
    BackendError,
    DeadlineExceeded,
    Delta,
    End,
    Event,
    Interrupted,
    Start,
    TensorRTLLM,
    Usage,
)
from cachelayer.adapters.tensorrt_llm.events import COMPLETE
from script import prompt
from serve_server import ServeStandin
from triton_server import TritonServer
from turns import cancelled, given_up
from until import open_gate, until

KINDS = ("serve", "ensemble", "llmapi", "local")


class Backend:
    """A transport and how its server's busy slots are counted."""

    def __init__(self, llm: TensorRTLLM, busy: Callable[[], int]) -> None:
        self.llm, self.busy = llm, busy


def _busy(server: TritonServer) -> int:
    events = server.events()
    started = {i for _, e, i in events if e == "start"}
    return len(started - {i for _, e, i in events if e in ("end", "cancelled", "stopped")})


@pytest.fixture(params=KINDS)
async def backend(request: pytest.FixtureRequest, serve: ServeStandin) -> AsyncIterator[Backend]:
    def template(messages: Any) -> str:
        return str(messages[-1]["content"])

    if request.param == "serve":
        found = Backend(TensorRTLLM.connect(f"trtllm://{serve.address}"), lambda: len(serve.running))
    elif request.param == "local":
        engine = trt.LLM("tiny")
        llm = TensorRTLLM.connect("local:tiny", module="tensorrt_llm_standin", llm=engine)
        found = Backend(llm, lambda: len(engine.running))
    else:
        server = request.getfixturevalue("triton")
        before = _busy(server)
        llm = TensorRTLLM.connect(f"triton://{server.address}/{request.param}", template=template)
        found = Backend(llm, lambda: _busy(server) - before)
    await found.llm.start()
    yield found
    await found.llm.aclose()


def ask(say: str, **keys: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt(say, **keys)}], "max_tokens": 40}


def normal(events: list[Event]) -> list[Any]:
    """What all transports must agree on; how text is cut into deltas is the server's affair."""
    kinds: list[Any] = []
    for event in events:
        match event:
            case Start():
                kinds.append("start")
            case Delta() if event.text:
                if kinds[-1] == "delta":
                    continue
                kinds.append("delta")
            case End():
                kinds.append(event.reason)
            case Usage() | Delta():
                pass
    return [*kinds, "".join(e.text for e in events if isinstance(e, Delta))]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("limit", "reason"), [(40, "stop"), (2, "length")])
async def test_the_same_prompt_gives_the_same_sequence(
    backend: Backend, stream: bool, limit: int, reason: str
) -> None:
    arguments = ask("Grüße aus Köln!") | {"stream": stream, "max_tokens": limit}
    events = [e async for e in backend.llm.events(backend.llm.request(arguments))]
    assert normal(events) == ["start", "delta", reason, "Grüße aus Köln!"[: 3 * limit]]
    assert [type(e) for e in events].count(End) == 1 and isinstance(events[-1], End)


async def test_streamed_and_whole_answers_hold_the_same_text(backend: Backend) -> None:
    whole = await backend.llm(**ask("one two three"))
    parts = [c async for c in await backend.llm(**ask("one two three"), stream=True)]
    text = "".join(c["choices"][0]["delta"].get("content", "") for c in parts)
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": text}
    assert whole["object"] == "chat.completion" and parts[0]["object"] == "chat.completion.chunk"


@pytest.mark.parametrize("hold_after", [0, 1])
async def test_a_cancel_in_any_phase_frees_the_slot(backend: Backend, gate: Path, hold_after: int) -> None:
    """Before the first token, in the middle."""
    request = backend.llm.request(ask("abcdefghi", hold=str(gate), hold_after=hold_after) | {"stream": True})

    async def consume() -> None:
        async for _ in backend.llm.events(request):
            pass

    task = asyncio.ensure_future(consume())
    await until(lambda: backend.busy() == 1)
    await cancelled(task)
    await until(lambda: backend.busy() == 0)


async def test_a_cancel_before_anything_was_sent_and_after_the_end_leave_nothing(backend: Backend) -> None:
    early = asyncio.ensure_future(backend.llm(**ask("abc")))
    await asyncio.sleep(0)
    await given_up(early)
    stream = await backend.llm(**ask("abc"), stream=True)
    async for _ in stream:
        pass
    await stream.aclose()
    await until(lambda: backend.busy() == 0)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_deadline_ends_the_request_and_frees_the_slot(
    backend: Backend, gate: Path, stream: bool
) -> None:
    arguments = ask("abcdef", hold=str(gate)) | {"stream": stream, "timeout": 0.3}
    with pytest.raises(DeadlineExceeded):
        async for _ in backend.llm.events(backend.llm.request(arguments)):
            pass
    await until(lambda: backend.busy() == 0)


async def test_a_deadline_that_passes_while_the_reader_is_away_is_told_at_its_next_step(
    backend: Backend, gate: Path
) -> None:
    request = backend.llm.request(
        ask("abcdefghi", hold=str(gate), hold_after=2) | {"stream": True, "timeout": 1.5}
    )
    events = backend.llm.events(request)
    await anext(events)
    passed = asyncio.Event()
    assert request.deadline is not None
    asyncio.get_running_loop().call_at(request.deadline + 0.01, passed.set)
    await passed.wait()
    with pytest.raises(DeadlineExceeded):
        async for _ in events:
            pass
    await until(lambda: backend.busy() == 0)


async def test_an_outer_cancel_is_never_taken_for_a_deadline(backend: Backend, gate: Path) -> None:
    task = asyncio.ensure_future(backend.llm(**ask("abc", hold=str(gate)), timeout=60))
    await until(lambda: backend.busy() == 1)
    await cancelled(task)


class Cache:
    """Keeps what a layer would: whole answers, under the rule of the issue."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def record(self, llm: TensorRTLLM, arguments: dict[str, Any]) -> None:
        text, reason = "", None
        async for chunk in await llm(**arguments, stream=True):
            choice = chunk["choices"][0]
            text, reason = text + choice["delta"].get("content", ""), choice["finish_reason"] or reason
        if reason == "stop":
            self.kept.append(text)


async def test_only_complete_answers_reach_a_recorder(backend: Backend, gate: Path) -> None:
    """A stream ends without an exception exactly when its answer is complete."""
    cache = Cache()
    await cache.record(backend.llm, ask("complete"))
    await cache.record(backend.llm, ask("complete" * 9) | {"max_tokens": 2})
    with pytest.raises(BackendError):
        await cache.record(backend.llm, ask("abcdef", fail_after=1, drop_after=4))
    with pytest.raises(BackendError):
        await cache.record(backend.llm, ask("abcdefghi", hold=str(gate), hold_after=1) | {"timeout": 0.2})
    assert cache.kept == ["complete"]
    assert "timeout" not in COMPLETE and "cancelled" not in COMPLETE


@pytest.mark.parametrize("path", ["", "ensemble", "llmapi"])
async def test_a_client_that_is_closed_tells_whoever_reads(
    serve: ServeStandin, triton: TritonServer, path: str, gate: Path
) -> None:
    url = f"triton://{triton.address}/{path}" if path else f"trtllm://{serve.address}"
    llm = TensorRTLLM.connect(url)
    stream = await llm(prompt=prompt("abcdef", hold=str(gate), hold_after=1), stream=True)
    await anext(stream)
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    await llm.aclose()
    with pytest.raises(Interrupted, match="closed"):
        await asyncio.wait_for(reading, 10)
    open_gate(gate)
