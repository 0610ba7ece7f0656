"""Of answers in forms of their own, as clients of other providers hand them out, it is read whether they ended well."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest
from reply_samples import as_object

from cachelayer.exact.answers.admission import admit, has_tool_calls, tokens_of
from cachelayer.exact.answers.usage import usage_of
from cachelayer.types import Reason


class Event(pydantic.BaseModel):
    """As the events of mistralai's client, which hold a chunk of OpenAI's form."""

    data: dict[str, Any]


def own_forms(end: str) -> list[Any]:
    """Answers as clients of other providers hand them out, and streams by their last events, which ended so."""
    delta = {"choices": [{"delta": {"content": "Ye"}, "finish_reason": end}]}
    return [
        {"candidates": [{"content": {"parts": [{"text": "Ye"}]}, "finish_reason": end}]},  # Gemini
        {"candidates": [{"content": {"parts": [{"text": "Ye"}]}, "finishReason": end}]},
        [
            {
                "candidates": [{"content": {"parts": [{"text": "Ye"}]}, "finish_reason": end}],
                "usage_metadata": {},
            }
        ],
        {
            "id": "1",
            "finish_reason": end,
            "message": {"role": "assistant", "content": [{"text": "Ye"}]},
        },  # Cohere
        [{"type": "content-end"}, {"type": "message-end", "delta": {"finish_reason": end}}],
        {"output": {"message": {"content": [{"text": "Ye"}]}}, "stopReason": end},  # Bedrock
        [
            {"contentBlockDelta": {"delta": {"text": "Ye"}}},
            {"messageStop": {"stopReason": end}},
            {"metadata": {}},
        ],
        {"response": "Ye", "done": True, "done_reason": end},  # Ollama
        [{"message": {"content": "Ye"}, "done": False}, {"message": {"content": ""}, "done_reason": end}],
        [{"type": "message_delta", "delta": {"stop_reason": end}}, {"type": "message_stop"}],  # Anthropic
        [Event(data=delta)],
    ]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("MAX_TOKENS", Reason.TRUNCATED), ("CONTINUATION", Reason.TRUNCATED), ("SAFETY", Reason.FILTERED),
        ("ESCALATION", Reason.FILTERED), ("PUP_LIMITED_DISABLED", Reason.FILTERED), ("refusal", Reason.REFUSED),
        ("USER_CANCEL", Reason.INCOMPLETE), ("STOP", None),
    ],
)  # fmt: skip
def test_answers_of_other_providers_in_their_own_forms_are_kept_only_if_they_ended_well(
    end: str, reason: Reason | None
) -> None:
    for answer in own_forms(end):
        for form in (answer, as_object(answer)):
            assert admit(form) is reason, form
            assert not has_tool_calls(form)


def gemini(**candidate: Any) -> dict[str, Any]:
    return {"candidates": [candidate], "usage_metadata": {"prompt_token_count": 3}}


SAID: list[tuple[Reason | None, Any]] = [
    (Reason.FILTERED, {"candidates": None, "prompt_feedback": {"block_reason": "SAFETY"}}),
    (Reason.FILTERED, {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 3}}),
    (Reason.FILTERED, [{"candidates": None, "prompt_feedback": {"block_reason": "JAILBREAK"}}]),
    (Reason.EMPTY_ANSWER, {"candidates": None, "prompt_feedback": None, "usage_metadata": {}}),
    (Reason.EMPTY_ANSWER, gemini(content=None, finish_reason="STOP")),
    (Reason.EMPTY_ANSWER, gemini(content={"role": "model", "parts": [{"text": ""}]}, finish_reason="STOP")),
    (Reason.FILTERED, gemini(content=None, finish_reason="IMAGE_PROHIBITED_CONTENT")),
    (Reason.INCOMPLETE, gemini(content=None, finish_reason="UNEXPECTED_TOOL_CALL")),
    (None, gemini(content={"parts": [{"function_call": {"name": "f"}}]}, finish_reason="STOP")),
    (None, gemini(content={"parts": [{"inline_data": {"data": b"png"}}]}, finish_reason="STOP")),
    (
        Reason.EMPTY_ANSWER,
        {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"},
    ),
    (None, {"output": {"message": {"content": [{"toolUse": {"name": "f"}}]}}, "stopReason": "tool_use"}),
    (
        Reason.EMPTY_ANSWER,
        {"id": "1", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": []}},
    ),
    (Reason.INCOMPLETE, {"text": "", "finish_reason": "TIMEOUT"}),
    (Reason.EMPTY_ANSWER, {"text": "", "finish_reason": "COMPLETE", "tool_calls": None}),
    (None, {"text": "", "finish_reason": "COMPLETE", "tool_calls": [{"name": "f", "parameters": {}}]}),
    (Reason.EMPTY_ANSWER, {"response": " ", "thinking": "so", "done": True, "done_reason": "stop"}),
    (Reason.EMPTY_ANSWER, {"message": {"role": "assistant", "content": ""}, "done_reason": "load"}),
    (None, {"message": {"content": "", "tool_calls": [{"function": {"name": "f"}}]}, "done_reason": "stop"}),
    (None, {"candidates": []}),  # of no model: a search that found nobody
]


@pytest.mark.parametrize(("reason", "answer"), SAID)
def test_answers_in_forms_of_their_own_that_say_nothing_are_not_kept(
    reason: Reason | None, answer: Any
) -> None:
    for form in (answer, as_object(answer)):
        assert admit(form) is reason


def test_tokens_are_counted_in_every_provider_s_words() -> None:
    gemini = {"prompt_token_count": 3, "cached_content_token_count": 1, "candidates_token_count": 2}
    wire = {
        "promptTokenCount": 3,
        "cachedContentTokenCount": 1,
        "candidatesTokenCount": 2,
        "totalTokenCount": 5,
    }
    bedrock = {"inputTokens": 3, "cacheReadInputTokens": 1, "outputTokens": 2}
    cohere = {"billed_units": {"input_tokens": 1.0}, "tokens": {"input_tokens": 3.0, "output_tokens": 2.0}}
    ollama = {"prompt_eval_count": 3, "eval_count": 2, "done": True}
    for cached, answer in (
        (1, {"usage_metadata": {**gemini, "total_token_count": 5}}),
        (1, {"usageMetadata": wire}),
        (1, {"usage": {**bedrock, "totalTokens": 5}}),
        (0, {"usage": cohere, "message": {"content": "Ye"}}),
        (0, {"text": "Ye", "finish_reason": "COMPLETE", "meta": cohere}),
        (0, [{"type": "content-end"}, {"type": "message-end", "delta": {"usage": cohere}}]),
        (0, [{"event_type": "stream-end", "response": {"finish_reason": "COMPLETE", "meta": cohere}}]),
        (0, {"message": {"content": "Ye"}, **ollama}),
        (0, [{"response": "Ye", "done": False}, {"response": "", **ollama}]),
    ):
        for form in (answer, as_object(answer)):
            assert (tokens_of(form), usage_of(form)) == (5, (3, cached, 2))


def test_tokens_are_counted_in_every_event_that_tells_of_them() -> None:
    began = {"input_tokens": 3, "cache_read_input_tokens": 1, "output_tokens": 1}
    total = {
        "input_tokens": 3,
        "output_tokens": 2,
        "total_tokens": 5,
        "input_tokens_details": {"cached_tokens": 1},
    }
    piece = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Ye"}}
    for ended in ({"output_tokens": 2}, {"input_tokens": None, "output_tokens": 2}):
        anthropic = [
            {"type": "message_start", "message": {"usage": began}},
            piece,
            {"delta": {}, "usage": ended},
        ]
        for form in (anthropic, as_object(anthropic)):
            assert (tokens_of(form), usage_of(form)) == (5, (3, 1, 2))
    responses = [
        {"type": "response.created", "response": {"usage": None}},
        piece,
        {"response": {"usage": total}},
    ]
    for form in (responses, as_object(responses)):
        assert (tokens_of(form), usage_of(form)) == (5, (3, 1, 2))


def test_a_field_that_is_only_named_like_a_finish_reason_is_none() -> None:
    for answer in ({"job": 1, "finish_reason": "length"}, [{"data": [{"stop": 1}], "stop_reason": "error"}]):
        assert admit(answer) is None
