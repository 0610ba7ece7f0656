"""Admission: what was refused, truncated, failed, empty or cut off is never kept."""

from __future__ import annotations

import copy
import dataclasses
import enum
import types
from typing import Any

import numpy as np
import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from cachelayer.exact.admission import admit, has_tool_calls, text_of, tokens_of
from cachelayer.exact.replies import ordinary, read
from cachelayer.types import Reason

COMPLETION: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Within 30 days."},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
}
CALL = {"id": "t1", "type": "function", "function": {"name": "find", "arguments": '{"b": 1, "a": 2}'}}


def completion(*, choice: dict[str, Any] | None = None, **message: Any) -> dict[str, Any]:
    body = copy.deepcopy(COMPLETION)
    body["choices"][0].update(choice or {})
    body["choices"][0]["message"].update(message)
    return body


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }


STREAM = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Within "}),
    chunk({"content": "30 days."}),
    chunk({}, "stop"),
    chunk(None, usage={"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}),
]


def as_model(body: Any) -> Any:
    if isinstance(body, list):
        return [ChatCompletionChunk.model_validate(c) for c in body]
    return ChatCompletion.model_validate(body)


def as_object(body: Any) -> Any:
    if isinstance(body, dict):
        return types.SimpleNamespace(**{k: as_object(v) for k, v in body.items()})
    return [as_object(x) for x in body] if isinstance(body, list) else body


FORMS = pytest.mark.parametrize("form", [lambda b: b, as_model, as_object], ids=["dict", "openai", "object"])


@FORMS
@pytest.mark.parametrize("body", [COMPLETION, STREAM], ids=["whole", "stream"])
def test_a_complete_reply_is_kept_and_read(body: Any, form: Any) -> None:
    answer = form(body)
    assert admit(answer) is None
    assert text_of(answer) == "Within 30 days."
    assert tokens_of(answer) == 12
    assert not has_tool_calls(answer)


@FORMS
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (completion(choice={"finish_reason": "content_filter"}), Reason.FILTERED),
        (completion(choice={"finish_reason": "length"}), Reason.TRUNCATED),
        (completion(refusal="I cannot help with that.", content=None), Reason.REFUSED),
        (completion(refusal="No.", content="No."), Reason.REFUSED),
        (completion(content=None), Reason.EMPTY_ANSWER),
        (completion(content=" \n"), Reason.EMPTY_ANSWER),
        ({**COMPLETION, "choices": []}, Reason.EMPTY_ANSWER),
        (STREAM[:-2], Reason.INCOMPLETE),
        (STREAM[:1], Reason.INCOMPLETE),
        ([chunk({"content": "Wi"}), chunk({}, "length")], Reason.TRUNCATED),
        ([chunk({"content": "Wi"}), chunk({}, "content_filter")], Reason.FILTERED),
        ([chunk({"refusal": "I "}), chunk({"refusal": "cannot"}), chunk({}, "stop")], Reason.REFUSED),
        ([chunk({"content": ""}), chunk({}, "stop")], Reason.EMPTY_ANSWER),
    ],
)
def test_a_spoiled_reply_is_not_kept(body: Any, reason: Reason, form: Any) -> None:
    assert admit(form(body)) is reason


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"message": "overloaded", "type": "server_error", "code": 503}},
        {"error": "overloaded"},
        {**COMPLETION, "error": {"message": "lost", "code": 502}},
        {"object": "error", "message": "bad", "code": 400},
        [*STREAM[:2], {"error": {"message": "lost", "type": "server_error"}}],
        ValueError("returned, not raised"),
        {"object": "response", "status": "failed", "output": [], "error": {"code": "server_error"}},
    ],
)
def test_errors_are_not_kept(answer: Any) -> None:
    assert admit(answer) is Reason.ERROR


def test_a_truncated_reply_is_kept_by_choice() -> None:
    answer = completion(choice={"finish_reason": "length"})
    assert admit(answer, truncated_ok=True) is None
    assert admit(completion(choice={"finish_reason": "content_filter"}), truncated_ok=True) is Reason.FILTERED


def test_one_spoiled_choice_spoils_the_reply() -> None:
    answer = completion()
    bad = {"index": 1, "message": {"role": "assistant", "content": "x"}, "finish_reason": "content_filter"}
    answer["choices"].append(bad)
    assert admit(answer) is Reason.FILTERED


def test_one_unfinished_choice_makes_a_stream_incomplete() -> None:
    late = chunk({"content": "x"})
    late["choices"][0]["index"] = 1
    assert admit([*STREAM, late]) is Reason.INCOMPLETE


@pytest.mark.parametrize(
    "answer", [None, "", "  \n", b"", [], {}, (), set(), np.zeros((0, 4)), ["", " "], [None], bytearray()]
)
def test_empty_answers_are_not_kept(answer: Any) -> None:
    assert admit(answer) is Reason.EMPTY_ANSWER


@dataclasses.dataclass
class Result:
    choices: list[str]
    error: float = 0.1


class Hostile:
    """Every attribute it is asked for fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    "answer",
    [
        0,
        False,
        0.0,
        "no",
        [0],
        [""" """, "x"],
        {"choices": ["a", "b"], "question": "?"},
        {"error": 0.02, "score": 1},
        {"error": None, "result": 1},
        {"error": {"mean": 0.1}},
        {"role": "admin", "name": ""},
        {"finish_reason": "length"},
        [{"role": "user", "content": ""}],
        {"object": "list", "data": [{"embedding": [0.1]}], "usage": {"total_tokens": 3}},
        np.zeros(3),
        Result(["a"]),
        Hostile(),
        object(),
    ],
    ids=repr,
)
def test_answers_of_other_kinds_are_left_alone(answer: Any) -> None:
    assert admit(answer) is None
    assert not has_tool_calls(answer)


@FORMS
def test_tool_calls_are_seen_whole_and_in_pieces(form: Any) -> None:
    whole = form(completion(content=None, tool_calls=[CALL], choice={"finish_reason": "tool_calls"}))
    pieces = form(
        [
            chunk(
                {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "find", "arguments": '{"b": '}}]}
            ),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": '1, "a": 2}'}}]}),
            chunk({}, "tool_calls"),
        ]
    )
    for answer in (whole, pieces):
        assert admit(answer) is None
        assert has_tool_calls(answer)
        assert text_of(answer) == '[["find",{"a":2,"b":1}]]'


class AIMessage(pydantic.BaseModel):
    """As LangChain's."""

    type: str = "ai"
    content: Any = ""
    additional_kwargs: dict[str, Any] = {}
    response_metadata: dict[str, Any] = {}
    tool_calls: list[Any] = []
    usage_metadata: dict[str, int] | None = None


def test_messages_of_other_libraries() -> None:
    message = AIMessage(
        content="Yes.", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    )
    assert admit(message) is None and text_of(message) == "Yes." and tokens_of(message) == 3
    cut = AIMessage(content="Ye", response_metadata={"finish_reason": "length"})
    assert admit(cut) is Reason.TRUNCATED
    assert admit(AIMessage(content="")) is Reason.EMPTY_ANSWER
    assert has_tool_calls(AIMessage(tool_calls=[{"name": "f", "args": {}}]))
    parts = [AIMessage(type="AIMessageChunk", content=c) for c in ("Ye", "s.")]
    assert admit(parts) is None and text_of(parts) == "Yes."
    anthropic = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Yes."}, {"type": "tool_use", "name": "f", "input": {}}],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 2, "output_tokens": 3},
    }
    assert admit(anthropic) is Reason.TRUNCATED and tokens_of(anthropic) == 5 and has_tool_calls(anthropic)


def test_langchain_s_own_classes() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    from langchain_core import outputs

    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    good = messages.AIMessage("Yes.", response_metadata={"finish_reason": "stop"}, usage_metadata=usage)
    cut = messages.AIMessage("Ye", response_metadata={"finish_reason": "length"})
    for wrap in (
        lambda m: m,
        lambda m: [outputs.ChatGeneration(message=m)],
        lambda m: outputs.ChatResult(generations=[outputs.ChatGeneration(message=m)]),
        lambda m: outputs.LLMResult(generations=[[outputs.ChatGeneration(message=m)]]),
    ):
        assert admit(wrap(good)) is None and text_of(wrap(good)) == "Yes." and tokens_of(wrap(good)) == 3
        assert admit(wrap(cut)) is Reason.TRUNCATED
        assert admit(wrap(messages.AIMessage(""))) is Reason.EMPTY_ANSWER
    text = [outputs.Generation(text="Ye", generation_info={"finish_reason": "length"})]
    assert admit(text) is Reason.TRUNCATED and admit([outputs.Generation(text="Yes.")]) is None
    result = outputs.LLMResult(generations=[text], llm_output={"token_usage": {"total_tokens": 9}})
    assert tokens_of(result) == 9


def test_responses_bodies() -> None:
    body: dict[str, Any] = {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        ],
        "usage": {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5},
    }
    assert admit(body) is None and text_of(body) == "Yes." and tokens_of(body) == 5
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert admit({**body, **cut}) is Reason.TRUNCATED
    assert admit({**body, "status": "in_progress"}) is Reason.INCOMPLETE
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    assert admit({**body, "output": [refusal]}) is Reason.REFUSED


class Mood(enum.StrEnum):
    GOOD = "good"


def test_text_of_labels_numbers_and_structures_is_canonical() -> None:
    assert text_of("x") == text_of(["x"]) == "x"
    assert text_of(Mood.GOOD) == "good"
    assert (
        text_of({"b": 1, "a": [True, None]})
        == text_of({"a": [True, None], "b": 1})
        == '{"a":[true,null],"b":1}'
    )
    assert text_of(1.5) == "1.5"
    assert text_of({3, 1, 2}) == "[1,2,3]"
    assert text_of(None) is text_of(b"\xff") is text_of(object()) is None
    assert text_of([[0.5] * 100_000]) is None
    assert (
        text_of(AIMessage(content="a", tool_calls=[{"name": "f", "args": {"x": 1}}])) == 'a\n[["f",{"x":1}]]'
    )


FIELDS = (
    "choices message delta content error usage object role text tool_calls finish_reason refusal "
    "total_tokens index generations output status type function stop_reason response_metadata"
).split()
WORDS = [
    "chat.completion",
    "response",
    "assistant",
    "chat.completion.chunk",
    "length",
    "message",
    "incomplete",
]


class Sulky:
    """Cannot be compared, measured or asked whether it is true."""

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __len__(self) -> int:
        raise RuntimeError("len")

    __hash__ = None  # type: ignore[assignment]


ANYTHING = st.recursive(
    st.builds(Sulky)
    | st.just(np.zeros(3))
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner | st.sampled_from(WORDS)),
    max_leaves=8,
)


CHOICE = st.fixed_dictionaries(
    {"finish_reason": st.sampled_from(["stop", "length", None]) | ANYTHING},
    optional={
        "message": st.fixed_dictionaries(
            {"content": st.sampled_from(["Yes.", " ", None]) | ANYTHING},
            optional={"refusal": ANYTHING, "tool_calls": ANYTHING, "audio": ANYTHING},
        ),
        "delta": ANYTHING,
    },
)
REPLY = st.fixed_dictionaries({"choices": st.lists(CHOICE)}, optional={"error": ANYTHING, "usage": ANYTHING})


@settings(max_examples=150, deadline=None)
@given(ANYTHING | REPLY | REPLY.map(as_object) | st.lists(REPLY))
@example({"usage": Sulky(), "choices": [{"message": {"tool_calls": Sulky(), "content": Sulky()}}]})
def test_no_answer_makes_admission_raise(answer: Any) -> None:
    assert admit(answer) is None or isinstance(admit(answer), Reason)
    assert tokens_of(answer) >= 0
    if ordinary(answer):
        reply = read(answer)
        assert reply is not None and set(reply.ends.values()) == {"stop"}
        assert not (reply.refused or reply.failed or reply.streamed or reply.blank)
    assert isinstance(has_tool_calls(answer), bool)
    assert text_of(answer) is None or isinstance(text_of(answer), str)


@given(st.text(min_size=1), st.integers(1, 5))
def test_text_does_not_depend_on_how_a_stream_was_cut(text: str, n: int) -> None:
    step = max(1, len(text) // n)
    pieces = [text[i : i + step] for i in range(0, len(text), step)]
    chunks = [chunk({"content": piece}) for piece in pieces]
    assert text_of(pieces) == text_of([*chunks, chunk({}, "stop")]) == text
