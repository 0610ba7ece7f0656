"""Prompt tokens that replicas need not compute again, by how a RAG prompt is laid out.

A workload of questions on topics (Zipf 1.0); a topic has `--per-topic` passages and each question retrieves
`--k` of them, ordered by a score that differs from question to question. Three layouts of the same content:
a timestamp in the system prompt and passages by score; a still system prompt and passages by score;
`arrange` (passages by id, variables last). Sharing is counted in full 32-token blocks by an
LRU pool.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cachelayer.adapters.tensorrt_llm.blocks import PrefixIndex, chain, prompt_bytes
from cachelayer.adapters.tensorrt_llm.prompts import Document, arrange, estimate
from record import heading, keep, parser_of

SYSTEM = (
    "You answer questions of customers from the passages below and say when they do not hold the answer. " * 6
)
WORDS = "order return refund parcel label invoice account address warranty size colour exchange shop carrier".split()


def corpus(topics: int, per_topic: int, rng: random.Random) -> list[list[Document]]:
    def text() -> str:
        return " ".join(rng.choice(WORDS) for _ in range(110))

    return [[Document(f"{topic:03}-{i}", text()) for i in range(per_topic)] for topic in range(topics)]


def workload(arguments: argparse.Namespace, k: int, per_topic: int) -> list[tuple[str, list[Document], str]]:
    """(question, documents by score, time of day) per request."""
    rng = random.Random(arguments.seed)
    topics = corpus(arguments.topics, per_topic, rng)
    weights = [1 / (rank + 1) for rank in range(len(topics))]
    requests = []
    for number in range(arguments.requests):
        (topic,) = rng.choices(topics, weights)
        found = rng.sample(topic, k)
        question = " ".join(rng.choice(WORDS) for _ in range(12)) + "?"
        requests.append(
            (question, found, f"2026-11-21 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}")
        )
    return requests


def by_score(question: str, found: Sequence[Document], now: str, *, moving: bool) -> str:
    passages = "".join(f"<document>\n{document.text}\n</document>\n" for document in found)
    system = f"It is {now}. {SYSTEM}" if moving else SYSTEM
    tail = question if moving else f"{now}\n{question}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": passages + tail}]
    return prompt_bytes(messages, None).decode()


def arranged(question: str, found: Sequence[Document], now: str) -> str:
    messages = arrange(system=SYSTEM, question=question, documents=found, variables={"time": now})
    return prompt_bytes(messages, None).decode()


LAYOUTS: dict[str, Callable[[str, Sequence[Document], str], str]] = {
    "time first, passages by score": lambda q, d, t: by_score(q, d, t, moving=True),
    "time last, passages by score": lambda q, d, t: by_score(q, d, t, moving=False),
    "arrange()": arranged,
}


def shared_tokens(prompts: Sequence[str], pool: int) -> int:
    """Prompt tokens that a prefix cache of `pool` blocks would not compute again, in order of arrival.

    Counted in full blocks of 32 tokens at four characters each, so that layouts compare without a tokenizer.
    """
    cache, shared = PrefixIndex(pool, ttl=math.inf), 0
    for prompt in prompts:
        blocks = chain(prompt.encode())
        shared += cache.matched(blocks, 0.0)
        cache.add(blocks, 0.0)
    return shared * 32


def measure(arguments: argparse.Namespace, k: int, extra: int) -> dict[str, float]:
    """Share of all prompt tokens that is reused, per layout; `extra` passages a topic beyond the k
    retrieved."""
    requests = workload(arguments, k, k + extra)
    shares = {}
    for name, layout in LAYOUTS.items():
        prompts = [layout(*request) for request in requests]
        total = sum(estimate(prompt) for prompt in prompts)
        shares[name] = round(shared_tokens(prompts, arguments.pool) / total, 4)
    return shares


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 4, 6, 8], help="passages a question")
    parser.add_argument(
        "--pool", type=int, default=4096, help="blocks: 131,072 tokens, 16 GiB for an 8B model"
    )
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", type=Path, help="folder for prompt_layout.json and prompt_layout.png")
    arguments = parser.parse_args()
    rows = []
    for extra in (0, 1):
        for k in arguments.k:
            shares = measure(arguments, k, extra)
            before, after = shares["time last, passages by score"], shares["arrange()"]
            rows.append(
                {"k": k, "extra": extra, "shared": shares, "gain_over_score_order": round(after / before, 2)}
            )
            print(rows[-1], flush=True)
    if arguments.out:
        report = {
            **heading("python benchmarks/prompt_layout.py"),
            "pool_blocks": arguments.pool,
            "rows": rows,
        }
        keep(arguments.out / "prompt_layout", report)
        plot(rows, arguments.out / "prompt_layout.png")


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.9), sharey=True, layout="constrained")
    for axis, extra in zip(axes, (0, 1), strict=True):
        picked = [row for row in rows if row["extra"] == extra]
        for offset, (name, colour) in enumerate(zip(LAYOUTS, ("#8a8a8a", "#2980b9", "#c0392b"), strict=True)):
            places = [i + 0.27 * (offset - 1) for i in range(len(picked))]
            bars = axis.bar(
                places, [100 * row["shared"][name] for row in picked], 0.25, color=colour, label=name
            )
            axis.bar_label(bars, fmt="%.0f", fontsize=8)
        axis.set_xticks(range(len(picked)), [str(row["k"]) for row in picked])
        found = "the topic's passages, shuffled" if extra == 0 else "k of k + 1 passages, shuffled"
        axis.set(xlabel="passages a question (k)", ylabel="prompt tokens reused, %", title=found)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
