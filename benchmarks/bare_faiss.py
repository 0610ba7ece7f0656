"""FAISS without a layer around it: what the index is measured beside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

K = 8
EFFORT = ((16_000, 48), (50_000, 64), (200_000, 80), (10**9, 160))
"""efSearch that keeps recall@8 of bare HNSW32 above 0.99 up to so many rows, but for the last."""
Vectors = NDArray[np.float32]
Search = Callable[[Vectors], tuple[NDArray[np.float32], NDArray[np.int64]]]


def bare(rows: Vectors, compared: int, keep: Path | None) -> dict[str, Search]:
    """FAISS alone: exact; HNSW as users have it, and over float16; 4-bit codes with `compared` rows compared.

    `compared` 0: exact search alone. Graphs are kept in `keep` between runs.
    """
    width, metric = rows.shape[1], faiss.METRIC_INNER_PRODUCT
    flat = faiss.IndexFlatIP(width)
    flat.add(rows)
    out: dict[str, Search] = {"bare flat": lambda q: flat.search(q, K)}
    if not compared:
        return out
    single = _graph(faiss.IndexHNSWFlat(width, 32, metric), rows, keep)
    kind = faiss.ScalarQuantizer.QT_fp16
    half = _graph(faiss.IndexHNSWSQ(width, kind, 32, metric), rows, keep)  # type: ignore[arg-type]  # its stub errs
    coded = faiss.IndexPQFastScan(width, width // 4, 4, metric)
    coded.train(rows)
    exact = faiss.IndexScalarQuantizer(width, kind, metric)
    refined = faiss.IndexRefine(coded, exact)
    refined.add(rows)
    refined.k_factor = compared / K
    for name, each in {"HNSW32": single, "HNSW32 fp16": half, "PQ fast scan, refined": refined}.items():
        out[f"bare {name}"] = partial(each.search, k=K)
    return out


def _graph(graph: Any, rows: Vectors, keep: Path | None) -> Any:
    """An HNSW graph over `rows`, read from `keep` where it is there: 100,000 rows take minutes."""
    path = keep / f"{type(graph).__name__}-{len(rows)}" if keep else None
    if path is not None and path.exists():
        graph = faiss.read_index(str(path))
    else:
        graph.hnsw.efConstruction = 200
        graph.add(rows)
        if path is not None:
            faiss.write_index(graph, str(path))
    graph.hnsw.efSearch = next(effort for most, effort in EFFORT if len(rows) <= most)
    return graph
