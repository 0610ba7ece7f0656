"""Plain arguments are written in one step; what comes out is what their trees give, or nothing."""

import math
import uuid
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer
from cachelayer.exact.keys.canonical import argument, decode, encode
from cachelayer.exact.keys.plain import encode_plain


class Color(Enum):
    RED = 1.0


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([0.0, -0.0, 1.0, 2.0**60])
)
ODD = st.binary() | st.sampled_from([Color.RED, uuid.UUID(int=1)]) | st.sets(st.integers())
KEYS = st.text() | st.sampled_from(["", "\0bytes", "\0"])
VALUES = st.recursive(
    SCALARS | ODD,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS | st.integers(), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), VALUES))
def test_bytes_without_trees_are_the_bytes_of_the_trees(fields):
    straight = encode_plain(fields)
    assert straight is None or straight == encode({name: argument(value) for name, value in fields.items()})


@given(VALUES)
def test_what_is_settled_leaves_the_arguments_alone(value):
    before = repr(value)
    encode_plain({"value": value})
    assert repr(value) == before


@given(st.dictionaries(st.text(), SCALARS))
def test_canonical_bytes_are_read_back_as_their_tree(fields):
    tree = {name: argument(value) for name, value in fields.items()}
    assert encode(decode(encode(tree))) == encode(tree)


@pytest.mark.parametrize(
    "value", [{"t": 0.0, "m": [{"a": "b"}, {"n": [1.0, (2.0,)]}]}, "text", [], {"": 1}, True, 2**53 - 1]
)
def test_everyday_requests_need_no_trees(value):
    assert encode_plain({"value": value}) is not None


@pytest.mark.parametrize(
    "value", [math.nan, {"\0bytes": "eA=="}, b"x", 2**53 + 1, "\ud800", Color.RED, {1: 2}]
)
def test_what_carries_its_type_goes_through_trees(value):
    assert encode_plain({"value": value}) is None


@pytest.mark.parametrize("text", ["\ud800", "\ud83d\ude00", "\U0001f600 \ud83d"])
def test_text_that_utf_8_lacks_is_read_back_as_it_was(text):
    assert decode(encode({text: [text]})) == {text: [text]}


@pytest.mark.parametrize("more", [{}, {"by": {1}}], ids=["plain", "through trees"])
def test_what_is_ignored_is_left_out_and_nothing_else(more):
    async def rank(rows, trace, by=None):
        return rows

    identify = CacheLayer(semantic=False).wrap(rank, ignore=["trace"]).function.identifier.identify
    one, other, another = (
        identify((rows, trace), more, None).canonical for rows, trace in [(1, 1), (1, 2), (2, 1)]
    )
    assert one == other != another
