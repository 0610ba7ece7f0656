"""Streams that leave the process in runs: small, back as they were, and no bytes do harm."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import orjson
import pytest
import xxhash
from answer_samples import FREEZER, same
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk

from cachelayer.exact.answers.tape import Run, Tape, packed
from cachelayer.exact.wire.codec import Chunks, Codec, CorruptPayload

CODEC = Codec([ChatCompletionChunk])


def chunk(word: str, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": word}, "logprobs": None, "finish_reason": None, **more}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "some-model"}
    return {**head, "system_fingerprint": "fp_0123456789", "choices": [choice]}


def event(of: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(of).encode() + b"\n\n"


def kept(chunks: list[Any]) -> Chunks:
    return Chunks(parts=packed([*map(Tape(FREEZER.freeze).freeze, chunks)])[0])


def forged(items: Any, version: int = 2) -> bytes:
    body = orjson.dumps(items)
    return bytes([version, 0x43]) + xxhash.xxh3_64_digest(body, seed=version << 8 | 0x43) + body


MADE = [
    event,
    lambda of: event(of).decode(),
    lambda of: of,
    lambda of: ChatCompletionChunk.model_validate(of),
]
words = st.lists(st.text(max_size=5) | st.sampled_from(["here stands a piece", "\ud83d", "\\"]), max_size=9)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(MADE), words)
@example(MADE[2], ["here stands a piece"] * 2 + ["a"])
def test_a_stream_comes_back_as_it_was(made: Any, said: list[str]) -> None:
    if made is not event:  # objects with half a character do not leave the process, with or without runs
        said = [word.encode("utf-8", "replace").decode() for word in said]
    chunks = [made(chunk(word)) for word in said] + [made(chunk("", finish_reason="stop"))]
    again = CODEC.decode(CODEC.encode(kept(chunks)))
    assert type(again) is Chunks and all(map(same, again, chunks)) and len([*again]) == len(chunks)


@pytest.mark.parametrize("made", MADE)
def test_thousands_of_chunks_travel_in_little(made: Any) -> None:
    chunks = [made(chunk(f" word{i}")) for i in range(4_000)]
    payload = CODEC.encode(kept(chunks))
    again = CODEC.decode(payload)
    assert len(payload) < 20_000 and [*again] == chunks
    assert any(type(part) is Run for part in again.parts)


def test_a_stream_of_chunks_unlike_each_other_is_written_as_ever() -> None:
    assert CODEC.encode(kept(["a", "b"]))[0] == 1
    assert [*CODEC.decode(forged(["a", "b"], version=1))] == ["a", "b"]


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["", "ab", "here stands a piece"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(st.lists(values, max_size=4))
def test_what_no_writer_wrote_is_corrupt_and_nothing_else(items: Any) -> None:
    with contextlib.suppress(CorruptPayload):
        [*CODEC.decode(forged(items))]


def test_a_run_that_would_play_more_than_the_limit_is_refused() -> None:
    small = Codec(max_bytes=100_000)
    chunks = [event(chunk(f" word{i}", why="x" * 2_000)) for i in range(200)]
    with pytest.raises(CorruptPayload):
        small.decode(CODEC.encode(kept(chunks)))
