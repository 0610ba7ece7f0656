"""The wire form by itself: framing, merging, splitting, fresh identities, strict reading."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cachelayer.adapters.asgi.routes import Unreadable, parse
from cachelayer.adapters.openai_wire import (
    DONE,
    Framer,
    NotAnAnswer,
    body_of,
    chunks_in,
    chunks_of,
    event,
    events_in,
    freshen,
    marks_of,
    payloads,
    renewed,
    usual_marks,
)
from hypothesis import example, given
from hypothesis import strategies as st

texts = st.text(min_size=1, max_size=20)
ends = st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"])


@given(st.lists(st.tuples(texts, ends), max_size=8), st.data())
def test_events_survive_any_cut(told: list[tuple[str, bytes]], data: st.DataObject) -> None:
    whole = b"".join(b"data: " + json.dumps(t).encode() + end for t, end in told)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    framer = Framer()
    parts = [framer.feed(whole[a:b]) for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert b"".join(parts) + framer.rest() == whole
    assert [json.loads(p) for p in payloads(whole)] == [t for t, _ in told]
    assert [json.loads(p) for part in parts for p in payloads(part)] == [t for t, _ in told]
    assert b"".join(events_in(whole)) == whole and len(list(events_in(whole))) == len(told)


calls = st.fixed_dictionaries(
    {
        "id": texts,
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": texts, "arguments": texts}),
    }
)
said = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": texts},
    optional={"reasoning_content": texts, "refusal": st.none(), "tool_calls": st.lists(calls, min_size=1, max_size=3)},
)  # fmt: skip
logprobs = st.none() | st.builds(
    lambda t: {"content": [{"token": t, "logprob": -1.0}], "refusal": None}, texts
)
choices = st.lists(
    st.fixed_dictionaries(
        {"message": said, "logprobs": logprobs, "finish_reason": st.sampled_from(["stop", "tool_calls"])}
    ),
    min_size=1,
    max_size=3,
)


def in_pieces(chunk: Any, size: int) -> list[Any]:
    """The same, with text of at most so many characters a chunk."""
    for choice in chunk["choices"]:
        for name, text in choice["delta"].items():
            if isinstance(text, str) and len(text) > size and name != "role":
                first, rest = ({**choice, "delta": {name: part}} for part in (text[:size], text[size:]))
                rest["logprobs"] = None
                return [{**chunk, "choices": [first]}, *in_pieces({**chunk, "choices": [rest]}, size)]
    return [chunk]


@given(choices, st.booleans(), st.integers(1, 4))
def test_a_whole_answer_is_what_its_stream_adds_up_to(made: Any, usage: bool, size: int) -> None:
    listed = [{"index": i, **choice} for i, choice in enumerate(made)]
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": listed,
            "usage": {"total_tokens": 3}}  # fmt: skip
    chunks = list(chunks_of(body, usage=usage))
    again = body_of(part for chunk in json.loads(json.dumps(chunks)) for part in in_pieces(chunk, size))
    if not usage:
        del body["usage"]
    for one in (again, body):
        for choice in one["choices"]:  # type: ignore[attr-defined]
            choice["message"].pop("refusal", None)
    assert again == body
    assert all(("usage" in chunk) is usage for chunk in chunks)


@given(texts, st.integers(0, 2**40), st.dictionaries(texts, texts), st.booleans())
def test_a_fresh_identity_changes_nothing_else(name: str, created: int, rest: Any, spaced: bool) -> None:
    body = {
        **{k: v for k, v in rest.items() if k not in ("id", "created")},
        "id": name,
        "created": created,
        "z": 1,
    }
    raw = json.dumps(body, ensure_ascii=False, separators=(", ", ": ") if spaced else (",", ":")).encode()
    marks = marks_of(raw, body)
    assert usual_marks(raw) in (None, marks)
    fresh = json.loads(freshen(raw, marks, renewed(marks, 5.0)))
    assert {**fresh, "id": name, "created": created} == body
    if marks.id:
        assert fresh["id"] != name and fresh["created"] == 5


@given(
    texts,
    st.from_regex(r"(chatcmpl-|cmpl_|)[A-Za-z0-9_-]*", fullmatch=True),
    st.integers(0, 2**40),
    st.booleans(),
)
def test_the_usual_beginning_is_read_as_a_parser_reads_it(
    say: str, name: str, created: int, spaced: bool
) -> None:
    body = {"id": name, "object": "chat.completion", "created": created, "choices": [{"text": say}]}
    raw = json.dumps(body, separators=(", ", ": ") if spaced else (",", ":")).encode()
    usual, read = usual_marks(raw), marks_of(raw, body)
    assert usual == (read if name else None)
    assert bool(read.id) is bool(name)  # what is empty stands for nothing, wherever else it stands


def test_a_name_inside_a_text_is_no_identity() -> None:
    said = '"id":"chatcmpl-1","created":7,'
    body = {"id": "chatcmpl-1", "created": 7, "choices": [{"text": said}]}
    raw = json.dumps(body, separators=(",", ":")).encode()
    marks = marks_of(raw, body)
    fresh = json.loads(freshen(raw, marks, renewed(marks, 9.0)))
    assert (
        fresh["choices"][0]["text"] == said and fresh["id"].startswith("chatcmpl-") and fresh["created"] == 9
    )


@pytest.mark.parametrize(
    "stream", [b"", event(b"{}"), DONE + event(b"{}"), event(b"{") + DONE, event(b"[1]") + DONE]
)
def test_what_did_not_end_with_done_is_no_answer(stream: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        chunks_in(stream)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("rest", "whole"),
    [
        (b"", True), (b": ping", True), (b"data: [DONE]", True), (b"data: [DONE]\n", True),
        (b'data: {"choices":[],"usage":{"total_tok', False), (b"dat", False), (b"data: [DO", False),
        (b"data: {}", False), (b"data: {}\n", False),
    ],
)  # fmt: skip
def test_a_stream_without_done_is_no_answer_where_its_last_event_is_cut_off(
    newline: bytes, rest: bytes, whole: bool
) -> None:
    ended = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    stream = (ended + rest).replace(b"\n", newline)
    if whole:
        assert len(chunks_in(stream)) == 1
    else:
        with pytest.raises(NotAnAnswer):
            chunks_in(stream)


@pytest.mark.parametrize("field", ["event: error", "event:error", "error: {}", "event: ping"])
@pytest.mark.parametrize(
    "data", ['data: {"message":"overloaded","code":500}', 'data: {"code":500}\ndata:', ": none"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_reports_an_error_after_its_finish_reason_is_no_answer(
    field: str, data: str, newline: str
) -> None:
    ended = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    for lines in ([field, data], [data, field]):
        stream = ended + newline.join([*lines, "", ""]).encode() + DONE
        if field == "event: ping":
            assert chunks_in(stream)
        else:
            with pytest.raises(NotAnAnswer):
                chunks_in(stream)


@pytest.mark.parametrize(("body", "why"), [
    (b'{"a":1,"a":2}', "twice"), (b'{"a":{"b":1,"b":1}}', "twice"), (b"{", "invalid"), (b"[1]", "object"),
    (b'{"a":NaN}', "NaN"), (b'{"seed":18446744073709551617}', "64 bits"), (b'{"cachelayer_x":1}', "cachelayer_"),
    (b"[" * 60_000, "invalid"), (b"[" * 100_000, "too many"), (b"\xff\xfe", "invalid"), (b"", "invalid"),
])  # fmt: skip
def test_a_body_that_two_parsers_may_read_differently_is_not_cached(body: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        parse(body)


_lines = st.lists(
    st.sampled_from([
        b'data: {"a":1}', b'data: {"a":"\\n\\ndata: "}', b"data: {}", b'data: {"a":[1', b"data: 2]}", b"data: {},{}",
        b"data: {}],[{}", b"data: [DONE]",
        b"data: [1]", b"", b": hello", b"event: x", b"data:{}", b"data: 1",
    ])
)  # fmt: skip


def _chunks(stream: bytes) -> Any:
    try:
        return chunks_in(stream)
    except NotAnAnswer:
        return None


@given(_lines, st.sampled_from([b"\n\n", b"\n", b"\r\n\r\n"]))
@example([b'data: {"a":[1', b"data: 2]}", b"data: {},{}"], b"\n\n")
@example([b'data: {"a":[[1', b"data: 2]]}", b"data: {},{}"], b"\n\n")
@example([b'data: {"a":[[1', b"data: 2]]}", b"data: {}],[{}"], b"\n\n")
def test_a_stream_is_read_in_one_go_as_it_is_event_by_event(lines: list[bytes], end: bytes) -> None:
    stream = end.join(lines) + end + DONE
    in_one_go, one_by_one = _chunks(stream), _chunks(b": a comment first\n\n" + stream)
    assert in_one_go == one_by_one


def test_a_byte_order_mark_is_no_part_of_the_first_event() -> None:
    assert [*payloads(b"\xef\xbb\xbfdata: x\n\n")] == [b"x"]


def test_without_done_each_choice_has_to_say_why_it_ended() -> None:
    ends = [{"index": 0, "finish_reason": "stop"}, {"index": 1, "finish_reason": None}]
    with pytest.raises(NotAnAnswer, match="every choice"):
        chunks_in(event(json.dumps({"choices": ends}).encode()))
