"""The in-process LLM API against a stand-in with its signatures and habits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorrt_llm_standin as trt
from cachelayer.adapters.tensorrt_llm import RequestRejected, TensorRTLLM, Unavailable
from script import prompt
from turns import cancelled
from until import until

from cachelayer.errors import ConfigurationError


def local(**options: Any) -> TensorRTLLM:
    return TensorRTLLM.connect("local:/models/tiny", module="tensorrt_llm_standin", **options)


async def test_the_model_is_constructed_at_start_with_checked_arguments() -> None:
    llm = local(max_batch_size=8)
    found = await llm.start()
    assert (found.kind, found.salt, found.priority, found.retention) == ("local", True, False, True)
    with pytest.raises(ConfigurationError, match="max_bach_size"):
        await local(max_bach_size=8).start()


async def test_a_missing_engine_names_what_is_missing() -> None:
    with pytest.raises(ConfigurationError, match="no_such_engine"):
        await TensorRTLLM.connect("local:m", module="no_such_engine").start()


def test_importing_the_adapter_imports_no_engine_and_no_client() -> None:
    code = (
        "import sys, cachelayer.adapters.tensorrt_llm as t;"
        "bad = {'tensorrt_llm', 'httpx', 'grpc', 'tritonclient', 'transformers', 'torch'} & set(sys.modules);"
        "t.TensorRTLLM.connect('local:/m'); bad |= {'tensorrt_llm'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_several_tokens_a_step_and_an_empty_first_step_join_to_the_text() -> None:
    llm = local()
    stream = await llm(prompt=prompt("Grüße aus Köln"), stream=True, stream_options={"include_usage": True})
    chunks = [chunk async for chunk in stream]
    texts = [c["choices"][0]["text"] for c in chunks if c["choices"]]
    assert "".join(texts) == "Grüße aus Köln"
    assert max(map(len, texts)) == 6, "two tokens of three characters came at once"
    assert chunks[-1]["usage"]["completion_tokens"] == 5, "tokens are counted by id, not by chunk"


async def test_what_a_choice_said_last_is_told_once_while_others_go_on() -> None:
    """Their results are one object: the last piece of a choice that has ended stands in every later one too."""
    stream = await local()(prompt=prompt("abcdefghi", step=1, stagger=True), n=2, stream=True)
    chunks = [choice async for chunk in stream for choice in chunk["choices"]]
    texts = ["".join(c["text"] for c in chunks if c["index"] == i) for i in (0, 1)]
    assert texts == ["ab", "abcdefghi"]
    assert [c["finish_reason"] for c in chunks if c["finish_reason"]] == ["stop", "stop"]


async def test_salt_and_retention_reach_the_engine_where_it_knows_them() -> None:
    engine = trt.LLM("m")
    llm = local(llm=engine)
    await llm(prompt="x", cache_salt="acme", retention=[(0, 64, 90, 30.0)])
    assert engine.calls[-1]["cache_salt"] == "acme"
    start, end, priority, duration = engine.calls[-1]["retention"].ranges[0]
    assert (start, end, priority, duration.total_seconds()) == (0, 64, 90, 30.0)


async def test_an_engine_without_salt_fails_closed() -> None:
    llm = local(llm=trt.OldLLM("m"))
    with pytest.raises(RequestRejected, match="salt"):
        await llm(prompt="x", cache_salt="acme")
    with pytest.raises(ConfigurationError, match="salt"):
        await local(llm=trt.OldLLM("m"), salt="required").start()
    assert (await llm(prompt="x"))["choices"][0]["text"] == "echo: x"


async def test_an_engine_that_keeps_no_blocks_on_demand_is_asked_for_none() -> None:
    class Bare(trt.LLM):
        def generate_async(self, inputs: Any, sampling_params: Any = None, streaming: bool = False) -> Any:  # type: ignore[override]
            return super().generate_async(inputs, sampling_params, streaming=streaming)

    llm = local(llm=Bare("m"))
    assert not (await llm.start()).retention
    assert (await llm(prompt="x", retention=[(0, 64, 90, 30.0)]))["choices"][0]["text"] == "echo: x"


async def test_leaving_a_stream_aborts_it(gate: Path) -> None:
    engine = trt.LLM("m")
    stream = await local(llm=engine)(prompt=prompt("abcdefghi", hold=str(gate), hold_after=2), stream=True)
    assert (await anext(stream))["choices"][0]["text"] == "abcdef"
    assert len(engine.running) == 1
    await stream.aclose()
    assert not engine.running


async def test_what_has_ended_is_not_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    aborted: list[Any] = []
    monkeypatch.setattr(trt.RequestOutput, "abort", aborted.append)
    llm = local(llm=trt.LLM("m"))
    await llm(prompt="x")
    assert [chunk async for chunk in await llm(prompt="x", stream=True)] and not aborted


async def test_cancelling_the_caller_aborts_the_request(gate: Path) -> None:
    engine = trt.LLM("m")
    task = asyncio.ensure_future(local(llm=engine)(prompt=prompt("abc", hold=str(gate))))
    await until(lambda: engine.running)
    await cancelled(task)
    assert not engine.running


async def test_an_engine_shut_down_is_unavailable_and_a_foreign_one_is_not_shut_down_here() -> None:
    engine = trt.LLM("m")
    llm = local(llm=engine)
    await llm(prompt="x")
    await llm.aclose()
    assert (await local(llm=engine)(prompt="x"))["model"] == "/models/tiny"
    engine.shutdown()
    with pytest.raises(Unavailable, match="shutting down"):
        await local(llm=engine)(prompt="x")


async def test_errors_of_one_request_are_that_requests() -> None:
    llm = local()
    with pytest.raises(RequestRejected, match="failed"):
        await llm(prompt=prompt("abc", fail_after=0))
    with pytest.raises(RequestRejected, match="too long"):
        await llm(prompt="x" * 5000)
    with pytest.raises(RequestRejected, match="logit_bias"):
        await llm(prompt="x", logit_bias={"1": 2})


async def test_messages_go_through_the_tokenizers_template() -> None:
    answer = await local()(messages=[{"role": "user", "content": "hello"}])
    assert answer["choices"][0]["message"]["content"] == "echo: hello"


async def test_an_engine_of_ones_own_template_of_tokens_or_without_a_template_is_asked_as_it_can_be() -> None:
    own = local(template=lambda messages: f"from {messages[-1]['content']}")
    messages = [{"role": "user", "content": "hello"}]
    assert (await own(messages=messages))["choices"][0]["message"]["content"] == "echo: from hello"
    assert (await own(prompt=[ord(one) for one in "hi"]))["choices"][0]["text"] == "echo: hi"
    engine = trt.LLM("m")
    engine.tokenizer = None  # type: ignore[assignment]
    with pytest.raises(RequestRejected, match="chat template"):
        await local(llm=engine)(messages=messages)


class Urgent(trt.LLM):
    """A version that knows priorities."""

    def generate_async(self, inputs: Any, priority: float | None = None, **rest: Any) -> Any:  # type: ignore[override]
        self.told = priority
        return super().generate_async(inputs, **rest)


async def test_how_urgent_a_request_is_reaches_the_engine_where_it_knows_that() -> None:
    engine = Urgent("m")
    await local(llm=engine)(prompt="x", priority=0.9)
    assert engine.told == 0.9


async def test_an_engine_that_was_made_here_is_shut_down_here() -> None:
    llm = local()
    assert not await llm.healthy()
    await llm.start()
    engine = llm.transport._llm  # type: ignore[attr-defined]
    assert await llm.healthy() and not engine._down
    await llm.aclose()
    assert engine._down and not await llm.healthy()


async def test_a_chat_asks_for_an_answer_and_brings_its_own_special_tokens() -> None:
    engine, told = trt.LLM("m"), []
    real = engine.tokenizer

    class Noting:
        def encode(self, text: str, add_special_tokens: bool) -> Any:
            told.append(add_special_tokens)
            return real.encode(text, add_special_tokens=add_special_tokens)

        def apply_chat_template(self, messages: Any, **options: Any) -> str:
            told.append(options["add_generation_prompt"])
            return str(messages[0]["content"])

    engine.tokenizer = Noting()  # type: ignore[assignment]
    llm = local(llm=engine)
    await llm(messages=[{"role": "user", "content": "x"}])
    await llm(
        messages=[{"role": "user", "content": "x"}], chat_template_kwargs={"add_generation_prompt": False}
    )
    await llm(prompt="x")
    assert told == [True, False, False, False, True]
