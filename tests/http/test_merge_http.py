"""A stream's chunks as the whole answer that they would have been, where servers differ from each other."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.openai_wire import NotAnAnswer, body_of, chunks_of


def whole(*choices: dict[str, Any]) -> dict[str, Any]:
    """The only choice that these add up to."""
    (choice,) = body_of(
        [{"id": "1", "object": "chat.completion.chunk", "choices": [one]} for one in choices]
    )["choices"]
    return dict(choice)


def test_choices_without_an_index_are_told_apart_by_their_places() -> None:
    made = body_of(
        [{"choices": [{"delta": {"content": a}}, {"delta": {"content": b}}]} for a, b in ("ab", "cd")]
    )
    assert [one["message"]["content"] for one in made["choices"]] == ["ac", "bd"]


def test_what_a_choice_said_once_is_not_unsaid_by_a_later_null() -> None:
    told = whole(
        {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop", "stop_reason": None},
        {"index": 0, "delta": {}, "finish_reason": None},
    )
    assert (told["finish_reason"], told["stop_reason"]) == ("stop", None)


def test_nothing_of_another_kind_changes_a_text() -> None:
    told = whole({"delta": {"content": "a"}}, {"delta": {"content": []}}, {"delta": {"content": "b"}})
    assert told["message"]["content"] == "ab"


def test_what_names_a_sound_or_a_function_stands_once_however_often_it_is_said() -> None:
    sound = [
        {"delta": {"audio": {"id": "a1", **more}}} for more in ({"transcript": "a"}, {"transcript": "b"})
    ]
    calls = [{"delta": {"function_call": {"name": "f", "arguments": piece}}} for piece in ("{", "}")]
    message = whole(*sound, *calls)["message"]
    assert message["audio"] == {"id": "a1", "transcript": "ab"}
    assert message["function_call"] == {"name": "f", "arguments": "{}"}


def test_sound_is_joined_only_where_the_pieces_are_one_text_in_base64() -> None:
    def heard(*data: str) -> Any:
        return whole(*[{"delta": {"audio": {"data": one}}} for one in data])["message"]["audio"]["data"]

    assert heard("QUJD", "", "QQ==") == "QUJDQQ=="
    with pytest.raises(NotAnAnswer):
        heard("QQ==", "QUJD")


def test_any_number_of_calls_under_one_index_stay_apart() -> None:
    def call(number: int) -> dict[str, Any]:
        function = {"name": f"f{number}", "arguments": str(number)}
        return {"delta": {"tool_calls": [{"index": 0, "id": f"c{number}", "function": function}]}}

    calls = whole(call(1), call(2), call(3))["message"]["tool_calls"]
    assert [(one["id"], one["function"]["arguments"]) for one in calls] == [
        ("c1", "1"),
        ("c2", "2"),
        ("c3", "3"),
    ]


def test_a_message_that_only_calls_a_function_has_no_text() -> None:
    told = whole({"delta": {"role": "assistant", "content": ""}}, {"delta": {"function_call": {"name": "f"}}})
    assert told["message"] == {"role": "assistant", "content": None, "function_call": {"name": "f"}}


def test_each_piece_of_a_stream_stands_once_and_in_its_place() -> None:
    message = {"role": "assistant", "content": "a", "refusal": None, "tool_calls": [{"index": 3, "id": "c"}]}
    logprobs = {"content": [{"token": "a"}]}
    choice = {"index": 1, "message": message, "logprobs": logprobs, "finish_reason": "stop", "extra": 7}
    body = {"id": "1", "object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 2}}
    *pieces, usage = chunks_of(body, usage=True)
    parts = [one["choices"][0] for one in pieces]
    assert [one["delta"] for one in parts] == [
        {"role": "assistant", "content": ""},
        {"content": "a"},
        {"tool_calls": [{"index": 3, "id": "c"}]},
        {},
    ]
    assert [one["logprobs"] for one in parts] == [None, logprobs, None, None]
    assert parts[-1]["extra"] == 7 and "extra" not in parts[0]
    assert all(one["usage"] is None for one in pieces) and usage["usage"] == {"total_tokens": 2}


def test_what_has_no_text_to_stand_beside_comes_with_the_end() -> None:
    choice = {"message": {"content": None}, "logprobs": {"content": []}, "finish_reason": "stop"}
    first, end = chunks_of({"object": "chat.completion", "choices": [choice]})
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert end["choices"][0]["logprobs"] == {"content": []}
