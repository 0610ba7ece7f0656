"""Traps in a function with a history: what is asked contradicts what all its neighbours say.

    python -m benchmarks.decide warmed stream_clinc150.jsonl.gz --vectors FOLDER --out benchmarks/results

A stream is asked together with families of requests (warmed_families.txt): one thing in several wordings, of one
answer. Then each family is asked for other things, which need other answers, in all its wordings (traps), and in one
wording that was kept back for what was asked before (true ones). Writes decide_warmed.md; with
`--families benchmarks/decide/warmed_trades.txt`, which are of other trades, decide_warmed_trades.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from record import command_of, machine

from cachelayer.observe.quality import wilson

from .data import Stream, Vectors, load, vectors
from .layered import Table, replay

FAMILIES = Path(__file__).parent / "warmed_families.txt"
BOUNDS = (0.01, 0.05)
BEFORE = 2500
"""Requests of the stream that are asked with the families."""
KEPT_BACK = 1
THRESHOLDS = [round(0.5 + 0.01 * i, 2) for i in range(50)]
"""Of cosine, of which the least is chosen that serves no more traps wrongly, else the last."""


@dataclass(frozen=True)
class Family:
    """One thing asked in several ways, and what is asked in its place."""

    name: str
    half: str
    """Whether it was looked at while the decider was written: the heading above it."""
    asked: str
    others: tuple[str, ...]
    ways: tuple[str, ...]

    def said(self, thing: str, ways: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Requests for a thing, and their answer."""
        for way in ways:
            yield way.format(thing), f"{self.name}: {thing}"


def families(path: Path = FAMILIES) -> list[Family]:
    """In the order of the file."""
    out, half = list[Family](), ""
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            half = line.removeprefix("## ")
        elif "{}" not in line:
            name, things = line.split(": ")
            asked, *others = things.split(" | ")
            out.append(Family(name, half, asked, tuple(others), ()))
        else:
            last = out.pop()
            out.append(Family(last.name, last.half, last.asked, last.others, (*last.ways, line)))
    return out


def asked(stream: Stream, found: list[Family], seed: int, kept: Path) -> tuple[Stream, int, list[str]]:
    """The whole stream; how many requests come before the last ones, and of what kind each of these is. `kept`: where
    the vectors of the families are."""
    rng = random.Random(seed)
    rows = list(range(len(stream.texts)))
    rng.shuffle(rows)
    before = [(stream.texts[i], stream.classes[i]) for i in rows[:BEFORE]]
    after: list[tuple[tuple[str, str], str]] = []
    for f in found:
        before += f.said(f.asked, f.ways[:-KEPT_BACK])
        after += [(one, f"true, {f.half}") for one in f.said(f.asked, f.ways[-KEPT_BACK:])]
        after += [(one, f"trap, {f.half}") for thing in f.others for one in f.said(thing, f.ways)]
    rng.shuffle(before)
    rng.shuffle(after)
    pairs = [*before, *(one for one, _ in after)]
    own = sorted({text for f in found for thing in (f.asked, *f.others) for text, _ in f.said(thing, f.ways)})
    at = dict(zip(own, vectors(own, kept), strict=True))
    at |= dict(zip(stream.texts, stream.vectors, strict=True))
    every = np.array([at[text] for text, _ in pairs])
    return (
        Stream(stream.name, [t for t, _ in pairs], [c for _, c in pairs], every),
        len(before),
        [k for _, k in after],
    )


def _right(named: Callable[[int], str], row: int, answer: str) -> bool:
    return named(row) == answer


def measured(stream: Stream, found: list[Family], bound: float, runs: int, kept: Path) -> Iterator[str]:
    """A row for each kind of request: how many, how many were served, and wrongly; and what a threshold would serve."""
    count: dict[str, list[int]] = {}
    static = [dict[str, list[int]]() for _ in THRESHOLDS]
    for seed in range(runs):
        whole, before, kinds = asked(stream, found, seed, kept)
        named = whole.classes.__getitem__
        ran = replay(
            whole, Table(whole.texts, whole.vectors), bound, named, partial(_right, named), seed=seed
        )
        _add(count, kinds, asyncio.run(ran).path[before:])
        near = whole.vectors @ whole.vectors.T
        for threshold, counted in zip(THRESHOLDS, static, strict=True):
            _add(counted, kinds, by_cosine(whole.classes, near, threshold)[before:])
    failed = _traps_failed(count)
    at = next((i for i, counted in enumerate(static) if _traps_failed(counted) <= failed), len(static) - 1)
    for kind, (number, right, wrong) in sorted(count.items()):
        low, high = wilson(wrong, number)
        told = f"{right / number:.3f} | {wrong / number:.3f} [{low:.3f}, {high:.3f}]"
        _, also, astray = static[at][kind]
        beside = f"{also / number:.3f} | {astray / number:.3f}"
        yield f"| {stream.name} | {bound:g} | {kind} | {number} | {told} | {beside} |"


def _add(count: dict[str, list[int]], kinds: list[str], path: list[tuple[bool, bool]]) -> None:
    for kind, (served, wrong) in zip(kinds, path, strict=True):
        row = count.setdefault(kind, [0, 0, 0])
        row[0] += 1
        row[1] += served and not wrong
        row[2] += wrong


def _traps_failed(count: dict[str, list[int]]) -> int:
    return sum(wrong for kind, (_, _, wrong) in count.items() if kind.startswith("trap"))


def by_cosine(classes: list[str], near: Vectors, threshold: float) -> list[tuple[bool, bool]]:
    """Of every request whether a cache that knows a threshold alone serves it, and wrongly. `near` (n, n)."""
    stored, out = list[int](), list[tuple[bool, bool]]()
    for row in range(len(classes)):
        best = stored[int(near[row, stored].argmax())] if stored else -1
        served = best >= 0 and float(near[row, best]) >= threshold
        out.append((served, served and classes[best] != classes[row]))
        if not served:
            stored.append(row)
    return out


def add(commands: Any) -> None:
    """The command `warmed`."""
    parser = command_of(commands, "warmed", "traps in a function with a history", __doc__)
    parser.add_argument("files", nargs="+", type=Path, help="streams that make the history")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--families", type=Path, default=FAMILIES, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=3, help="orders of each stream (default %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print, write."""
    started, load_before = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
    files = " ".join(path.name for path in args.files)
    if args.families != FAMILIES:
        files += f" --families {args.families.name}"
    head = [
        "# Traps in a function with a history",
        "",
        "**Asked here**: a function knows ten ways to have the heater turned on, all of one answer. What does it make",
        'of "turn the heater off"? Neighbours agree there, and are all wrong. *Traps* need an answer that was never',
        "given before, or only to other traps; *true* ones are further wordings of what was asked. The families of",
        f"requests: `benchmarks/decide/{args.families.name}`, some of them written when the code stood.",
        "",
        f"Command: `python -m benchmarks.decide warmed {files} --vectors FOLDER --runs {args.runs}",
        "--out benchmarks/results`;",
        f"date: {started}; machine: {machine()}; load {load_before:.1f} at the start.",
        f"{BEFORE:,} requests of the stream and the families come before; {args.runs} orders. Brackets: 95 % (Wilson),",
        "of all of a kind in all orders, which are no independent ones. By cosine: a cache that knows a threshold",
        "alone, the least one up to .99, chosen on these very requests, that serves no more traps wrongly; else .99.",
        "",
        "| history | bound | requests | number | served rightly | served wrongly | by cosine, rightly | wrongly |",
        "|---|---|---|---|---|---|---|---|",
    ]
    found, kept = families(args.families), args.vectors / f"{args.families.stem}.npy"
    rows = []
    for path in args.files:
        stream = load(path, args.vectors)
        for bound in BOUNDS:
            for row in measured(stream, found, bound, args.runs, kept):
                rows.append(row)
                print(row, flush=True)
    name = f"decide_{args.families.stem.removesuffix('_families')}.md"
    (args.out / name).write_text("\n".join([*head, *rows]) + "\n")
    return 0
