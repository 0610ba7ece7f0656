r"""A similar hit end to end with the real model, beside the embedder alone, in the same run.

    OMP_NUM_THREADS=1 python benchmarks/similar.py --streams STREAM.jsonl.gz ... --fill DIR ... \
        --out benchmarks/results/similar

The layer is filled with the first part of labelled request streams (the answer is the label's) and with one text of
each class of other streams, mixed, up to --entries entries. The rest of the streams is asked once each; what is
answered from the index, by a guess at its vector or by the vector itself, is timed. The decider is the default one,
nothing is switched off but shadow checks. One task: embedder alone and layer take turns on the same text, in random
order; then a thousand kept requests typed otherwise. Many tasks: rounds of bare encoder threads (tokenizer and
session, no library) and of the layer; the layer's budgets are wide there, as otherwise the backend would
be asked beside a busy encoder. CPU time is the process's, which says more than the clock where others use the machine.

With --model DIR the embedder is that directory's, by sentence-transformers and on a GPU where there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import corpus
import numpy as np
from numpy.typing import NDArray
from record import heading, keep, parser_of
from similar_bare import bare_rates
from similar_plot import plot

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.sentence_transformers import SentenceTransformersEmbedder
from cachelayer.types import Embedded

STAGES = ("search", "verify")


def streams(paths: Sequence[Path]) -> dict[str, str]:
    """Text to label, interleaved over the files."""
    rows = [[(str(r["q"]), f"{path.stem} {r['cls']}") for r in corpus.rows_of(path)] for path in paths]
    merged = [rows[i][j] for j in range(max(map(len, rows))) for i in range(len(rows)) if j < len(rows[i])]
    return dict(merged)


def one_of_each(paths: Sequence[Path]) -> dict[str, str]:
    """Text to label, the first text of every class: so that unlike answers belong to unlike questions."""
    firsts = {
        str(r["cls"]): str(r["q"]) for path in reversed(paths) for r in reversed([*corpus.rows_of(path)])
    }
    return {text: label for label, text in firsts.items() if len(text) < 200}


class Prefilled(OnnxEmbedder):
    """The real embedder, which does not embed again what the layer was filled with in an earlier run."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        self._known: dict[str, NDArray[np.float32]] = {}
        self._kept = False
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as kept:
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
                self._kept = True

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if not all(text in self._known for text in texts):
            return await super().embed(texts)
        vectors = np.stack([self._known[text] for text in texts])
        return Embedded(vectors, np.ones(len(texts), np.bool_))

    async def keep(self, texts: Sequence[str]) -> None:
        """Write the vectors of the fill, once."""
        if self._path is not None and not self._kept:
            made = [
                (await super(Prefilled, self).embed(texts[at : at + 64])).vectors
                for at in range(0, len(texts), 64)
            ]
            np.savez(self._path, texts=np.array(texts), vectors=np.concatenate(made))


async def filled(
    args: argparse.Namespace, labels: dict[str, str]
) -> tuple[CacheLayer, Any, list[str], list[str]]:
    """The layer, the function, the texts not asked yet, and some that were kept."""
    wide = Budgets(embed="10s", search="10s", verify="10s")
    policy = Policy(max_error_rate=args.bound, shadow=0, budgets=wide, max_bytes=512 * 2**20)
    embedder = SentenceTransformersEmbedder(args.model) if args.model else Prefilled(args.vectors)
    layer = CacheLayer(policy=policy, embedder=embedder)

    others = one_of_each(args.fill)
    answers = {_plain(text): answer for text, answer in (others | labels).items()}

    async def answer(question: str) -> str:
        return answers[_plain(question)]

    ask = layer.wrap(answer, name="ask")
    await layer.start()
    tier = layer._similar
    assert tier is not None
    texts, early = list(labels), int(len(labels) * args.share)
    first = list(dict.fromkeys([*others, *texts[:early]]))
    random.Random(0).shuffle(first)  # streams one after the other are a change to the decider
    for at in range(0, len(first), 32):
        await asyncio.gather(*(ask(text) for text in first[at : at + 32]))
        await layer.flush()
        if len(tier.entries) >= args.entries:
            break
    if isinstance(embedder, Prefilled):
        await embedder.keep(first)
    print(f"{len(tier.entries):,} entries, {len(texts) - early:,} to ask", file=sys.stderr, flush=True)
    held = [entry.text for entry in tier.entries.values()]
    return layer, ask, texts[early:], random.Random(1).sample(held, min(len(held), 1000))


async def one_task(layer: CacheLayer, ask: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Microseconds: of the embedder alone, of hits, and their stages."""
    assert layer._similar is not None and isinstance(layer._similar.embedder, CachedEmbedder)
    embedder = layer._similar.embedder.inner
    alone: list[float] = []
    whole: list[float] = []
    glanced: list[bool] = []
    stages: dict[str, list[float]] = {stage: [] for stage in STAGES}

    async def embed(text: str) -> float:
        begun = time.perf_counter()
        await embedder.embed([text])
        return time.perf_counter() - begun

    for text in texts:
        before = random.random() < 0.5
        took = await embed(text) if before else 0.0
        begun = time.perf_counter()
        outcome = await ask.outcome(text)
        spent = time.perf_counter() - begun
        took = took if before else await embed(text)
        if outcome.source is Source.INDEX and "search" in outcome.timings:
            alone.append(took)
            whole.append(spent)
            glanced.append("embed" not in outcome.timings)
            for stage in STAGES:
                stages[stage].append(outcome.timings.get(stage, 0.0))
        await asyncio.sleep(0)

    def of(early: bool) -> tuple[float, float]:
        return corpus.percentiles(
            [s for s, g in zip(whole, glanced, strict=True) if g is early] or [math.nan]
        )

    over = [spent - took for spent, took in zip(whole, alone, strict=True)]
    rows = [row for row, g in zip(zip(whole, *stages.values(), strict=True), glanced, strict=True) if g]
    rows = rows or [(math.nan,) * (1 + len(STAGES))]
    middle = {
        stage: statistics.median(row[at] for row in rows) * 1e6 for at, stage in enumerate(STAGES, start=1)
    }
    return {
        "requests": len(texts),
        "hits": len(whole),
        "embedder alone p50": corpus.percentiles(alone)[0],
        "similar hit p50": corpus.percentiles(whole)[0],
        "difference of medians": (statistics.median(whole) - statistics.median(alone)) * 1e6,
        "median difference": statistics.median(over) * 1e6,
        "decided at a glance": sum(glanced) / len(glanced),
        "at a glance p50, p99": of(True),
        "with its vector p50, p99": of(False),
        "best tenth: embedder alone": float(np.percentile(alone, 10) * 1e6),
        "best tenth: similar hit": float(np.percentile(whole, 10) * 1e6),
        **{f"at a glance, {stage}": value for stage, value in middle.items()},
        "at a glance, rest": statistics.median(w - sum(s) for w, *s in rows) * 1e6,
    }


TYPED = ("hi, {}", "{} thanks!", "Good morning, {}", "please {}", "{}???")


def _plain(text: str) -> str:
    """The request of which another is one of TYPED, or of several: 'please please whisper'."""
    before, text = text, text.rstrip("?.! ")
    for form in TYPED:
        text = text.removeprefix(form.split("{}")[0]).removesuffix(form.split("{}")[1].rstrip("?.! "))
    return text if text == before else _plain(text)


async def typed_otherwise(ask: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Microseconds of hits on known requests with a greeting, thanks or other stops; exact ones beside them."""
    found: dict[Source, list[float]] = {Source.INDEX: [], Source.MEMORY: []}
    for number, text in enumerate(texts):
        for asked in (TYPED[number % len(TYPED)].format(text.rstrip("?.! ")), text):
            begun = time.perf_counter()
            outcome = await ask.outcome(asked)
            spent = time.perf_counter() - begun
            found.setdefault(outcome.source, []).append(spent)
            await asyncio.sleep(0)
    similar, exact = (corpus.percentiles(found[source]) for source in (Source.INDEX, Source.MEMORY))
    hits = {"requests": len(texts), "hits": len(found[Source.INDEX])}
    return hits | {"p50, p99": similar, "exact hit p50, p99": exact}


async def many_tasks(ask: Any, texts: Sequence[str], tasks: int) -> dict[str, float]:
    waiting, hits = iter(texts), 0

    async def worker() -> None:
        nonlocal hits
        for text in waiting:
            outcome = await ask.outcome(text)
            hits += outcome.source is Source.INDEX

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(tasks)))
    took = time.perf_counter() - begun
    return {
        "layer, requests per s": len(texts) / took,
        "share of hits": hits / len(texts),
        "layer, CPU us per request": (time.process_time() - cpu) / len(texts) * 1e6,
    }


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    labels = streams(args.streams)
    layer, ask, left, held = await filled(args, labels)
    cores = len(os.sched_getaffinity(0))
    half = len(left) // 2
    singly, rest = left[: min(half, args.singly)], left[half:]
    result: dict[str, Any] = {"entries": args.entries, "one task, us": await one_task(layer, ask, singly)}
    result["typed otherwise, us"] = await typed_otherwise(ask, held)
    rounds = []
    for number in range(args.rounds):
        part = rest[number :: args.rounds]
        bare = {} if args.model else bare_rates(part, args.seconds)
        rounds.append(bare | await many_tasks(ask, part, args.tasks))
        if bare:
            one, threads = list(bare.values())[:2]
            rate = rounds[-1]["layer, requests per s"]
            rounds[-1] |= {
                "layer / (cores x one thread)": rate / (cores * one),
                "layer / all threads": rate / threads,
            }
    if rounds:
        result[f"{args.tasks} tasks"] = {
            name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]
        }
    await layer.aclose()
    return result


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--streams", nargs="+", type=Path, required=True, help="labelled requests {q, cls}")
    parser.add_argument("--fill", nargs="+", type=Path, required=True, help="streams, a text of each class")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--share", type=float, default=0.7, help="of the streams, asked beforehand")
    parser.add_argument("--bound", type=float, default=0.1, help="max_error_rate")
    parser.add_argument("--model", type=Path, help="a directory of sentence-transformers, in place of int8")
    parser.add_argument("--tasks", type=int, default=32)
    parser.add_argument("--singly", type=int, default=10_000, help="requests of one task, at most")
    parser.add_argument("--rounds", type=int, default=3, help="of many tasks; 0 for one task alone")
    parser.add_argument("--vectors", type=Path, help="keep the fill's vectors there (.npz) for other runs")
    parser.add_argument("--seconds", type=float, default=4.0, help="per bare encoder and round")
    parser.add_argument("--out", type=Path, help="write OUT.json, OUT.md and OUT.png")
    args = parser.parse_args()
    result: dict[str, Any] = heading("python benchmarks/similar.py --streams ... --fill ...")
    result |= asyncio.run(measure(args))
    print(json.dumps(result, indent=1))
    keep(args.out, result)
    if args.out:
        plot(result["one task, us"], args.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
