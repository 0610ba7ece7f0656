"""Admission reads replies of other libraries and refuses none with an error of its own."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reply_samples import as_object, chunk

from cachelayer.exact.answers.admission import admit, has_tool_calls, text_of, tokens_of
from cachelayer.exact.answers.reply_reader import ordinary, read
from cachelayer.types import Reason


class AIMessage(pydantic.BaseModel):
    """As LangChain's."""

    type: str = "ai"
    content: Any = ""
    additional_kwargs: dict[str, Any] = {}
    response_metadata: dict[str, Any] = {}
    tool_calls: list[Any] = []
    usage_metadata: dict[str, int] | None = None


ENDS = [
    ("finish_reason", "STOP", None), ("finish_reason", "COMPLETE", None), ("done_reason", "stop", None),
    ("finish_reason", "MAX_TOKENS", Reason.TRUNCATED), ("done_reason", "length", Reason.TRUNCATED),
    ("stopReason", "max_tokens", Reason.TRUNCATED), ("finish_reason", "SAFETY", Reason.FILTERED),
    ("stopReason", "guardrail_intervened", Reason.FILTERED), ("finish_reason", "ERROR", Reason.INCOMPLETE),
]  # fmt: skip
"""Why answers ended, as Gemini, Cohere, Ollama and Bedrock put it behind LangChain."""


def test_messages_of_other_libraries_are_kept_only_if_they_are_complete() -> None:
    message = AIMessage(
        content="Yes.", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    )
    assert admit(message) is None and text_of(message) == "Yes." and tokens_of(message) == 3
    cut = AIMessage(content="Ye", response_metadata={"finish_reason": "length"})
    assert admit(cut) is Reason.TRUNCATED
    for name, end, reason in ENDS:
        assert admit(AIMessage(content="Ye", response_metadata={name: end})) is reason, end
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


class Unset(pydantic.BaseModel):
    """As the word of mistralai's client for none."""


def test_a_client_s_word_for_none_is_neither_a_tool_call_nor_a_refusal() -> None:
    """It was taken for a call without a name, and no rewording was served such an answer."""
    none = {name: Unset() for name in ("tool_calls", "refusal", "audio")}
    answer = {"choices": [{"message": {"content": "Yes.", **none}, "finish_reason": "stop"}]}
    assert admit(answer) is None and not has_tool_calls(answer) and text_of(answer) == "Yes."


def test_langchain_s_own_classes_are_kept_only_if_they_are_complete() -> None:
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


def test_a_body_of_the_responses_api_is_kept_only_if_it_is_complete() -> None:
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
    for why, reason in {
        "max_output_tokens": Reason.TRUNCATED, "content_filter": Reason.FILTERED, "max_messages": Reason.INCOMPLETE,
        "steered": Reason.INCOMPLETE, None: Reason.TRUNCATED,
    }.items():  # fmt: skip
        assert admit({**body, "status": "incomplete", "incomplete_details": {"reason": why}}) is reason
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
@example({"choices": [{"finish_reason": "stop", "message": {"content": "Yes."}}]})
@example({"usage": Sulky(), "choices": [{"message": {"tool_calls": Sulky(), "content": Sulky()}}]})
def test_no_answer_makes_admission_raise(answer: Any) -> None:
    assert admit(answer) is None or isinstance(admit(answer), Reason)
    assert tokens_of(answer) >= 0
    if ordinary(answer):
        reply = read(answer)
        assert reply is not None and set(reply.ends.values()) == {"stop"}
        assert not (reply.refused or reply.failed or reply.blank)
    assert isinstance(has_tool_calls(answer), bool)
    assert text_of(answer) is None or isinstance(text_of(answer), str)


@given(st.text(min_size=1), st.integers(1, 5))
def test_text_does_not_depend_on_how_a_stream_was_cut(text: str, n: int) -> None:
    step = max(1, len(text) // n)
    pieces = [text[i : i + step] for i in range(0, len(text), step)]
    chunks = [chunk({"content": piece}) for piece in pieces]
    assert text_of(pieces) == text_of([*chunks, chunk({}, "stop")]) == text


class _Other(dict[str, Any]):
    """A dict that is read field by field, as objects are."""


_values = st.sampled_from(
    [None, "", "word", [], ["x"], [{"type": "refusal"}], [{"function": {"name": "f"}}], 1]
)


def _but(plain: dict[str, Any], **others: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """What is plain but for one of its fields."""
    changes = [st.tuples(st.just(name), value) for name, value in others.items()]
    return st.just(plain) | st.one_of(changes).map(lambda change: {**plain, change[0]: change[1]})


_deltas = _but(
    {"content": "word"}, content=_values, role=_values, refusal=_values, tool_calls=_values, audio=_values
)
_choices = _deltas.flatmap(
    lambda delta: _but(
        {"index": 0, "delta": delta, "finish_reason": None},
        delta=st.sampled_from([None, "x", {}]), index=st.sampled_from([0, 1, None, True, "0"]),
        message=_deltas | st.none(), finish_reason=st.sampled_from([None, "", "stop", "length", 7]),
    )
)  # fmt: skip
_streamed = st.lists(
    st.lists(_choices, max_size=2).flatmap(
        lambda choices: _but(
            {"object": "chat.completion.chunk", "choices": choices}, object=st.sampled_from(["error", "", 5]),
            error=st.sampled_from([None, "", "bad", {"code": 1}]), choices=st.none(),
            usage=st.sampled_from([None, {"total_tokens": 5}, {}]), usage_metadata=st.just({"input_tokens": 2}),
        )
    ),
    max_size=4,
)  # fmt: skip


@settings(max_examples=400)
@given(_streamed)
def test_a_stream_s_plain_chunks_are_read_as_all_others_are(chunks: list[dict[str, Any]]) -> None:
    assert read(chunks) == read([_Other(chunk) for chunk in chunks])
