"""Traffic of other people's customers through a real cache, from an empty one, in many orders.

    python -m benchmarks.decide traffic --hint3 HINT3/dataset/v2 --covid-q COVID-Q/final_master_dataset.csv \\
        --bitext BITEXT/data --atis data/atis --sql data --out benchmarks/results

See traffic_data.py for where it comes from and what an answer is. Nothing was fitted to it, and no rule was written
after reading its errors. Runs are those of `cachelayer replay`. Writes decide_traffic.md and decide_traffic.png, which
wants matplotlib.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from record import command_of, machine

from cachelayer.cli.replay.shuffles import Orders, shuffled
from cachelayer.cli.traces.intervals import exact, percent
from cachelayer.cli.traces.progress import Meter
from cachelayer.cli.traces.read import Asked, Trace
from cachelayer.cli.traces.rivals import GRID, in_hindsight, thresholds
from cachelayer.cli.traces.run import Remembered, Run
from cachelayer.cli.traces.settings import config
from cachelayer.cli.traces.tally import Tally
from cachelayer.semantic.embed.onnx import OnnxEmbedder

from .traffic_data import READERS
from .traffic_picture import Panel, draw, point

BOUNDS = (0.01, 0.05)
ROW = tuple[str, ...]


async def measured(
    name: str, asked: list[Asked], orders: int, embedder: Remembered
) -> tuple[list[ROW], Panel]:
    """The rows of one stream: the layer at each bound, and the best threshold in hindsight, order by order."""
    trace, rows, panel = Trace(name, asked), list[ROW](), Panel(name.removesuffix(", customer support"))
    for bound in BOUNDS:
        runs, peers, sweeps = list[Tally](), list[float](), list[list[Tally]]()
        with Meter(f"{name} at {bound}", orders, sys.stderr) as update:
            for seed in range(orders):
                order = shuffled(trace, seed)
                runs.append(
                    await Run(order, config(f"max_error_rate={bound}"), embedder).run(lambda done: None)
                )
                vectors = embedder.vectors([one.text for one in order])
                swept, _ = thresholds(order, vectors, [*map(float, GRID)])
                sweeps.append(swept)
                best = in_hindsight(swept, bound)
                peers.append(0.0 if best is None else best.hit)
                update(seed + 1)
        rows.append(row(name, trace, Orders(f"{bound:g}", bound, runs), peers))
        if (served := point(runs)) is not None:
            panel.served[bound] = served
        panel.thresholds = [at for level in zip(*sweeps, strict=True) if (at := point([*level])) is not None]
    return rows, panel


def row(name: str, trace: Trace, of: Orders, peers: list[float]) -> ROW:
    """One line of the table."""
    wrong, similar = sum(run.wrong for run in of.runs), sum(run.similar for run in of.runs)
    hits = [run.hit for run in of.runs]
    return (
        name, f"{len(trace.asked):,}, {len({one.truth for one in trace.asked})}", of.name,
        f"{sum(hits) / len(hits):.0%} ({min(hits):.0%} to {max(hits):.0%})",
        f"{wrong / similar:.2%} ({wrong} of {similar:,})" if similar else "-",
        percent(exact(wrong // len(of.runs), similar // len(of.runs))) if similar else "-",
        f"{sum(peers) / len(peers):.0%}",
    )  # fmt: skip


async def table(streams: dict[str, list[Asked]], orders: int) -> tuple[list[ROW], list[Panel]]:
    """The rows and panels of all streams; each text is embedded once."""
    model, rows, panels = OnnxEmbedder(), list[ROW](), list[Panel]()
    await model.start()
    try:
        for name, asked in streams.items():
            embedder = Remembered(model)
            await embedder.learn([one.text for one in asked], lambda done: None)
            told, panel = await measured(name, asked, orders, embedder)
            rows += told
            panels.append(panel)
            print(" | ".join(rows[-2]), " | ".join(rows[-1]), sep="\n", flush=True)
    finally:
        await model.aclose()
    return rows, panels


def page(rows: list[ROW], orders: int, started: str, load: float) -> str:
    """The result page."""
    lines = [
        "# Traffic of other people's customers",
        "",
        "**Asked here**: what does the cache save on questions that customers put to chatbots, on data that nothing",
        "here was fitted to? *Hits*: requests answered without the model, shadow checks subtracted. *Wrong*: of the",
        "similar answers, those that belong to another label.",
        "",
        "Command: `python -m benchmarks.decide traffic --hint3 HINT3/dataset/v2",
        "--covid-q COVID-Q/final_master_dataset.csv --bitext BITEXT/data --atis data/atis --sql data",
        f"--orders {orders} --out benchmarks/results`",
        f"Date: {started}. Machine: {machine()}, load {load:.1f} at the start.",
        f"Every stream in {orders} random orders, each from an empty cache, without labels. Intervals: 95 %, for the",
        "requests of one order (Clopper-Pearson), since all orders ask the same ones. *By cosine*: hits of the",
        "threshold that, chosen in hindsight in each order, keeps wrong answers within the same bound. Where the data",
        "comes from, and what counts as an answer: `benchmarks/decide/traffic_data.py`.",
        "",
        "| stream | requests, answers | budget | hits: mean (least to most) | wrong of similar | 95 % | by cosine |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(one)} |" for one in rows),
        "",
        "![hits against wrong answers, of the layer and of every threshold](decide_traffic.png)",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> int:
    streams = {
        name: asked
        for option, reader in READERS.items() if (path := getattr(args, option)) is not None
        for name, asked in reader(path).items()
    }  # fmt: skip
    if not streams:
        args.error("name at least one: --hint3, --covid-q, --bitext, --atis, --sql")
    started, load = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
    rows, panels = asyncio.run(table(streams, args.orders))
    if args.out:
        (args.out / "decide_traffic.md").write_text(page(rows, args.orders, started, load), "utf-8")
        draw(panels, args.out / "decide_traffic.png")
    return 0


def add(commands: Any) -> None:
    parser = command_of(commands, "traffic", "streams of other people's customers", __doc__)
    for name, reader in READERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, help=(reader.__doc__ or "").strip())
    parser.add_argument("--orders", type=int, default=10, help="random orders of each stream (default 10)")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.set_defaults(run=run, error=parser.error)
