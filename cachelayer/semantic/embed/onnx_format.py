"""Writes ONNX models: the few messages of onnx.proto3 that an inference graph needs.

ONNX Runtime reads this format; writing it takes a page, so preparing a model needs neither torch nor the onnx
package. Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3 (IR version 8).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7
_ELEMENT = {"float32": FLOAT, "uint8": 2, "int8": 3, "int64": INT64}
_IR_VERSION, _OPSET = 8, 17
MICROSOFT = "com.microsoft"
"""Operators of ONNX Runtime itself, version 1: fused attention, dynamic quantization."""

Attribute = int | float | Sequence[int]
Dimension = int | str


class Graph:
    """Collects nodes and constants; names of tensors are handed out by the methods."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._outputs: list[bytes] = []

    def constant(self, array: NDArray[Any]) -> str:
        """Store a weight; returns its name."""
        name = f"w{len(self._constants)}"
        dims = b"".join(_number(1, size) for size in array.shape)
        raw = np.ascontiguousarray(array).tobytes()
        kind = _number(2, _ELEMENT[array.dtype.name])
        self._constants.append(dims + kind + _field(8, name.encode()) + _field(9, raw))
        return name

    def many(
        self, op: str, *inputs: str, outputs: int, domain: str = "", **attributes: Attribute
    ) -> list[str]:
        """Append a node of several outputs; an empty input name leaves an optional input out."""
        names = [f"v{len(self._nodes)}.{i}" for i in range(outputs)]
        self._append(op, inputs, names, domain, attributes)
        return names

    def op(self, op: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Append a node of one output; returns the output's name."""
        return self.many(op, *inputs, outputs=1, domain=domain, **attributes)[0]

    def output(self, source: str, name: str, shape: Sequence[Dimension]) -> None:
        """Offer a float32 tensor as an output of the model, copied only where a caller asks for it."""
        self._append("Identity", (source,), [name], "", {})
        self._outputs.append(_value(name, FLOAT, shape))

    def model(self, inputs: Sequence[tuple[str, Sequence[Dimension]]]) -> bytes:
        """The serialized ModelProto; `inputs` are int64 tensors."""
        graph = b"".join(
            [
                *(_field(1, node) for node in self._nodes),
                _field(2, b"cachelayer"),
                *(_field(5, constant) for constant in self._constants),
                *(_field(11, _value(name, INT64, shape)) for name, shape in inputs),
                *(_field(12, output) for output in self._outputs),
            ]
        )
        opsets = [("", _OPSET), (MICROSOFT, 1)]
        imports = b"".join(_field(8, _field(1, domain.encode()) + _number(2, v)) for domain, v in opsets)
        return _number(1, _IR_VERSION) + _field(2, b"cachelayer") + _field(7, graph) + imports

    def _append(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        domain: str,
        attributes: dict[str, Attribute],
    ) -> None:
        self._nodes.append(
            b"".join(
                [
                    *(_field(1, name.encode()) for name in inputs),
                    *(_field(2, name.encode()) for name in outputs),
                    _field(3, outputs[0].encode()),
                    _field(4, op.encode()),
                    *(_field(5, _attribute(name, value)) for name, value in attributes.items()),
                    _field(7, domain.encode()),
                ]
            )
        )


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, payload: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(payload)) + payload


def _attribute(name: str, value: Attribute) -> bytes:
    head = _field(1, name.encode())
    if isinstance(value, float):
        return head + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, 2)
    return head + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _value(name: str, element: int, shape: Sequence[Dimension]) -> bytes:
    dims = b"".join(
        _field(1, _field(2, size.encode()) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, element) + _field(2, dims)))
