"""The replay, put together: trace, runs, table, report."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial

from ..terminal import say
from ..traces import options
from ..traces.output import opening, text_stream, write_output
from ..traces.read import Trace
from ..traces.rivals import GRID, in_hindsight, oracle, thresholds
from ..traces.run import Remembered, Run
from ..traces.settings import Config, config
from ..traces.tally import Tally
from . import words
from .page import page
from .result import Replayed
from .shuffles import orders

SHOWN = (0.8, 0.9, 0.95)


def run(args: argparse.Namespace) -> int:
    """`cachelayer replay`; the exit status."""
    configs = [config(text) for text in args.config or ("exact", "default")]
    trace = options.trace_of(args)
    say(opening(trace), text_stream(args))
    found = asyncio.run(replay(args, trace, configs))
    write_output(args, words.closing(found), found.plain(), partial(page, found))
    return 0


async def replay(args: argparse.Namespace, trace: Trace, configs: list[Config]) -> Replayed:
    """Every configuration, every threshold, the oracle."""
    async with options.embedded(trace, args) as embedder:
        return await _replayed(args, trace, configs, embedder)


async def _replayed(
    args: argparse.Namespace, trace: Trace, configs: list[Config], embedder: Remembered
) -> Replayed:
    layers = [await _through(one, trace, embedder, args) for one in configs]
    given = args.threshold or SHOWN
    levels = sorted({*(float(level) for level in GRID), *given})
    vectors = embedder.vectors([one.text for one in trace.asked])
    with options.progress(args, "thresholds", len(trace.asked)) as update:
        runs, nearest = thresholds(trace.asked, vectors, levels, update)
    shown = [runs[levels.index(level)] for level in sorted(given)]
    peeked = in_hindsight(runs, args.bound)
    if peeked is not None:
        shown.append(words.peeking(peeked))
    many = await orders(trace, configs, embedder, args)
    return Replayed(
        trace, layers, shown, runs, oracle(trace.asked), nearest, args.bound, args.call_cost, many
    )


async def _through(one: Config, trace: Trace, embedder: Remembered, args: argparse.Namespace) -> Tally:
    with options.progress(args, one.name, len(trace.asked)) as update:
        return await Run(trace.asked, one, embedder).run(update)
