"""Arrays and bytes as arguments: they share a key exactly if they are of one type and shape and hold the same."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.exact.keys.canonical import argument, encode

ml_dtypes = pytest.importorskip("ml_dtypes")  # the types of bfloat16 and float8 that numpy lacks

TYPES = [
    np.dtype(name)
    for name in "u1 i1 ? V1 S1 i4 <f4 >f4 <f8 >f8 <c8 <U1 <M8[s] <M8[D] <m8[s] V8 i4,f4 f4,i4".split()
]
TYPES += [
    np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e4m3", "float8_e5m2")
]
BYTES = st.sampled_from([bytes(8), b"\1" + bytes(7), bytes(7) + b"\1"])
TIMES = st.sampled_from([1, 2, 128, 129, 500])
"""Of eight bytes each: as they are up to 1,024, as a digest above."""
AS: list[Callable[[bytes], Any]] = [bytes, bytearray, memoryview, lambda data: array.array("f", data)]


@st.composite
def buffers(draw: st.DrawFn) -> tuple[Any, Any]:
    """A value, and what tells it from others."""
    data = draw(st.lists(BYTES, min_size=1, max_size=2)) * draw(TIMES)
    held = b"".join(data)
    if draw(st.booleans()):
        make = draw(st.sampled_from(AS))
        return make(held), (make, held)
    dtype = draw(st.sampled_from(TYPES))
    made = np.frombuffer(held, dtype)
    made = made.reshape(draw(st.sampled_from([(-1,), (1, -1), (-1, 1)])))
    return made, (dtype, made.shape, held)


@given(buffers(), buffers())
def test_buffers_share_a_key_exactly_if_type_shape_and_bytes_are_the_same(one: Any, other: Any) -> None:
    assert (encode(argument(one[0])) == encode(argument(other[0]))) == (one[1] == other[1])


@pytest.mark.parametrize("times", [1, 500])
def test_no_two_types_share_a_key_whatever_they_hold(times: int) -> None:
    alike = [np.frombuffer(bytes(range(8)) * times, dtype) for dtype in TYPES]
    assert len({encode(argument(one.reshape(-1, 1))) for one in alike}) == len(TYPES)
    assert len({encode(argument(one[:1])) for one in alike}) == len(TYPES)


@given(st.sampled_from(TYPES), TIMES)
def test_how_an_array_lies_in_memory_is_no_part_of_it(dtype: np.dtype[Any], times: int) -> None:
    rows = np.frombuffer(bytes(range(64)) * times, dtype).reshape(4, -1)
    key = encode(argument(rows))
    apart = np.repeat(rows, 2, axis=0)[::2]
    for same in np.asfortranarray(rows), apart, rows.copy(), rows.T.copy().T:
        assert encode(argument(same)) == key
    row = rows.reshape(-1)
    assert encode(argument(np.repeat(row, 2)[::2])) == encode(argument(row))


@pytest.mark.parametrize("key", [argument, lambda value: argument(value[0])], ids=["array", "scalar"])
def test_what_lies_between_the_fields_of_a_record_is_no_part_of_it(key: Callable[[Any], Any]) -> None:
    one, other = np.zeros(2, "i4,i4,i4"), np.zeros(2, "i4,i4,i4")
    other["f1"] = 1
    assert key(one) != key(other)
    assert key(one[["f0", "f2"]]) == key(other[["f0", "f2"]])


@pytest.mark.parametrize("make", [*AS, np.frombuffer])
def test_large_data_leaves_the_room_to_the_answers(make: Callable[[bytes], Any]) -> None:
    assert len(encode(argument(make(bytes(1 << 20))))) < 256


@pytest.mark.parametrize("dtype", ["S0", "<U0", "V0", "f4"])
def test_arrays_without_a_byte_have_keys(dtype: str) -> None:
    assert argument(np.zeros((0, 3), dtype)) != argument(np.zeros((3, 0), dtype))
