"""Admission: what was refused, truncated, failed, empty or cut off is never kept."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from openai.types.chat import ChatCompletion
from reply_samples import CALL, COMPLETION, FORMS, STREAM, chunk, completion

from cachelayer.exact.answers.admission import admit, has_tool_calls, text_of, tokens_of
from cachelayer.types import Reason


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


@pytest.mark.parametrize(("end", "reason"), [
    (None, Reason.INCOMPLETE), ("abort", Reason.INCOMPLETE), ("insufficient_system_resource", Reason.INCOMPLETE),
    ("model_length", Reason.TRUNCATED), ("SAFETY", Reason.FILTERED), ("eos_token", None),
])  # fmt: skip
def test_a_reply_that_did_not_end_well_is_not_kept(end: str | None, reason: Reason | None) -> None:
    assert admit(completion(choice={"finish_reason": end})) is reason
    for last in ({}, {"content": ""}, {"content": "thin"}):
        stream = [chunk({"content": "Wi"}), chunk(last, end)]
        assert admit(stream) is reason
        assert admit([{"choices": one["choices"]} for one in stream]) is reason
    told = {"text": "Wi", "index": 0, "logprobs": None, "finish_reason": end}
    assert admit({"object": "text_completion", "choices": [told]}) is reason
    assert admit({"choices": [told]}) is reason


def test_a_completion_without_choices_is_not_kept() -> None:
    """As Google's server answers what it blocked, and the openai client reads it, which checks nothing."""
    told = {**COMPLETION, "choices": None}
    assert (
        admit(told) is Reason.EMPTY_ANSWER and admit(ChatCompletion.construct(**told)) is Reason.EMPTY_ANSWER
    )
    assert admit({"choices": None, "text": "of another kind"}) is None


@pytest.mark.parametrize("said", [{}, {"detail": "not found"}, {"status": "loading"}])
@pytest.mark.parametrize(
    "names",
    [
        (
            "id",
            "choices",
            "created",
            "model",
            "object",
            "usage",
        ),  # OpenAI's, groq's, together's, Hugging Face's
        ("id", "content", "role", "stop_reason", "usage"),  # Anthropic's
        ("id", "output", "status", "incomplete_details", "error"),  # OpenAI's responses
        ("id", "message", "finish_reason", "usage"),  # Cohere's
    ],
)
def test_what_a_client_makes_of_json_of_something_else_is_not_kept(names: Any, said: dict[str, Any]) -> None:
    """They check nothing of what a proxy says with status 200, and hand on an answer whose fields are null."""
    made = {**dict.fromkeys(names), **said}
    assert admit(made) is admit(SimpleNamespace(**made)) is Reason.EMPTY_ANSWER
    assert admit([SimpleNamespace(**made)]) is Reason.EMPTY_ANSWER  # streamed


def test_a_whole_reply_of_a_server_that_has_no_word_for_ends_is_kept() -> None:
    assert admit({"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}) is None


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"message": "overloaded", "type": "server_error", "code": 503}},
        {"error": "overloaded"},
        {**COMPLETION, "error": {"message": "lost", "code": 502}},
        {"object": "error", "message": "bad", "code": 400},
        {**COMPLETION, "choices": [{**COMPLETION["choices"][0], "error": {"message": "lost", "code": 502}}]},
        [*STREAM[:2], {"error": {"message": "lost", "type": "server_error"}}],
        [*STREAM[:2], {"error": {"message": "lost", "type": "server_error"}}, *STREAM[2:]],
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
