"""The calibration, put together: split, runs, choice, recommendation, report."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..replay.words import opening
from ..terminal import say
from ..traces import options
from ..traces.read import Trace
from ..traces.rivals import GRID, Nearest, oracle, thresholds
from ..traces.run import Run
from ..traces.settings import Config, config
from ..traces.tally import Tally
from ..traces.told import aside, tell
from . import words
from .choose import BOUNDS, Choice, choose, split
from .page import page


@dataclass(frozen=True, slots=True)
class Calibrated:
    """All that came of a calibration. Runs are over the whole trace; `cut` is where the reported part begins."""

    trace: Trace
    cut: int
    target: float
    base: Config
    runs: list[Tally]
    grid: list[Tally]
    best: Tally
    nearest: Nearest
    choice: Choice
    cost: float | None

    def held_out(self, run: Tally) -> Tally:
        """What is reported of a run."""
        return run.part(self.cut)

    def settings(self) -> dict[str, Any]:
        """The recommended fields of `Policy`, the owner's own included."""
        if self.choice.run is None:
            return {**self.base.given, "semantic": False}
        return {**self.base.given, "max_error_rate": self.choice.run.bound}

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        run = self.choice.run
        return {
            "trace": self.trace.name, "chosen_on": self.cut, "reported_on": len(self.trace.asked) - self.cut,
            "target": self.target, "verdict": self.choice.verdict, "settings": self.settings(),
            "expected": None if run is None else self.held_out(run).plain(),
            "runs": [
                {"max_error_rate": run.bound, "chosen_on": run.part(0, self.cut).plain(),
                 "reported_on": self.held_out(run).plain()}
                for run in self.runs
            ],
            "oracle": self.held_out(self.best).plain(),
        }  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """`cachelayer calibrate`; the exit status."""
    base = config(args.base)
    trace, cut = split(options.trace_of(args), args.fit)
    say(opening(trace), aside(args))
    found = asyncio.run(calibrate(args, trace, cut, base))
    tell(args, words.recommendation(found), found.plain(), partial(page, found))
    return 0


async def calibrate(args: argparse.Namespace, trace: Trace, cut: int, base: Config) -> Calibrated:
    """Every error budget over the trace, thresholds beside them, and the choice."""
    embedder = await options.embedded(trace, args)
    runs = []
    for bound in sorted({*BOUNDS, args.target} - {0.0}):
        one = replace(base, name=f"{bound:.1%}", policy=base.policy.override(max_error_rate=bound))
        meter = options.progress(args, f"error budget {one.name}", len(trace.asked))
        runs.append(await Run(trace.asked, one, embedder).run(meter.update))
        meter.end()
    vectors = embedder.vectors([one.text for one in trace.asked])
    grid, nearest = thresholds(trace.asked, vectors, [float(level) for level in GRID])
    choice = choose(runs, cut, args.target)
    return Calibrated(
        trace, cut, args.target, base, runs, grid, oracle(trace.asked), nearest, choice, args.call_cost
    )
