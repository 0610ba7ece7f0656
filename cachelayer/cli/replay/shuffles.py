"""The same requests in many orders: in one order a bound may hold by luck, in twenty by the method."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..charts import NOTHING
from ..traces import options
from ..traces.intervals import exact, percent
from ..traces.read import Asked, Trace
from ..traces.run import Remembered, Run
from ..traces.settings import Config
from ..traces.tally import Tally

HEAD = (
    "over {n} orders",
    "net hits, mean",
    "least-most",
    "wrong of similar, all",
    "95 %",
    "worst order",
    "bound kept",
)


@dataclass(frozen=True, slots=True)
class Orders:
    """One configuration over several orders."""

    name: str
    bound: float
    """The configuration's own `max_error_rate`."""
    runs: list[Tally]

    @property
    def kept(self) -> int:
        """Orders in which the share of wrong answers among similar ones stayed within the bound."""
        return sum(run.share_wrong <= self.bound for run in self.runs)

    def row(self) -> tuple[str, ...]:
        """In the order of `HEAD`."""
        hits = [run.hit for run in self.runs]
        wrong, similar = sum(run.wrong for run in self.runs), sum(run.similar for run in self.runs)
        return (
            self.name,
            f"{sum(hits) / len(hits):.1%}",
            f"{min(hits):.0%}-{max(hits):.0%}",
            f"{wrong / similar:.2%}" if similar else NOTHING,
            percent(exact(wrong, similar)) if similar else NOTHING,
            f"{max(run.share_wrong for run in self.runs):.2%}",
            f"{self.kept} of {len(self.runs)} ({self.bound:g})",
        )

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "bound": self.bound,
            "kept": self.kept,
            "runs": [r.plain() for r in self.runs],
        }


def shuffled(trace: Trace, seed: int) -> list[Asked]:
    """The requests in another order, without their times; the two of a pair stay together."""
    size = 2 if trace.pairs else 1
    units = [trace.asked[i : i + size] for i in range(0, len(trace.asked), size)]
    random.Random(seed).shuffle(units)
    return [replace(one, at=None) for unit in units for one in unit]


async def orders(
    trace: Trace, configs: Sequence[Config], embedder: Remembered, args: argparse.Namespace
) -> list[Orders]:
    """Every configuration that serves similar answers, over as many orders as the command line asks for."""
    if not args.shuffles:
        return []
    out = []
    for one in configs:
        if one.policy.semantic is False:
            continue
        runs = []
        with options.progress(args, f"{one.name}, shuffled", args.shuffles) as update:
            for seed in range(args.shuffles):
                runs.append(await Run(shuffled(trace, seed), one, embedder).run(lambda done: None))
                update(seed + 1)
        out.append(Orders(one.name, one.policy.max_error_rate, runs))
    return out


def head(found: Sequence[Orders]) -> tuple[str, ...]:
    """The names of the columns."""
    return (HEAD[0].format(n=len(found[0].runs)), *HEAD[1:])
