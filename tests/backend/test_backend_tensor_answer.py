"""One stream of Triton's, response by response, as events."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import DeadlineExceeded, ProtocolFault, Unavailable
from cachelayer.adapters.tensorrt_llm.events import Delta, Usage
from cachelayer.adapters.tensorrt_llm.request import parse
from cachelayer.adapters.tensorrt_llm.tensor_answer import TensorAnswer
from cachelayer.adapters.tensorrt_llm.tensors import Layout

pb = pytest.importorskip("tritonclient.grpc.service_pb2")


def answer_of(*, cumulative: bool = True, stream: bool = True, echoes: bool = False) -> TensorAnswer:
    inputs = {"text_input": "BYTES", "sampling_param_max_tokens": "INT32"}
    if not echoes:
        inputs["sampling_param_exclude_input_from_output"] = "BOOL"
    layout = Layout("m", True, inputs, frozenset(("text_output",)), False, True, cumulative)
    request = parse({"prompt": "hi ", "stream": stream, "max_tokens": 9}, 0.0)
    request.id = "r"
    return TensorAnswer(layout, request, "hi ", "triton", pb.ModelStreamInferResponse.FromString)


def response(final: bool = False, id_: str = "r", **texts: str | None) -> bytes:
    """With outputs of these texts; None for one that is named and not there."""
    message = pb.ModelStreamInferResponse()
    inner = message.infer_response
    inner.id, inner.parameters["triton_final_response"].bool_param = id_, final
    for name, text in texts.items():
        inner.outputs.add(name=name, datatype="BYTES", shape=[1])
        if text is not None:
            raw = text.encode()
            inner.raw_output_contents.append(len(raw).to_bytes(4, "little") + raw)
    whole: bytes = message.SerializeToString()
    return whole


def said(answer: TensorAnswer, *responses: bytes) -> str:
    deltas: list[Any] = [answer.feed(one) for one in responses]
    return "".join(delta.text for delta in deltas if delta is not None)


def test_a_text_that_ends_in_what_is_no_character_is_whole_where_its_end_is_told() -> None:
    end = response(text_output="a\ufffd", finish_reason="stop")
    assert said(answer_of(), response(text_output="a\ufffd"), end, response(True)) == "a\ufffd"
    assert said(answer_of(stream=False), response(text_output="a\ufffd"), response(True)) == "a\ufffd"


def test_a_text_that_is_named_and_not_there_says_nothing() -> None:
    assert said(answer_of(), response(text_output=None), response(True, text_output="a")) == "a"


def test_a_prompt_is_taken_off_a_whole_answer_once_where_the_model_cannot_leave_it_out() -> None:
    assert said(answer_of(stream=False, echoes=True), response(True, text_output="hi hi there")) == "hi there"
    assert said(answer_of(echoes=True), response(True, text_output="hi there")) == "hi there", (
        "streams have none"
    )


def test_what_is_not_told_of_tokens_is_unknown_and_what_is_told_counts() -> None:
    blocks = {"kv_cache_reused_block": "3", "num_input_tokens": "2", "num_output_tokens": "9"}
    for told, usage, finish in (
        ({}, [], "length"),
        (blocks, [Usage(2, 9, 96)], "length"),
        ({**blocks, "num_output_tokens": "8"}, [Usage(2, 8, 96)], "stop"),
    ):
        answer = answer_of()
        said(answer, response(True, text_output="a", **told))
        first, *more = answer.rest(1024, "length", 32)
        assert isinstance(first, Delta) and (first.finish_reason, more[:-1]) == (finish, usage)


def test_an_answer_to_another_request_is_none() -> None:
    with pytest.raises(ProtocolFault, match="another request: 'other'"):
        said(answer_of(), response(True, id_="other", text_output="a"))


@pytest.mark.parametrize("told", [("", "Request timeout expired"), ("INTERNAL", "deadline exceeded")])
async def test_a_time_that_is_up_is_the_requests_own_where_it_had_one(told: tuple[str, str]) -> None:
    answer = answer_of()
    assert (type(answer.fault(*told)), answer.fault(*told).status) == (Unavailable, 504)
    answer._request.deadline = asyncio.get_running_loop().time()
    assert type(answer.fault(*told)) is DeadlineExceeded
