"""What every index asks of the rows it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors

_FLOAT32 = np.dtype(np.float32)
_UNIT = 1e-3
"""How far a squared norm may be from 1: float16 and int8 embedders round more than float32."""


def check_rows(ids: NDArray[np.int64], vectors: Vectors, dimension: int) -> None:
    """Raise ValueError for rows that could not be compared fairly."""
    check_queries(vectors, dimension)
    _check_ids(ids)
    if len(ids) != len(vectors):
        raise ValueError(f"{len(ids)} ids for {len(vectors)} vectors: pass one id per row")
    if len(ids) > 1 and len(np.unique(ids)) != len(ids):
        raise ValueError("ids repeat within the call: every row needs an id of its own")
    if ids.min() < 0:
        raise ValueError(f"id {ids.min()} is negative: -1 marks the absence of a neighbour")


def _check_ids(ids: NDArray[np.int64]) -> None:
    if not isinstance(ids, np.ndarray) or ids.dtype != np.int64 or ids.ndim != 1:
        raise ValueError(f"ids is {_kind(ids)}: pass a one-dimensional int64 array")


def check_queries(vectors: Vectors, dimension: int) -> None:
    """Raise ValueError unless `vectors` is a non-empty (n, dimension) float32 matrix of unit rows."""
    if not isinstance(vectors, np.ndarray) or vectors.dtype != _FLOAT32 or vectors.ndim != 2:
        raise ValueError(f"vectors is {_kind(vectors)}: pass a float32 matrix, one row per vector")
    if vectors.shape[1] != dimension:
        raise ValueError(f"vectors have {vectors.shape[1]} dimensions, the index has {dimension}")
    if not len(vectors):
        raise ValueError("vectors is empty: pass at least one row")
    if len(vectors) == 1:
        row = vectors[0]
        if abs(float(row.dot(row)) - 1) <= _UNIT:
            return
    squares = np.einsum("ij,ij->i", vectors, vectors)
    bad = np.abs(squares - 1) > _UNIT
    bad |= np.isnan(squares)
    if bad.any():
        worst = int(bad.argmax())
        what = "is zero" if squares[worst] == 0 else f"has squared norm {squares[worst]:.6g}"
        raise ValueError(f"vector {worst} {what}: normalize it to length 1 (zero and NaN cannot be compared)")


def check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"k={k}: ask for at least one neighbour")


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"a {value.ndim}-dimensional {value.dtype} array"
    return type(value).__name__
