"""What is found out about a Triton, and how it is reached."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import DeadlineExceeded, TensorRTLLM
from script import prompt
from triton_server import TritonServer
from until import until

grpc = pytest.importorskip("grpc")
Connect = Callable[..., TensorRTLLM]


def triton_of(llm: TensorRTLLM) -> Any:
    return llm.transport


def test_of_several_models_the_one_before_the_others_is_asked() -> None:
    wanted = triton_of(TensorRTLLM.connect("triton://host"))._wanted
    assert wanted(["a", "tensorrt_llm", "ensemble"]) == ["ensemble", "tensorrt_llm", "a"]
    assert wanted(["tensorrt_llm", "tensorrt_llm_bls"]) == ["tensorrt_llm_bls", "tensorrt_llm"]


async def test_only_a_model_behind_an_ensemble_is_told_to_stop_and_says_what_it_used(
    connect: Connect, triton: TritonServer
) -> None:
    """One that is asked directly hears of it, and one of the same name that takes no such tensors would refuse it."""
    ensemble, llmapi = connect(triton), connect(triton, "llmapi")
    assert ((await ensemble.start()).usage, (await llmapi.start()).usage) == (True, False)
    assert triton_of(ensemble)._stop_model == "tensorrt_llm" and triton_of(llmapi)._stop_model is None
    found = triton_of(connect(triton))
    found._open()
    config = found._config
    found._config = lambda name: config("llmapi" if name == "tensorrt_llm" else name)
    await found.start()
    assert found._layout.model == "ensemble" and found._stop_model is None


@pytest.mark.parametrize(("model", "event"), [("llmapi", "cancelled"), ("ensemble", "stopped")])
async def test_a_deadline_that_triton_itself_keeps_frees_the_slot(
    connect: Connect, triton: TritonServer, tmp_path: Path, model: str, event: str
) -> None:
    llm = connect(triton, model)
    await llm.start()
    request = llm.request({"prompt": prompt("abc", hold=str(tmp_path / "gate")), "stream": True})
    request.deadline = asyncio.get_running_loop().time() + 0.3
    with pytest.raises(DeadlineExceeded):
        async for _ in llm.transport.events(request):  # without the clock that stands before every transport
            pass
    await until(lambda: any(e == event and i == request.id for _, e, i in triton.events()))


async def test_an_answer_is_of_the_model_that_was_asked_for(connect: Connect, triton: TritonServer) -> None:
    llm = connect(triton, "llmapi")
    assert [(await llm(prompt="x", model=model))["model"] for model in ("mine", None)] == ["mine", "llmapi"]


async def test_an_answer_of_any_size_is_taken(connect: Connect, triton: TritonServer) -> None:
    llm = connect(triton, "llmapi")
    answer = await llm(prompt=prompt("a" * 5 * 2**20, step=5 * 2**20), max_tokens=4)
    assert len(answer["choices"][0]["text"]) == 5 * 2**20


async def test_a_chat_is_written_out_in_a_thread_and_the_loop_goes_on(
    connect: Connect, triton: TritonServer
) -> None:
    threads: list[int] = []

    def template(messages: Any) -> str:
        threads.append(threading.get_ident())
        return str(messages[0]["content"])

    llm = connect(triton, "llmapi", template=template)
    answer = await llm(messages=[{"role": "user", "content": "hi"}])
    assert answer["choices"][0]["message"]["content"] == "echo: hi"
    assert threads and threading.get_ident() not in threads


async def test_a_connection_is_kept_and_renewed_as_the_owner_and_tritons_defaults_want_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[dict[str, int]] = []
    real = grpc.aio.insecure_channel

    def noted(address: str, options: Any) -> Any:
        made.append(dict(options))
        return real(address, options=options)

    monkeypatch.setattr(grpc.aio, "insecure_channel", noted)
    for given in ({}, {"keepalive_ms": 77}):
        llm = TensorRTLLM.connect("triton://127.0.0.1:9", **given)
        assert not await llm.healthy()
        await llm.aclose()
    assert [one["grpc.keepalive_time_ms"] for one in made] == [330_000, 77]
    assert made[0]["grpc.keepalive_time_ms"] > 300_000, "more often earns GOAWAY"
    assert made[0]["grpc.max_reconnect_backoff_ms"] <= 2_000, "a server that is back is found soon"
    assert made[0]["grpc.min_reconnect_backoff_ms"] <= 5_000, "and one that says nothing is given up"
