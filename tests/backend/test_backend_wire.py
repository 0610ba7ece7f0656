"""Pure parts: server-sent events, cumulative text, tensors, request checks, URLs."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import RequestRejected, TensorRTLLM
from cachelayer.adapters.tensorrt_llm.errors import ProtocolFault
from cachelayer.adapters.tensorrt_llm.request import parse
from cachelayer.adapters.tensorrt_llm.sse import MAX_EVENT, EventParser
from cachelayer.adapters.tensorrt_llm.tensor_answer import Repetition
from cachelayer.adapters.tensorrt_llm.tensors import Layout, TextDiff, decode, encode, inputs_of, number
from hypothesis import example, given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from cachelayer.errors import ConfigurationError

payload = (
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=1)
    .map(str.strip)
    .filter(bool)
)


@given(st.lists(payload), st.booleans(), st.lists(st.integers(1, 40)))
def test_events_do_not_depend_on_where_the_bytes_are_cut(
    payloads: list[str], crlf: bool, cuts: list[int]
) -> None:
    stream = b"".join(b": note\ndata: " + p.encode() + b" \n\n" for p in payloads)
    stream = stream.replace(b"\n", b"\r\n") if crlf else stream
    parser, found = EventParser(), []
    for cut in [*cuts, len(stream)]:
        found += parser.feed(stream[:cut])
        stream = stream[cut:]
    # bytes.strip knows ASCII blanks only: what the parser may trim is exactly those
    assert found == [p.encode().strip() for p in payloads]


def test_data_lines_of_one_event_are_joined_and_an_endless_event_is_a_fault() -> None:
    assert EventParser().feed(b"event: x\ndata: a\ndata:b\n\n") == [b"a\nb"]
    with pytest.raises(ProtocolFault):
        EventParser().feed(b"data: " + b"x" * MAX_EVENT)


@given(
    st.text(st.characters(exclude_characters="\ufffd"), max_size=60),
    st.lists(st.integers(0, 60)),
    st.booleans(),
)
def test_deltas_of_cumulative_text_join_to_the_final_text(text: str, ends: list[int], cut: bool) -> None:
    diff, out = TextDiff(), ""
    for end in sorted(ends):
        out += diff.step((text[:end] + ("\ufffd" if cut else "")).encode(), False)
        assert text.startswith(out)
    assert out + diff.step(text.encode(), True) == text


def test_what_is_not_all_there_is_held_back_and_a_text_that_shrinks_says_nothing() -> None:
    diff = TextDiff()
    steps = [("ab\ufffd\ufffd", False), ("a", False), ("ab\u4e16", False), ("ab\u4e16\ufffd", True)]
    assert [diff.step(text.encode(), final) for text, final in steps] == ["ab", "", "\u4e16", "\ufffd"]


def test_a_cumulative_text_that_changes_its_past_is_refused() -> None:
    diff = TextDiff()
    diff.step(b"abc", False)
    with pytest.raises(ValueError, match="continue"):
        diff.step(b"abX", False)


def layout(**changes: object) -> Layout:
    fields: dict[str, object] = {
        "model": "ensemble",
        "llmapi": False,
        "inputs": {
            "text_input": "BYTES",
            "max_tokens": "INT32",
            "top_p": "FP32",
            "stop_words": "BYTES",
            "stream": "BOOL",
        },
        "outputs": frozenset(("text_output",)),
        "batched": True,
        "decoupled": True,
        "cumulative": False,
    }
    return Layout(**(fields | changes))  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_survives_the_bytes_tensor(text: str) -> None:
    tensor = encode(layout(), "text_input", [text])
    assert (tensor.shape, decode("BYTES", tensor.raw)) == ([1, 1], text)


def test_a_refusal_says_nothing_of_the_prompt() -> None:
    with pytest.raises(RequestRejected, match="text_input does not fit BYTES") as refused:
        encode(layout(), "text_input", ["a secret \ud83d"])
    assert "secret" not in str(refused.value)


def test_shapes_have_a_batch_dimension_exactly_where_the_model_batches() -> None:
    assert encode(layout(), "max_tokens", [3]).shape == [1, 1]
    assert encode(layout(batched=False), "max_tokens", [3]).shape == [1]
    assert encode(layout(), "stop_words", ["a", "b"]).shape == [1, 2]


def test_a_field_that_changes_the_answer_and_has_no_tensor_is_refused_by_name() -> None:
    for field, value in {
        "tools": [{"type": "function"}],
        "n": 2,
        "response_format": {"type": "json_object"},
    }.items():
        with pytest.raises(RequestRejected, match=field):
            inputs_of(
                layout(),
                parse({"prompt": "x", field: value}, 0.0)
                if field != "tools"
                else parse({"messages": [{"role": "user", "content": "x"}], field: value}, 0.0),
                "x",
                16,
            )
    neutral = parse(
        {"messages": [{"role": "user", "content": "x"}], "n": 1, "tools": [], "top_p": 0.5, "user": "u"}, 0.0
    )
    names = [t.name for t in inputs_of(layout(), neutral, "x", 16)]
    assert names == ["text_input", "max_tokens", "top_p", "stream"]


@pytest.mark.parametrize(
    ("field", "nothing", "something"),
    [
        ("skip_special_tokens", True, False),
        ("ignore_eos", False, True),
        ("logit_bias", {}, {"5": 1}),
        ("stop_token_ids", [], [2]),
        ("response_format", {"type": "text"}, {"type": "json_object"}),
        ("repetition_penalty", 1.0, 0),
        ("echo", False, True),
    ],
)
def test_a_field_at_the_value_that_asks_for_nothing_needs_no_tensor(
    field: str, nothing: Any, something: Any
) -> None:
    names = [t.name for t in inputs_of(layout(), parse({"prompt": "x", field: nothing}, 0.0), "x", 16)]
    assert names == ["text_input", "max_tokens", "stream"]
    with pytest.raises(RequestRejected, match=field):
        inputs_of(layout(), parse({"prompt": "x", field: something}, 0.0), "x", 16)


def test_a_value_that_does_not_fit_its_tensor_is_refused() -> None:
    with pytest.raises(RequestRejected, match="max_tokens"):
        inputs_of(layout(), parse({"prompt": "x", "max_tokens": 2**40}, 0.0), "x", 16)
    with pytest.raises(RequestRejected, match="top_p"):  # two of what Triton takes one of
        inputs_of(layout(), parse({"prompt": "x", "top_p": [0.1, 0.2]}, 0.0), "x", 16)


@pytest.mark.parametrize(("stream", "decoupled"), [(True, True), (True, False), (False, True)])
def test_a_model_is_asked_to_stream_where_the_caller_wants_it_and_it_can(
    stream: bool, decoupled: bool
) -> None:
    request = parse({"prompt": "x", "stream": stream}, 0.0)
    *_, last = inputs_of(layout(decoupled=decoupled), request, "x", 16)
    assert (last.name, last.raw) == ("stream", b"\1" if stream and decoupled else b"\0")


@pytest.mark.parametrize(
    ("datatype", "raw"), [("BYTES", b""), ("BYTES", b"\1"), ("FP32", b"\0"), ("FP16", b"\0\0")]
)
def test_an_output_that_holds_nothing_or_what_is_not_read_is_none(datatype: str, raw: bytes) -> None:
    assert decode(datatype, raw) is None


def test_metrics_are_read_as_text_and_as_numbers() -> None:
    assert [number(v) for v in ("0.5", 3, None, "n/a", "")] == [0.5, 3.0, None, None, None]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({}, "messages"),
        ({"messages": [], "prompt": "x"}, "messages"),
        ({"prompt": "x", "kv_transfer_params": {}}, "kv_transfer_params"),
        ({"prompt": "x", "tools": []}, "tools"),
        ({"prompt": "x", "timeout": 0}, "timeout"),
        ({"prompt": "x", "cache_salt": "  "}, "cache_salt"),
        ({"prompt": "x", "priority": 2}, "priority"),
        ({"prompt": "x", "stream_options": {"include_usage": True}}, "stream_options"),
    ],
)
def test_a_bad_request_is_refused_here_and_names_its_field(arguments: dict[str, object], word: str) -> None:
    with pytest.raises(RequestRejected, match=word):
        parse(arguments, 0.0)


def test_fields_that_change_no_output_stay_here() -> None:
    request = parse(
        {"prompt": "x", "metadata": {"a": 1}, "store": True, "timeout": 2, "temperature": None}, 10.0
    )
    assert (request.params, request.deadline) == ({}, 12.0)


@pytest.mark.parametrize("url", ["ftp://x", "trtllm://", "local:", "host:8000"])
def test_a_url_that_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="url"):
        TensorRTLLM.connect(url)


def test_connect_does_no_input_or_output() -> None:
    for url in ("trtllm://nowhere.invalid", "triton://nowhere.invalid:1/m", "local:/no/such/model"):
        assert "not started" in repr(TensorRTLLM.connect(url))


tensors = st.lists(st.binary(max_size=300), min_size=1, max_size=4)


@example("ab", [b"x" * 200, b"w"], [b"y" * 20_000, b"z"], False, "")
@given(st.binary(max_size=200).map(bytes.hex), tensors, tensors, st.booleans(), st.text(max_size=5))
def test_a_response_read_by_its_beginning_is_the_response_parsed(
    id_: str, before: list[bytes], after: list[bytes], final: bool, error: str
) -> None:
    def response(contents: list[bytes], last: bool) -> bytes:
        message = service_pb2.ModelStreamInferResponse(error_message=error)
        inner = message.infer_response
        inner.model_name, inner.id, inner.raw_output_contents[:] = "llmapi", id_, contents
        inner.parameters["triton_final_response"].bool_param = last
        raw: bytes = message.SerializeToString()
        return raw

    repetition, first, second = Repetition(), response(before, False), response(after, final)
    assert repetition.first_tensor(first) is None
    repetition.learn(first, service_pb2.ModelStreamInferResponse.FromString(first).infer_response)
    assert repetition.first_tensor(second) == (None if final or error else after[0])


@given(st.binary(max_size=40))
def test_bytes_that_are_no_response_are_left_to_the_parser(garbage: bytes) -> None:
    assert Repetition().first_tensor(garbage) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0}, {"n": "two"}, {"n": True}, {"max_tokens": "x"}, {"priority": "x"}, {"priority": float("nan")},
        {"stream_options": 5, "stream": True}, {"session": []}, {"lane": {}}, {"model": []}, {"cache_salt": 5},
        {"timeout": 10**400}, {"timeout": True}, {"messages": "text"}, {"messages": [5]}, {"messages": []},
    ],
)  # fmt: skip
def test_a_field_of_another_form_is_refused_by_name_before_any_server_trips_over_it(
    wrong: dict[str, Any],
) -> None:
    with pytest.raises(RequestRejected, match=next(iter(wrong))):
        parse({"messages": [{"role": "user", "content": "x"}]} | wrong, 0.0)


@pytest.mark.parametrize("tokens", [0, -1])
def test_a_number_of_tokens_that_is_none_is_refused_before_triton_waits_for_ever(tokens: int) -> None:
    with pytest.raises(RequestRejected, match="max_tokens"):
        inputs_of(layout(), parse({"prompt": "x", "max_tokens": tokens}, 0.0), "x", 16)
