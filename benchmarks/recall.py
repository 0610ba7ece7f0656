r"""Recall@8 of the promoted index against exact search at sizes that take a while to fill.

    OMP_NUM_THREADS=1 python benchmarks/recall.py --vectors V.npy --sizes 100000 1000000 --out benchmarks/results/recall

`--vectors` is what benchmarks/search.py keeps. Beyond as many rows as that file has, further ones are made of pairs
of them: normalize(0.8 a + 0.5 b + noise of length 0.3), which lie between real texts; queries are real and never
indexed. Exact neighbours are found in blocks while the rows are made, so that no second copy of them is kept.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import corpus
import faiss
import numpy as np
from numpy.typing import NDArray
from record import heading, keep, page, parser_of, table

from cachelayer.semantic.index.faiss_cpu import FaissIndex

K, QUERIES, BLOCK = 8, 1000, 50_000
Vectors = NDArray[np.float32]


def rows(real: Vectors, size: int) -> Iterator[Vectors]:
    """`size` rows in blocks: real ones first."""
    rng, width = np.random.default_rng(7), real.shape[1]
    for at in range(0, size, BLOCK):
        count = min(BLOCK, size - at)
        block = real[at : at + count]
        if len(block) < count:
            pairs = rng.integers(0, len(real), (2, count - len(block)))
            noise = rng.standard_normal((pairs.shape[1], width), dtype=np.float32)
            made = 0.8 * real[pairs[0]] + 0.5 * real[pairs[1]] + noise * np.float32(0.3 / width**0.5)
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            block = np.concatenate([block, made.astype(np.float32)])
        yield block


def measure(real: Vectors, queries: Vectors, size: int) -> dict[str, object]:
    index = FaissIndex(real.shape[1])
    best = np.full((len(queries), K), -np.inf, np.float32)
    names = np.full((len(queries), K), -1, np.int64)
    at, begun = 0, time.perf_counter()
    for block in rows(real, size):
        ids = np.arange(at, at + len(block), dtype=np.int64)
        index.add(b"p", ids, block)
        scores, places = faiss.knn(queries, block, K, metric=faiss.METRIC_INNER_PRODUCT)
        both, keys = np.hstack([best, scores]), np.hstack([names, ids[places]])
        order = np.argsort(-both, axis=1)[:, :K]
        best, names = np.take_along_axis(both, order, 1), np.take_along_axis(keys, order, 1)
        at += len(block)
        if at % (5 * BLOCK) == 0 or at == size:
            index.maintain()
            print(
                f"  {at:,} of {size:,} after {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True
            )
    index.maintain()
    built = time.perf_counter() - begun
    took, hits = [], 0
    for i in range(len(queries)):
        start = time.perf_counter()
        found = index.search(b"p", queries[i : i + 1], K)[1][0]
        took.append(time.perf_counter() - start)
        hits += len(set(found.tolist()) & set(names[i].tolist()))
    p50, p99 = corpus.percentiles(took)
    return {
        "entries": size,
        "of them real texts": min(size, len(real)),
        "recall@8": hits / (K * len(queries)),
        "search p50 us": p50,
        "p99 us": p99,
        "built in s": built,
        "peak RSS MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--vectors", type=Path, required=True, help="vectors of real texts (.npy)")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    args = parser.parse_args()
    faiss.omp_set_num_threads(1)
    pool = np.load(args.vectors)
    pool = pool[np.random.default_rng(0).permutation(len(pool))]
    sizes = " ".join(map(str, args.sizes))
    result = heading(f"python benchmarks/recall.py --vectors ... --sizes {sizes}")
    result["table"] = [measure(pool[QUERIES:], pool[:QUERIES], size) for size in args.sizes]
    text = page("Recall of the promoted index", result, table(result["table"]))
    print(text)
    keep(args.out, result, text)


if __name__ == "__main__":
    main()
