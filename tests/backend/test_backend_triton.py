"""A real tritonserver with decoupled models of TensorRT-LLM's tensor names."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import (
    BackendError,
    Interrupted,
    Overloaded,
    RequestRejected,
    TensorRTLLM,
    Unavailable,
)
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy
from script import prompt
from triton_server import HERE, TritonServer
from turns import cancelled
from until import open_gate, until

from cachelayer.errors import ConfigurationError

Connect = Callable[..., TensorRTLLM]


async def texts(llm: TensorRTLLM, script: str, **options: Any) -> list[str]:
    stream = await llm(prompt=script, stream=True, **options)
    return [chunk["choices"][0]["text"] async for chunk in stream]


async def test_connect_finds_the_layout_of_each_model(connect: Connect, triton: TritonServer) -> None:
    ensemble, llmapi = await connect(triton).start(), await connect(triton, "llmapi").start()
    assert (ensemble.kind, llmapi.kind) == ("triton-ensemble", "triton-llmapi")
    assert ensemble.models[0] == "ensemble" and ensemble.streaming
    with pytest.raises(ConfigurationError, match="preprocessing"):
        await connect(triton, "preprocessing").start()


@pytest.mark.parametrize("model", ["ensemble", "llmapi", "tensorrt_llm_bls"])
async def test_steps_cumulative_text_and_both_kinds_of_final_give_the_same_deltas(
    connect: Connect, triton: TritonServer, model: str
) -> None:
    llm = connect(triton, model, unknown_finish="stop")
    assert await texts(llm, prompt("Grüße, 世界!", step=4), max_tokens=9) == ["Grüß", "e, 世", "界!", ""]


async def test_a_character_cut_in_two_is_held_until_it_is_whole(
    connect: Connect, triton: TritonServer
) -> None:
    parts = await texts(connect(triton, "llmapi"), prompt("abcdef", step=2, cut=True), max_tokens=9)
    assert "\ufffd" not in "".join(parts)
    assert "".join(parts) == "abcdef"


async def test_length_is_told_from_stop_and_an_unknown_end_counts_as_length(
    connect: Connect, triton: TritonServer
) -> None:
    for model, short, full in [
        ("ensemble", "length", "stop"),
        ("llmapi", "length", "stop"),
        ("tensorrt_llm_bls", "length", "length"),
    ]:
        llm = connect(triton, model)
        assert (await llm(prompt=prompt("abcdef"), max_tokens=1))["choices"][0]["finish_reason"] == short
        assert (await llm(prompt=prompt("abcdef"), max_tokens=9))["choices"][0]["finish_reason"] == full


async def test_usage_where_the_model_gives_it_and_unknown_elsewhere(
    connect: Connect, triton: TritonServer
) -> None:
    answer = await connect(triton, tokens_per_block=32)(prompt=prompt("abcdef"))
    assert answer["usage"]["completion_tokens"] == 2
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 64}
    assert "usage" not in await connect(triton, "llmapi")(prompt=prompt("abcdef"))


async def test_metrics_as_text_give_the_queue_time(connect: Connect, triton: TritonServer) -> None:
    llm = connect(triton, "llmapi")
    request = llm.request({"prompt": prompt("abc")})
    found = [e.queue_seconds async for e in llm.events(request) if type(e).__name__ == "Usage"]
    assert found == [0.25]


async def test_the_prompt_is_not_echoed(connect: Connect, triton: TritonServer) -> None:
    assert (await connect(triton, "llmapi")(prompt="hi"))["choices"][0]["text"] == "echo: hi"


async def test_answers_of_concurrent_requests_keep_to_their_own_order(
    connect: Connect, triton: TritonServer
) -> None:
    llm = connect(triton, "llmapi")
    say = ["".join(chr(0x4E00 + 40 * i + j) for j in range(30)) for i in range(16)]
    got = await asyncio.gather(*(texts(llm, prompt(s, step=1), max_tokens=40) for s in say))
    assert ["".join(parts) for parts in got] == say


@pytest.mark.parametrize(("model", "event"), [("llmapi", "cancelled"), ("ensemble", "stopped")])
async def test_leaving_a_stream_stops_the_model(
    connect: Connect, triton: TritonServer, gate: Path, model: str, event: str
) -> None:
    """A direct model sees the gRPC cancel; one behind an ensemble is told by an explicit stop."""
    stream = await connect(triton, model)(prompt=prompt("abcdef", hold=str(gate), hold_after=1), stream=True)
    first = await anext(stream)
    await stream.aclose()
    await until(lambda: any(e == event and i == first["id"] for _, e, i in triton.events()))


async def test_an_explicit_stop_is_over_when_the_server_has_taken_it(
    connect: Connect, triton: TritonServer, gate: Path
) -> None:
    """Nobody read its answer, so that it lasted to its deadline: 5,000 calls at a thousand cancels a second."""
    llm = connect(triton, "ensemble")
    stream = await llm(prompt=prompt("abcdef", hold=str(gate), hold_after=1), stream=True)
    await stream.aclose()
    (told,) = llm.transport._stopping  # type: ignore[attr-defined]
    assert (await told.code()).name == "OK"
    await until(lambda: not llm.transport._stopping)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("model", "event"), [("llmapi", "cancelled"), ("ensemble", "stopped")])
async def test_cancelling_before_the_first_token_stops_the_model(
    connect: Connect, triton: TritonServer, gate: Path, model: str, event: str
) -> None:
    llm = connect(triton, model)
    request = llm.request({"prompt": prompt("abc", hold=str(gate)), "stream": True})
    events = llm.events(request)
    task = asyncio.ensure_future(anext(events))
    await until(lambda: any(e == "start" and i == request.id for _, e, i in triton.events()))
    await cancelled(task)
    await until(lambda: any(e == event and i == request.id for _, e, i in triton.events()))


async def test_an_engine_error_is_unavailable_at_first_and_an_interruption_later(
    connect: Connect, triton: TritonServer, gate: Path
) -> None:
    for model in ("llmapi", "ensemble"):
        llm = connect(triton, model)
        with pytest.raises(Unavailable, match="engine failed"):
            await llm(prompt=prompt("abcdef", fail_after=0), stream=True)
        late = gate.with_name(model)
        script = prompt("abcdef", hold=str(late), hold_after=1, fail_after=1)
        stream = await llm(prompt=script, stream=True)
        assert (await anext(stream))["choices"][0]["text"] == "abc"
        open_gate(late)
        with pytest.raises(Interrupted, match="engine failed"):
            await anext(stream)
        assert await texts(llm, prompt("abc")) == ["abc", ""], "the connection serves on"


async def test_a_full_queue_is_overload(connect: Connect, triton: TritonServer, gate: Path) -> None:
    """The model takes one request at a time and queues one more."""
    llm = connect(triton, "tensorrt_llm_bls")
    held = prompt("abc", hold=str(gate))
    first = llm.request({"prompt": held})
    running = asyncio.ensure_future(anext(llm.events(first)))
    await until(lambda: any(i == first.id for _, _, i in triton.events()))
    others = [asyncio.ensure_future(llm(prompt=held)) for _ in range(3)]
    done, _ = await asyncio.wait(others, return_when=asyncio.FIRST_EXCEPTION)
    assert {type(t.exception()) for t in done} == {Overloaded}
    open_gate(gate)
    results = await asyncio.gather(running, *others, return_exceptions=True)
    assert all(not isinstance(r, BaseException) or isinstance(r, Overloaded) for r in results)


async def test_an_unknown_field_and_an_unknown_model_are_refused(
    connect: Connect, triton: TritonServer
) -> None:
    with pytest.raises(RequestRejected, match="logit_bias"):
        await connect(triton)(prompt="x", logit_bias={"1": 1})
    with pytest.raises(RequestRejected):
        await connect(triton, "nothing")(prompt="x")
    with pytest.raises(RequestRejected, match="template"):
        await connect(triton)(messages=[{"role": "user", "content": "x"}])
    with pytest.raises(RequestRejected, match="salt"):
        await connect(triton)(prompt="x", cache_salt="acme")
    with pytest.raises(ConfigurationError, match="salt"):
        await connect(triton, salt="required").start()


@pytest.fixture
def mortal(triton_runs: None, tmp_path: Path) -> Iterator[TritonServer]:
    models = tmp_path / "only"
    shutil.copytree(HERE / "triton_models" / "llmapi", models / "llmapi")
    server = TritonServer(tmp_path, models)
    try:
        server.start()
        yield server
    finally:
        server.stop()


async def test_a_server_killed_in_mid_traffic_is_an_error_for_each_and_serves_again_after_its_restart(
    connect: Connect, mortal: TritonServer, gate: Path
) -> None:
    llm = connect(mortal, "llmapi")
    held = prompt("abcdef", hold=str(gate), hold_after=1)
    streams = [await llm(prompt=held, stream=True) for _ in range(4)]
    for stream in streams:
        assert (await anext(stream))["choices"][0]["text"] == "abc"
    waiting = llm.request({"prompt": prompt("abc", hold=str(gate))})
    early = asyncio.ensure_future(anext(llm.events(waiting)))
    await until(lambda: any(i == waiting.id for _, _, i in mortal.events()))
    mortal.kill()
    results = await asyncio.gather(*(anext(s) for s in streams), early, return_exceptions=True)
    assert [type(r) for r in results] == [Interrupted] * 4 + [Unavailable]
    assert not await llm.healthy()
    mortal.start()
    async with asyncio.timeout(20):
        while not await llm.healthy():
            pass
    assert await texts(llm, prompt("abc")) == ["abc", ""]
    await llm.aclose()


async def test_clients_stream_on_while_one_of_two_replicas_is_killed_and_restored(
    mortal: TritonServer, triton: TritonServer, gate: Path
) -> None:
    """No error on a stream that had sent nothing; one that was cut after its first text ends with an
    error."""
    urls = [f"triton://{server.address}/llmapi" for server in (mortal, triton)]
    llm = TensorRTLLM.connect(urls, fleet={"seed": 3, "router": RouterPolicy(cooldown=0.1), "lanes": None})
    await llm.start()
    name = f"triton://{mortal.address}"
    served, cut, untouched = 0, 0, 0
    going = True

    async def client(number: int) -> None:
        nonlocal served, cut, untouched
        while going:
            texts = 0
            try:
                script = prompt("".join(chr(0x4E00 + number * 40 + i) for i in range(30)), step=1)
                async for chunk in await llm(prompt=script, max_tokens=40, stream=True):
                    texts += bool(chunk["choices"][0]["text"])
                served += 1
            except BackendError:
                cut, untouched = cut + (texts > 0), untouched + (texts == 0)

    held = await llm(prompt=prompt("abcdef", hold=str(gate), hold_after=1), stream=True, session="s")
    clients = [asyncio.ensure_future(client(n)) for n in range(8)]
    await until(lambda: served > 20)
    mortal.kill()
    await until(lambda: llm.transport.signals()["replicas"][name]["up"] == 0)  # type: ignore[attr-defined]
    await until(lambda: served > 60)
    await asyncio.to_thread(mortal.start)
    await until(lambda: llm.transport.signals()["replicas"][name]["up"] == 1)  # type: ignore[attr-defined]
    going = False
    await asyncio.gather(*clients)
    open_gate(gate)
    assert untouched == 0
    assert cut <= 8
    try:
        assert "".join([c["choices"][0]["text"] async for c in held]) == "abcdef"
    except Interrupted:
        cut += 1  # it ran on the killed replica
    await llm.aclose()
