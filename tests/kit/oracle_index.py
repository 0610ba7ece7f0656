"""The oracle: the shortest vector index that is right. Every other index is tested against it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cachelayer.flow import forks
from cachelayer.semantic.index.checks import check_k, check_queries, check_rows
from cachelayer.types import Vectors


class NumpyIndex:
    """Exact inner-product search, one dictionary of rows per partition; O(n d) per query, nothing kept beside."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._rows: dict[bytes, dict[int, NDArray[np.float32]]] = {}
        self._partition_of: dict[int, bytes] = {}
        self._lock = forks.lock()

    def add(self, partition: bytes, ids: NDArray[np.int64], vectors: Vectors) -> None:
        check_rows(ids, vectors, self.dimension)
        with self._lock:
            known = [i for i in ids.tolist() if i in self._partition_of]
            if known:
                raise ValueError(f"id {known[0]} is in the index already: remove it first")
            rows = self._rows.setdefault(partition, {})
            for key, vector in zip(ids.tolist(), vectors, strict=True):
                rows[key] = vector.copy()
                self._partition_of[key] = partition

    def remove(self, ids: NDArray[np.int64]) -> int:
        with self._lock:
            known = [i for i in dict.fromkeys(ids.tolist()) if i in self._partition_of]
            for key in known:
                partition = self._partition_of.pop(key)
                del self._rows[partition][key]
                if not self._rows[partition]:
                    del self._rows[partition]
            return len(known)

    def search(
        self, partition: bytes, queries: Vectors, k: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        check_queries(queries, self.dimension)
        check_k(k)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        found = np.full((len(queries), k), -1, dtype=np.int64)
        with self._lock:
            rows = dict(self._rows.get(partition, {}))
        if rows:
            ids = np.fromiter(rows, np.int64, len(rows))
            products = queries @ np.stack(list(rows.values())).T
            order = np.argsort(-products, axis=1, kind="stable")[:, :k]
            scores[:, : order.shape[1]] = np.take_along_axis(products, order, axis=1)
            found[:, : order.shape[1]] = ids[order]
        return scores, found

    def size(self, partition: bytes) -> int:
        return len(self._rows.get(partition, ()))

    def __len__(self) -> int:
        return len(self._partition_of)
