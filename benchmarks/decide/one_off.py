"""Requests that hardly recur: what an open assistant is asked, where nearly every answer is asked for once or twice.

    python -m benchmarks.decide one-off --out benchmarks/results

The natural pairs written by hand (natural_pairs.txt, late_natural_pairs.txt, fresh_natural_pairs.txt; nothing is
fitted to them) are asked through one cache in random order: both sides of every pair that takes one answer, both
sides of more or fewer of the traps, one side of the others. Every answer is of its own, so that neighbours say little
and the two texts must speak for themselves. Pairs of which a text comes as near as .8 to one of another pair are left
out: they may be one request by chance. Writes decide_one_off.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import command_of, machine

from .data import Stream, Vectors, vectors
from .layered import Run, Table, replay
from .pairs import PUT, handmade
from .pairs_data import Pair
from .rows import interval, static
from .sources import leaders

TRAPS = (0.1, 0.3, 1.0)
"""Share of the traps whose both sides are asked."""
BOUNDS = (0.01, 0.02, 0.05)
THRESHOLDS = (0.85, 0.9, 0.95)
NEAR = 0.8


def distinct(found: list[Pair], texts: list[str], embedded: Vectors) -> list[Pair]:
    """Without pairs of which a text is near to one of an earlier, unrelated pair."""
    group = leaders(texts, [(p.a, p.b) for p in found])
    order = {name: i for i, name in enumerate(sorted(set(group.values())))}
    of = np.array([order[group[text]] for text in texts])
    near = embedded @ embedded.T >= NEAR
    doubtful = set(of[(near & (of[:, None] > of[None, :])).any(axis=1)].tolist())
    return [p for p in found if order[group[p.a]] not in doubtful]


class World:
    """The pairs, and streams drawn of them."""

    def __init__(self, kept: Path) -> None:
        natural = [PUT[f"{name} natural pairs"] for name in ("first", "late", "fresh")]
        every = [p for path in natural for p in handmade(path)]
        self.texts = sorted({text for p in every for text in (p.a, p.b)})
        self.vectors = vectors(self.texts, kept / "one-off.npy")
        self.answer = leaders(self.texts, [(p.a, p.b) for p in every if p.same])
        self.pairs = distinct(every, self.texts, self.vectors)
        self._at = {text: i for i, text in enumerate(self.texts)}

    def draw(self, traps: float, seed: int) -> Stream:
        rng = random.Random(seed)
        asked: dict[str, None] = {}
        for p in self.pairs:
            both = p.same or rng.random() < traps
            asked |= dict.fromkeys((p.a, p.b) if both else (rng.choice((p.a, p.b)),))
        order = list(asked)
        rng.shuffle(order)
        rows = self.vectors[[self._at[text] for text in order]]
        return Stream("one-off", order, [self.answer[text] for text in order], rows)

    def run(self, stream: Stream, bound: float, seed: int) -> Run:
        named_by = stream.classes.__getitem__
        table = Table(stream.texts, stream.vectors)
        return asyncio.run(
            replay(stream, table, bound, named_by, lambda row, answer: answer == named_by(row), seed=seed)
        )


def line(name: str, served: list[int], wrong: list[int], possible: list[int]) -> str:
    right = [(s - w) / p for s, w, p in zip(served, wrong, possible, strict=True)]
    low, high = interval(right)
    share = sum(wrong) / max(sum(served), 1)
    return (
        f"| {name} | {np.mean(served):.0f} | {share:.3f} ({sum(wrong)} of {sum(served)}) "
        f"| {np.mean(right):.3f} [{low:.3f}, {high:.3f}] |"
    )


def rows(world: World, runs: int) -> list[str]:
    out = []
    for traps in TRAPS:
        streams = [world.draw(traps, seed) for seed in range(runs)]
        possible = [len(s.texts) - len(set(s.classes)) for s in streams]
        for bound in BOUNDS:
            found = [world.run(s, bound, seed) for seed, s in enumerate(streams)]
            served, wrong = [r.similar for r in found], [r.wrong for r in found]
            out.append(line(f"{traps:.0%} of the traps, bound {bound:g}", served, wrong, possible))
            print(out[-1], flush=True)
        for threshold in THRESHOLDS:
            plain = [static(s, threshold)[2:] for s in streams]
            name = f"{traps:.0%} of the traps, cosine >= {threshold:g}"
            out.append(line(name, [h for h, _ in plain], [w for _, w in plain], possible))
            print(out[-1], flush=True)
    return out


def add(commands: Any) -> None:
    """The command `one-off`."""
    parser = command_of(commands, "one-off", "requests that hardly recur, natural traps among them", __doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--kept", type=Path, default=Path("/tmp"), help="folder for vectors (default %(default)s)"
    )
    parser.add_argument("--runs", type=int, default=10, help="orders of each stream (default %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print, write."""
    started, load = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
    world = World(args.kept)
    traps = sum(not p.same for p in world.pairs)
    head = [
        "# Requests that hardly recur",
        "",
        "**Asked here**: what does the cache do for an open assistant, where nearly every question comes only once or",
        'twice, so that no history tells which ones have the same answer? "10% of the traps" is a stream with few',
        'questions that only look alike, "100%" one with as many as can be.',
        "",
        f"Command: `python -m benchmarks.decide one-off --runs {args.runs} --out benchmarks/results`; date:",
        f"{started}; machine: {machine()}; all-MiniLM-L6-v2 int8, load {load:.1f} at the start.",
        "",
        f"{len(world.pairs)} natural pairs, {traps} of them traps, {args.runs} random orders of each stream, an empty",
        "cache at the start of each, no label but the backend's answers to misses. Orders share their pairs, so that",
        "intervals speak of orders, not of other pairs. Wrong: of what was served by meaning, over all orders.",
        "",
        "| stream and rule | served | wrong of them | right, of those possible |",
        "|---|---|---|---|",
    ]
    (args.out / "decide_one_off.md").write_text("\n".join([*head, *rows(world, args.runs)]) + "\n", "utf-8")
    return 0
