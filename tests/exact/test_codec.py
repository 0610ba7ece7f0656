"""What leaves the process comes back exactly."""

from __future__ import annotations

import array
import collections
import datetime as dt
import ipaddress
import math
import pathlib
import zoneinfo
from typing import Any

import numpy as np
import orjson
import pytest
from answer_samples import same
from codec_samples import CODEC, Color, Inner, Leaf, Mode, Model, Point, Tree
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.wire.codec import Chunks, Codec

zones = st.one_of(
    st.none(),
    st.just(dt.UTC),
    st.just(zoneinfo.ZoneInfo("UTC")),
    st.builds(dt.timezone, st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23))),
    st.just(dt.timezone(dt.timedelta(hours=1), "CET")),
)
any_text = st.text(st.characters(categories=None)) | st.sampled_from(["$", "", "\ud800", "\x00"])
dtypes = st.sampled_from(["<f4", ">f8", "i1", "?", "<U3", "S2", "<M8[s]", "<c8"]).map(np.dtype)
arrays = st.builds(
    lambda dtype, shape, order, raw: (
        np.frombuffer((raw * 400)[: math.prod(shape) * dtype.itemsize], dtype).reshape(shape).copy(order)
        if dtype.kind not in "U?" and math.prod(shape)
        else np.zeros(shape, dtype, order)
    ),
    dtypes,
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from("CF"),
    st.binary(min_size=1, max_size=5),
)
atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**62),
    st.integers(max_value=-(2**62)),
    st.floats(),
    any_text,
    st.binary(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=zones, allow_imaginary=True),
    st.times(timezones=st.none() | st.just(dt.UTC)),
    st.timedeltas(),
    st.uuids(),
    zones,
    st.sampled_from([Color.RED, Mode.READ, Mode.READ | Mode.WRITE, Mode(0)]),
    st.sampled_from([range(3), range(9, 1, -2), pathlib.PurePosixPath("/a b"), ipaddress.ip_address("::1")]),
    st.floats(width=32).map(np.float32),
    st.just(np.str_("x")) | st.just(np.datetime64(5, "s")),
)
hashable = st.one_of(any_text, st.integers(), st.booleans(), st.tuples(st.integers(), any_text), st.none())
leaves = st.one_of(
    atoms,
    arrays,
    st.sets(hashable),
    st.frozensets(hashable),
    st.binary().map(bytearray),
    st.lists(st.floats(allow_nan=False), max_size=9).map(lambda x: array.array("d", x)),
    st.builds(Leaf, any_text, st.none() | st.datetimes()),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(any_text, inner, max_size=5),
        st.dictionaries(hashable, inner, max_size=5),
        st.tuples(inner, inner),
        st.builds(Point, inner, inner),
        st.builds(Tree, st.lists(st.builds(Leaf, st.text()), max_size=2), extra=inner),
        st.lists(inner, max_size=3).map(lambda x: collections.deque(x, 5)),
        st.dictionaries(any_text, inner, max_size=3).map(collections.OrderedDict),
        st.dictionaries(any_text, inner, max_size=3).map(lambda x: collections.defaultdict(list, x)),
        st.dictionaries(any_text, st.integers(), max_size=3).map(collections.Counter),
    ),
    max_leaves=15,
)


@settings(max_examples=500, deadline=None)
@given(values)
@example({"$": ["t", []]})
@example({"a": {"$": ["o", 0, {}, []]}})
@example([1.0, 1, True, -0.0, "1"])
@example({"v": [0.1, math.nan, -0.0, math.inf, 1e-320] * 20})
@example([0.5] * 99 + [1])
def test_every_value_comes_back_exactly(value: Any) -> None:
    assert same(CODEC.decode(CODEC.encode(value)), value)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
    )
)
def test_plain_json_travels_as_plain_json(value: Any) -> None:
    if isinstance(value, str) or "$" in str(value):
        return
    assert orjson.loads(Codec(compress=None).encode(value)[10:]) == value


JSON_RESPONSE: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "vendor": {"region": "eu"},
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hi", "reasoning_content": "hm"},
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}


def test_models_come_back_with_what_was_set_extra_and_private() -> None:
    model = Model(inner=Inner(tree=Tree([Leaf("a")])), link="https://example.org/a", color="blue")  # type: ignore[call-arg, arg-type]
    assert model.inner is not None
    model.inner._secret = 7
    for again in (CODEC.decode(CODEC.encode(model)), Freezer().freeze(model).answer()):
        assert again == model and again is not model and again.inner is not model.inner
        assert again.model_fields_set == {"inner", "link", "color"}
        assert again.model_extra == {"color": "blue"} and again.inner._secret == 7
        again.items.append(1)
        again.extra_later = 1
    assert model.items == [] and model.model_fields_set == {"inner", "link", "color"}


def test_models_that_differ_in_what_was_set_are_not_mistaken() -> None:
    freezer = Freezer()
    for _ in range(3):
        freezer.freeze(Inner(tree=Tree([Leaf("a")])))
        freezer.freeze(Model(items=[1]))
    given, default = Model(items=[1], inner=None), Model.model_construct(items=[1])
    for model in (given, default, Model(items=[1], color="red"), Model(items=[1])):  # type: ignore[call-arg]
        again = freezer.freeze(model).answer()
        assert again == model and again.model_fields_set == model.model_fields_set
        assert again.model_extra == model.model_extra


def test_the_openai_client_s_models_come_back() -> None:
    codec = Codec([ChatCompletion])
    answer = ChatCompletion.model_validate(JSON_RESPONSE)
    answer._request_id = "req_1"
    for again in (codec.decode(codec.encode(answer)), Freezer().freeze(answer).answer()):
        assert again == answer and again.model_dump() == answer.model_dump()
        assert again.to_json() == answer.to_json() and again._request_id == "req_1"
        assert again.choices[0].message.reasoning_content == "hm"
        assert again.choices[0].message.model_fields_set == answer.choices[0].message.model_fields_set
        again.choices[0].message.content = "spoiled"
        again.choices.clear()
    assert answer.choices[0].message.content == "Hi"


def test_langchain_s_classes_come_back() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    from langchain_core import documents, outputs
    from langchain_core.messages import base

    call = {"name": "f", "args": {"a": [1]}, "id": "1"}
    message = messages.AIMessage("Yes.", response_metadata={"finish_reason": "stop"}, tool_calls=[call])
    values = [
        message,
        [documents.Document("text", metadata={"a": [1]})],
        outputs.ChatGeneration(message=message),
    ]
    codec = Codec([messages.AIMessage, documents.Document, outputs.ChatGeneration, base.TextAccessor])
    for value in values:
        for again in (codec.decode(codec.encode(value)), Freezer().freeze(value).answer()):
            assert again == value and again is not value
    assert type(codec.decode(codec.encode(values[2])).text) is type(values[2].text)


def test_streams_come_back_as_streams() -> None:
    codec = Codec([ChatCompletionChunk])
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        ChatCompletionChunk.model_validate({**body, "choices": [{"index": 0, "delta": {"content": f"w{i}"}}]})
        for i in range(100)
    ]
    payload = codec.encode(Chunks(chunks))
    again = codec.decode(payload)
    assert type(again) is Chunks and [*again] == chunks
    assert len(payload) < 4000
    assert type(codec.decode(codec.encode(list("ab")))) is list
    assert [*codec.decode(codec.encode(Chunks("ab")))] == ["a", "b"]
