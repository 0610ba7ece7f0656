"""A chat's identity: all that a message holds is in the key, and only what users and the assistant said is let vary."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any

import pytest
from openai import NOT_GIVEN
from openai.types.chat import ChatCompletionMessage

from cachelayer import CacheLayer
from cachelayer.exact.keys.identity import Identity
from cachelayer.types import Turn


async def create(messages: Any, model: str = "m") -> str:
    return "answer"


IDENTIFIER = CacheLayer(semantic=False).wrap(create).function.identifier


def identity(*messages: Any) -> Identity:
    found: Identity | None = IDENTIFIER.identify((list(messages),), {}, None)
    assert found is not None
    return found


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


@dataclasses.dataclass
class Asked:
    """A message as clients' own classes are, such as mistralai's."""

    content: str
    role: str = "user"
    name: str | None = None


SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
FILE = {"type": "file", "file": {"file_id": "file-1"}}
SYSTEM = {"role": "system", "content": "be brief"}
CALL = {"id": "1", "type": "function", "function": {"name": "track", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "on its way"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([user([said("what is it"), picture("a")])], [user([said("what is it"), picture("b")])]),
        ([user([said("what is it"), picture("a")])], [user([said("what is it")])]),
        ([user([said("what is it"), SOUND])], [user([said("what is it"), FILE])]),
        ([user("what is it", name="ann")], [user("what is it", name="bob")]),
        ([Asked("what is it", name="ann")], [Asked("what is it", name="bob")]),
        ([Asked("what is it")], [user("what is it")]),
        ([user([{"text": "what is it"}, {"cachePoint": {"type": "default"}}])], [user([{"text": "what is it"}])]),
        ([user("what is it")], [SYSTEM, user("what is it")]),
        ([SYSTEM, user("what is it")], [{**SYSTEM, "role": "developer"}, user("what is it")]),
        (
            [user([said("a"), picture("a")]), assistant("yes"), user("what is it")],
            [user([said("a"), picture("b")]), assistant("yes"), user("what is it")],
        ),
        (
            [user("where"), assistant(None, tool_calls=[CALL]), RESULT, user("what is it")],
            [user("where"), assistant(None, tool_calls=[CALL]), {**RESULT, "content": "lost"}, user("what is it")],
        ),
    ],
)  # fmt: skip
def test_what_is_no_plain_word_of_a_speaker_must_be_equal(one: list[Any], other: list[Any]) -> None:
    """Images, sounds, files, names, instructions, calls and results of tools."""
    first, second = identity(*one), identity(*other)
    assert first.text == second.text == "what is it"
    assert first.canonical != second.canonical and first.partition() != second.partition()


@pytest.mark.parametrize(
    ("one", "other", "texts"),
    [
        ([user("what is it")], [user("who is it")], ("what is it", "who is it")),
        (
            [SYSTEM, user([said("what"), picture("a"), said("is it")])],
            [SYSTEM, user([said("who"), picture("a"), said("is it")])],
            ("what\nis it", "who\nis it"),
        ),
        ([user([{"text": "what is it"}])], [user([{"text": "who is it"}])], ("what is it", "who is it")),
        ([SYSTEM, Asked("what is it")], [SYSTEM, Asked("who is it")], ("what is it", "who is it")),
        (
            [user("a bridge"), assistant("yes"), user("how long")],
            [user("a tower"), assistant("no"), user("how long")],
            ("how long", "how long"),
        ),
    ],
)  # fmt: skip
def test_what_was_said_is_compared_by_meaning_and_in_every_key(
    one: list[Any], other: list[Any], texts: tuple[str, str]
) -> None:
    first, second = identity(*one), identity(*other)
    assert (first.text, second.text) == texts
    assert first.canonical != second.canonical and first.partition() == second.partition()


def test_earlier_turns_are_what_users_and_the_assistant_said_after_the_last_instruction() -> None:
    asked = identity(SYSTEM, user("a bridge"), assistant("yes"), user("how long"))
    assert asked.turns == (Turn("user", "a bridge"), Turn("assistant", "yes"))
    called = identity(user("where"), assistant(None, tool_calls=[CALL]), RESULT, user("how long"))
    assert called.turns == (Turn("user", "where"),)  # and all of them must be equal, too
    other = identity(user("whence"), assistant(None, tool_calls=[CALL]), RESULT, user("how long"))
    assert called.partition() != other.partition()


@pytest.mark.parametrize(
    "last",
    [assistant("yes"), RESULT, user([picture("a")]), user(""), user(None), {"content": "no role"}, "text"],
)
def test_where_no_user_speaks_last_nothing_is_compared_by_meaning(last: Any) -> None:
    asked = identity(user("what is it"), last)
    assert asked.text is None and asked.partition() == asked.canonical


@pytest.mark.parametrize(
    "same",
    [
        user("caf\u00e9 au lait"),
        user(" cafe\u0301 au lait\n"),
        user("caf\u00e9 au lait", name=None),
        MappingProxyType(user("caf\u00e9 au lait")),
    ],
)
def test_one_message_is_one_in_whatever_form_it_comes(same: Any) -> None:
    assert identity(same).canonical == identity(user("caf\u00e9 au lait")).canonical


def test_the_text_beside_an_image_is_folded_as_any_is() -> None:
    one, other = (identity(user([said(text), picture("a")])) for text in ("caf\u00e9", " cafe\u0301 "))
    assert one.canonical == other.canonical


def test_an_answer_that_is_sent_back_as_an_object_is_part_of_the_key() -> None:
    def asked(answer: str) -> Identity:
        return identity(user("a"), ChatCompletionMessage(role="assistant", content=answer), user("b"))

    assert asked("yes").canonical == asked("yes").canonical != asked("no").canonical
    assert asked("yes").partition() != asked("no").partition()


def test_what_a_message_object_holds_for_itself_is_part_of_the_key() -> None:
    def asked(tone: str) -> Identity:
        message = Asked("what is it")
        message._tone = tone  # type: ignore[attr-defined]
        return identity(message)

    assert asked("dry").canonical == asked("dry").canonical != asked("warm").canonical
    assert asked("dry").partition() != asked("warm").partition()


async def complete(**body: Any) -> str:
    return "answer"


complete.cachelayer_wire = True  # type: ignore[attr-defined]
WIRE = CacheLayer(semantic=False).wrap(complete).function.identifier


def test_to_the_openai_client_a_message_is_what_it_sends_of_it() -> None:
    def asked(answer: Any) -> Identity | None:
        return WIRE.identify((), {"messages": [user("a"), answer, user("b")]}, None)

    answer = ChatCompletionMessage(role="assistant", content=" yes", annotations=[], refusal=None)
    one, other = asked(answer), asked({"role": "assistant", "content": "yes", "annotations": []})
    assert one is not None and other is not None and one.canonical == other.canonical
    assert asked(ChatCompletionMessage(role="assistant", content="yes")) != one


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("temperature", 1.0, False), ("temperature", 0, True), ("n", 1, False), ("n", 2, True),
        ("tools", [], False), ("stream", False, False), ("logprobs", False, False), ("logprobs", None, False),
        ("logprobs", 0, True),  # of completions: the tokens' own, without alternatives
        ("logprobs", True, True), ("user", "ann", False), ("seed", 0, True), ("top_p", 1, False), ("top_p", 0, True),
        ("presence_penalty", 0, False), ("presence_penalty", 1, True), ("frequency_penalty", 0.0, False),
        ("frequency_penalty", 1, True), ("tool_choice", "auto", False), ("tool_choice", "none", True),
        ("parallel_tool_calls", True, False), ("parallel_tool_calls", False, True), ("echo", False, False),
        ("echo", True, True), ("best_of", 1, False), ("best_of", 2, True), ("encoding_format", "float", False),
        ("encoding_format", "base64", True), ("response_format", {"type": "text"}, False), ("stop", [], False),
        ("response_format", {"type": "json_object"}, True), ("stop", ["."], True), ("logit_bias", {}, False),
        ("logit_bias", {"1": 1}, True), ("prompt_cache_retention", "24h", False), ("store", False, False),
    ],
)  # fmt: skip
def test_a_field_counts_where_it_asks_for_another_answer_than_its_default(
    field: str, value: Any, said: bool
) -> None:
    plain = WIRE.identify((), {"prompt": "a"}, None)
    asked = WIRE.identify((), {"prompt": "a", field: value}, None)
    assert plain is not None and asked is not None
    assert (asked.canonical != plain.canonical) is said


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("temperature", 0, False),
        ("temperature", 1, True),
        ("response_format", "json", False),
        ("response_format", "text", True),
    ],
)
def test_a_transcription_has_defaults_of_its_own(field: str, value: Any, said: bool) -> None:
    plain, asked = (WIRE.identify((), {"file": b"RIFF", **more}, None) for more in ({}, {field: value}))
    assert plain is not None and asked is not None
    assert (plain.canonical != asked.canonical) is said


@pytest.mark.parametrize(
    ("body", "more", "said"),
    [
        ({"stream": True}, {"stream_options": {"include_usage": True}}, True),
        ({"stream": True}, {"stream_options": {}}, False), ({"stream": True}, {"stream_options": NOT_GIVEN}, False),
        ({}, {"stream_options": {"include_usage": True}}, False),
        ({"stream": False}, {"stream_options": {"include_usage": True}}, False),
        ({"input": "a"}, {"store": False}, True), ({"input": "a"}, {"store": None}, False),
        ({}, {"prompt_cache_options": {"ttl": "30m"}}, False),
        ({}, {"prompt_cache_options": {"comparison_response_id": "r"}}, True),
        ({}, {"extra_headers": {"OpenAI-Beta": "assistants=v2"}}, True),
        ({}, {"extra_headers": {"traceparent": "00-1"}}, False), ({}, {"extra_headers": {}}, False),
    ],
)  # fmt: skip
def test_of_some_fields_that_change_no_words_a_part_counts(
    body: dict[str, Any], more: dict[str, Any], said: bool
) -> None:
    plain, asked = (WIRE.identify((), {"prompt": "a", **body, **beside}, None) for beside in ({}, more))
    assert plain is not None and asked is not None
    assert (asked.canonical != plain.canonical) is said


def test_a_header_counts_however_it_is_written() -> None:
    one, other = (
        WIRE.identify((), {"prompt": "a", "extra_headers": {name: "v1", "x-id": name}}, None)
        for name in ("openai-beta", "OpenAI-Beta")
    )
    assert one is not None and other is not None and one.canonical == other.canonical


@pytest.mark.parametrize(
    ("more", "does"),
    [
        ({"store": True}, True), ({"conversation": "c"}, True), ({"extra_body": {"store": True}}, True),
        ({"store": False}, False), ({"conversation": None}, False), ({"conversation": NOT_GIVEN}, False),
        ({"extra_body": {"top_k": 1}}, False), ({"extra_body": "store"}, False),
    ],
)  # fmt: skip
def test_what_the_server_does_besides_has_no_key(more: dict[str, Any], does: bool) -> None:
    assert (WIRE.identify((), {"prompt": "a", **more}, None) is None) is does


@pytest.mark.parametrize("module", ["openai.resources.completions", "litellm.main"])
def test_callables_of_libraries_that_have_openais_parameters_need_no_mark(module: str) -> None:
    async def acompletion(messages: list[Any], metadata: Any = None, user: str = "") -> str:
        return "answer"

    acompletion.__module__ = module
    identify = CacheLayer(semantic=False).wrap(acompletion).function.identifier.identify
    one, other = (identify(([user("a")],), {"metadata": {"trace": n}, "user": f"u{n}"}, None) for n in (1, 2))
    assert one is not None and other is not None and one.canonical == other.canonical
