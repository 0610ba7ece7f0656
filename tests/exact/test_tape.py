"""Streams kept as what differs from chunk to chunk: handed out as they were, and read as they say."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from answer_samples import FREEZER, same
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cachelayer.exact.answers.admission import admit, text_of
from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.answers.joining import joined
from cachelayer.exact.answers.reply_reader import read
from cachelayer.exact.answers.tape import Run, Tape, packed, played

LONG = "a name long enough for likeness to be looked for " * 4


def chunk(content: Any, **more: Any) -> dict[str, Any]:
    """A chunk of an OpenAI chat stream; `more` of its delta, or of its choice where that has such a field."""
    choice = {"index": 0, "logprobs": None, "finish_reason": None}
    own = {name: more.pop(name) for name in [*more] if name in choice}
    delta = {"content": content, **more}
    return {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "some-model-of-2026-11",
        "system_fingerprint": "fp_0123456789",
        "choices": [{**choice, "delta": delta, **own}],
    }


def event(of: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(of).encode() + b"\n\n"


def kept(chunks: list[Any]) -> tuple[Any, int]:
    return packed([*map(Tape(FREEZER.freeze).freeze, chunks)])


def short(chunks: list[Any], joins: Callable[..., Any] = joined) -> list[Any]:
    """Chunks as they are read."""
    made: list[Any] = []
    for part in kept(chunks)[0]:
        one = joins(part.mould, part.leaves) if type(part) is Run else None
        made += [one] if one is not None else played([part])
    return made


odd = st.sampled_from([True, 1, 1.0, 0, False, 0.0, -0.0, None, "", "1", b"1", (1, 2), [1], float("nan")])
words = st.text(max_size=6) | odd
like = st.builds(
    lambda a, b, c, made: made(a, b, c),
    words,
    words,
    st.sampled_from([0, 1, True, False, 0.0, -0.0, None]),
    st.sampled_from([
        lambda a, b, c: {"a": a, "b": LONG, "c": {"d": LONG, "e": c}},
        lambda a, b, c: {"a": LONG, "b": b, "c": [LONG, a]},
        lambda a, b, c: (LONG, b, a),
        lambda a, b, c: event(chunk(repr(a), index=repr(c))),
        lambda a, b, c: event(chunk(repr(a), obfuscation=repr(b))).decode(),
        lambda a, b, c: f'{LONG}"{a}',
        lambda a, b, c: a,
    ]),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(like, max_size=12))
@example([{"a": LONG, "b": x, "c": f"{i}"} for i, x in enumerate((1, 1, True, 1.0, 1))])
@example([{"a": LONG, "b": x, "c": f"{i}"} for i, x in enumerate((0.0, 0.0, -0.0))])
@example(
    [{"a": a, "b": LONG, "c": c} for a, c in (("x", "same"), ("y", "same"), ("z", "other"), ("z", "same"))]
)
@example(
    [{"c": c, "b": LONG, "a": a} for a, c in (("x", "same"), ("y", "same"), ("z", "other"), ("z", "same"))]
)
@example([f'{LONG}"a', f'{LONG}"b', f'{LONG}"c'.encode(), f'{LONG}"d"'.encode(), f'{LONG}"e'])
def test_every_chunk_comes_back_as_it_was_to_the_last_type(chunks: list[Any]) -> None:
    played_back = [*played(kept(chunks)[0])]
    assert len(played_back) == len(chunks) and all(map(same, played_back, chunks))


def test_what_a_reader_does_to_a_chunk_changes_no_other_one() -> None:
    parts, _ = kept([chunk(f" word{i}") for i in range(9)])
    for one in played(parts):
        one["choices"][0]["delta"]["content"] = "spoilt"
    assert [one["choices"][0]["delta"]["content"] for one in played(parts)] == [f" word{i}" for i in range(9)]


@pytest.mark.parametrize("made", [chunk, lambda word: event(chunk(word))])
def test_a_stream_of_words_takes_a_fraction_of_its_chunks_and_is_weighed_truly(made: Any) -> None:
    tape, chunks = Tape(FREEZER.freeze), [made(f" word{i}") for i in range(4_000)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    parts, nbytes = packed([tape.freeze(made(f" word{i}")) for i in range(4_000)])
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert [*played(parts)] == chunks and 0.7 * held < nbytes < 1.4 * held
    assert nbytes * 5 < sum(8 + FREEZER.freeze(one).nbytes for one in chunks)


def test_turns_of_several_choices_and_a_clock_that_ticks_are_learned_anew() -> None:
    several = [event(chunk(f" word{i}", index=i % 3)) for i in range(600)]
    ticking = [{**chunk(f" word{i}"), "created": 1_700_000_000 + i // 50} for i in range(600)]
    for chunks in (several, [*map(event, ticking)]):
        parts, nbytes = kept(chunks)
        assert [*played(parts)] == chunks and nbytes < sum(map(len, chunks)) / 1.5


@pytest.mark.parametrize("size", [300, 100_000])
def test_what_is_like_nothing_or_large_is_kept_as_it_is(size: int) -> None:
    chunks = [(f"{i}" * size, f"{-i}" * size) if size < 1_000 else f'{i}"' + "x" * size for i in range(50)]
    parts, _ = kept(chunks)
    assert [*played(parts)] == chunks and not any(type(part) is Run for part in parts)


END = chunk(None, finish_reason="stop")
STREAMS: dict[str, list[dict[str, Any]]] = {
    "words": [chunk("", role="assistant"), *[chunk(f" word{i}") for i in range(50)], END],
    "thoughts": [*[chunk(None, reasoning_content=f" hm{i}") for i in range(50)], chunk(" so"), END],
    "only thoughts": [*[chunk(None, reasoning_content=f" hm{i}") for i in range(50)], END],
    "a call": [
        chunk(None, tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]),
        *[chunk(None, tool_calls=[{"index": 0, "function": {"arguments": f"{i}"}}]) for i in range(50)],
        chunk(None, finish_reason="tool_calls"),
    ],
    "names in pieces": [
        *[chunk(None, tool_calls=[{"index": 0, "function": {"name": f"{i}"}}]) for i in range(9)],
        chunk(None, finish_reason="tool_calls"),
    ],
    "a call that is named again": [
        *[
            chunk(None, tool_calls=[{"index": 0, "function": {"name": "f", "arguments": f"{i}"}}])
            for i in range(9)
        ],
        chunk(None, finish_reason="tool_calls"),
    ],
    "bare ends": [chunk("a"), *[chunk(None, finish_reason=f"{why}") for why in ("stop", "length", "stop")]],
    "ends that differ": [chunk("a", finish_reason=why) for why in ("stop", "content_filter", "length")],
    "refusals": [*[chunk(None, refusal=f"no{i}") for i in range(9)], END],
    "ids that differ": [{**chunk(" a"), "id": f"{i}"} for i in range(9)] + [END],
    "cut short": [chunk(f" word{i}") for i in range(50)],
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_says_is_what_all_its_chunks_say(name: str) -> None:
    chunks = STREAMS[name]
    told, full = read(short(chunks)), read(chunks)
    assert told is not None and full is not None
    assert (told.text, told.ends, told.calls, told.refused) == (
        full.text,
        full.ends,
        full.calls,
        full.refused,
    )
    assert admit(short(chunks)) == admit(chunks) and text_of(short(chunks)) == text_of(chunks)


def test_events_of_which_only_the_end_is_read_are_not_made_one() -> None:
    said = [{"parts": [{"text": f" word{i}"}]} for i in range(9)]
    chunks = [{"model": LONG, "candidates": [{"content": one, "finish_reason": "STOP"}]} for one in said]
    parts, _ = packed([*map(Tape(Freezer().freeze).freeze, chunks)])
    alike = [part for part in parts if type(part) is Run]
    assert alike and not any(joined(part.mould, part.leaves) for part in alike) and admit(chunks) is None


def test_a_long_stream_is_read_as_a_few_chunks() -> None:
    for name in ("words", "thoughts", "a call"):
        assert len(short(STREAMS[name])) < 9, name
