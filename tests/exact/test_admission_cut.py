"""A stream in a provider's own form, of which the end never came, is no answer, though nothing in it says so."""

from __future__ import annotations

from typing import Any

import pytest
from reply_samples import as_object

from cachelayer.exact.answers.admission import admit, has_tool_calls, text_of
from cachelayer.types import Reason


def gemini(**more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": "Ye"}]}, **more}]}


def ollama(**more: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": "2026", "message": {"role": "assistant", "content": "Ye"}, **more}


def responding(status: str, output: list[Any], **more: Any) -> dict[str, Any]:
    whole = {"object": "response", "status": status, "output": output, **more}
    return {"type": f"response.{'created' if status == 'in_progress' else status}", "response": whole}


BEGUN = responding("in_progress", [])
SAID = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}]
CALLED = [{"type": "function_call", "name": "f", "arguments": "{}"}]
DELTA = {"type": "response.output_text.delta", "delta": "Ye"}
CUT: list[list[Any]] = [
    [{"type": "message_start", "message": {"stop_reason": None}}, {"type": "content_block_stop", "index": 0}],
    [{"type": "message-start", "id": "1"}, {"type": "content-delta", "delta": {"message": {}}}],
    [{"event_type": "stream-start"}, {"event_type": "text-generation", "text": "Ye"}],
    [{"messageStart": {"role": "assistant"}}, {"contentBlockDelta": {"delta": {"text": "Ye"}}}],
    [gemini(), gemini(finish_reason=None)],
    [{"data": {"choices": [{"delta": {"content": "Ye"}, "finish_reason": None}]}}],  # Mistral
    [ollama(done=False), ollama(done=False)],
    [BEGUN, DELTA],
    [BEGUN, {"type": "error", "message": "no"}],
]


@pytest.mark.parametrize("form", [lambda answer: answer, as_object], ids=["plain", "objects"])
@pytest.mark.parametrize("events", CUT)
def test_a_stream_whose_end_never_came_is_not_kept(events: list[Any], form: Any) -> None:
    assert admit(form(events)) is Reason.INCOMPLETE
    assert admit(form([*events[:1], *events[1:] * 40])) is Reason.INCOMPLETE


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (responding("completed", SAID), None),
        (responding("completed", []), Reason.EMPTY_ANSWER),
        (responding("failed", SAID), Reason.ERROR),
        (
            responding("incomplete", SAID, incomplete_details={"reason": "max_output_tokens"}),
            Reason.TRUNCATED,
        ),
    ],
)
def test_a_stream_of_the_responses_api_is_what_its_last_event_says(end: Any, reason: Reason | None) -> None:
    assert admit([BEGUN, DELTA, end]) is reason
    assert reason is not None or text_of([BEGUN, DELTA, end]) == "Yes."
    assert has_tool_calls([BEGUN, responding("completed", CALLED)])


@pytest.mark.parametrize(
    "answer",
    [
        [ollama(done=False), ollama(done=True)],  # as its older versions end
        [{"candidates": [{"name": "Ann"}]}, {"candidates": []}],
        [{"message": "water the plants", "done": False}],
        [{"data": {"choices": ["red", "blue"]}}],
        [{"type": "message", "text": "hi"}],
        [0.5, 0.25],
    ],
)
def test_other_lists_are_kept(answer: list[Any]) -> None:
    assert admit(answer) is None
