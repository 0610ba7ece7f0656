"""Streams of requests through cachelayer and through static thresholds: hits against realised error."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from record import command_of, machine

from cachelayer.semantic.evidence.risk import Prior

from .data import Stream, load, vectors
from .freeform import FreeForm
from .layered import Table
from .rows import Bench, Row

ROWS = ("labels", "bounds", "freeform", "drift", "burst", "static", "latency")
BOUNDS = (0.005, 0.02, 0.05)
THRESHOLDS = [0.75, 0.80, 0.85, 0.90, 0.95]
_HELP = """\
Each stream is asked through `CacheLayer` itself, empty and without labels at the start, once per shuffle. The
backend answers with the class's name (labels, bounds, drift) or with prose in eight wordings a class (freeform).
Wrong: the answer served belongs to another class. Net hits: requests less backend calls, checks included.

  labels    --bound (default .01)
  bounds    .005, .02 and .05
  freeform  the same with prose; some classes differ in one fact only
  drift     half-way other classes, or other answers to all: judged 500 to 1,500 requests later; 'net' is the
            hits as a share of those of a fresh start
  burst     the first 100 requests after other classes came: shares of these requests, beside fixed thresholds
  static    a fixed cosine threshold, five shuffles
  latency   of a decision among 8 candidates, thread CPU time, without embedding and search

Vectors are made once with the package's own embedder and kept in --vectors. Give --prior with weights that were
fitted without the classes of the stream (benchmarks.decide.train), else the figures flatter."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = command_of(commands, "streams", "streams of requests with a class each", _HELP)
    parser.add_argument("files", nargs="+", type=Path, help="gzipped lines of {q, cls}")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--part", choices=("tune", "report"), help="only this half of the classes")
    parser.add_argument("--prior", type=Path, help="weights to start from (default: those shipped)")
    parser.add_argument("--glance", type=Path, help="the same for guessed vectors (train_glance)")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--bound", type=float, default=0.01)
    parser.add_argument("--runs", type=int, default=20, help="shuffles (default 20)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first shuffle, to split a long job")
    parser.add_argument("--wordings", choices=("tune", "report"), default="report")
    parser.add_argument("--quiet", action="store_true", help="rows only, no line per run")
    parser.add_argument("--out", type=Path, help="write this JSON file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    prior, glance = (Prior(**np.load(path)) if path else None for path in (args.prior, args.glance))
    found: list[Row] = []
    timed: dict[str, dict[str, float]] = {}
    started = time.monotonic()
    for path in args.files:
        stream = load(path, args.vectors)
        if args.part:
            stream = stream.of_part(args.part)
        print(f"{stream.name}: {len(stream.texts)} requests, {len(set(stream.classes))} classes", flush=True)
        table = _table(stream, args.vectors, args.wordings if "freeform" in args.rows else "")

        def say(text: str) -> None:
            if not args.quiet:
                print(f"  {time.monotonic() - started:6.0f} s  {text}", flush=True)

        bench = Bench(stream, table, prior, glance, args.runs, say, args.wordings, args.first)
        for row in _rows(bench, args):
            print(row.line(), flush=True)
            found.append(row)
        if "latency" in args.rows:
            timed[stream.name] = bench.latency()
            print(f"{stream.name} decision: {timed[stream.name]}", flush=True)
    if args.out:
        _write(args, found, timed)
    return 0


def _rows(bench: Bench, args: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    if "labels" in args.rows:
        rows.append(bench.labels(args.bound))
    if "bounds" in args.rows:
        rows += [bench.labels(b) for b in BOUNDS]
    if "freeform" in args.rows:
        rows.append(bench.freeform(args.bound))
    if "drift" in args.rows:
        rows += [bench.drift(args.bound, kind) for kind in ("classes", "answers")]
    if "burst" in args.rows:
        rows += [bench.burst(args.bound), *bench.static_burst(THRESHOLDS)]
    if "static" in args.rows:
        rows += bench.static(THRESHOLDS)
    return rows


def _table(stream: Stream, kept: Path, wordings: str) -> Table:
    texts, found = list(stream.texts), stream.vectors
    if wordings:
        said = FreeForm(stream.classes, wordings).texts
        mark = hashlib.sha1("\n".join(said).encode()).hexdigest()[:10]
        texts += said
        found = np.concatenate([found, vectors(said, kept / f"said-{mark}.npy")])
    return Table([t.strip() for t in texts], found)


def _write(args: argparse.Namespace, rows: list[Row], timed: dict[str, dict[str, float]]) -> None:
    told = {
        "command": "python -m benchmarks.decide streams " + " ".join(f.name for f in args.files)
        + (f" --part {args.part}" if args.part else "") + (f" --prior {args.prior.name}" if args.prior else ""),
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "rows": [row.export() for row in rows],
        "decision": timed,
    }  # fmt: skip
    args.out.write_text(json.dumps(told, indent=1) + "\n")
