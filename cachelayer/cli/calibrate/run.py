"""The calibration, put together: split, runs, choice, recommendation, report."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from functools import partial

from ..terminal import say
from ..traces import options
from ..traces.intervals import limit
from ..traces.output import opening, text_stream, write_output
from ..traces.read import Trace
from ..traces.rivals import GRID, oracle, thresholds
from ..traces.run import Remembered, Run
from ..traces.settings import Config, config
from . import words
from .choose import BOUNDS, choose, split
from .page import page
from .result import Calibrated


def run(args: argparse.Namespace) -> int:
    """`cachelayer calibrate`; the exit status."""
    base = config(args.base)
    trace, cut = split(options.trace_of(args), args.fit)
    say(opening(trace), text_stream(args))
    found = asyncio.run(calibrate(args, trace, cut, base))
    write_output(args, words.recommendation(found), found.plain(), partial(page, found))
    return 0


async def calibrate(args: argparse.Namespace, trace: Trace, cut: int, base: Config) -> Calibrated:
    """Every error budget over the trace, thresholds beside them, and the choice."""
    async with options.embedded(trace, args) as embedder:
        return await _calibrated(args, trace, cut, base, embedder)


async def _calibrated(
    args: argparse.Namespace, trace: Trace, cut: int, base: Config, embedder: Remembered
) -> Calibrated:
    runs = []
    for budget in sorted({*BOUNDS, args.target} - {0.0}):
        one = replace(base, name=limit(budget), policy=base.policy.override(max_error_rate=budget))
        with options.progress(args, f"error budget {one.name}", len(trace.asked)) as update:
            runs.append(await Run(trace.asked, one, embedder).run(update))
    vectors = embedder.vectors([one.text for one in trace.asked])
    with options.progress(args, "thresholds", len(trace.asked)) as update:
        grid, nearest = thresholds(trace.asked, vectors, [float(level) for level in GRID], update)
    choice = choose(runs, cut, args.target)
    return Calibrated(
        trace, cut, args.target, base, runs, grid, oracle(trace.asked), nearest, choice, args.call_cost
    )
