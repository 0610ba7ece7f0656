"""The promise's states in a world whose error rate is known: unverified, holding, certified or stopped.

python -m benchmarks.decide chain --runs 40 --out benchmarks/results/decide_chain.json

Requests scatter about a few directions, so that the neighbours agree and misses show nothing wrong. Every answer
served is wrong with a probability that only shadow checks can find out. Simulated is the decider itself, from its
first request on; at any time the interval must hold the true probability in 95 % of the runs, and a scope that
keeps its bound must be stopped in at most 1 %.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import command_of, machine

from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.types import Candidate, Query

STATES = ("unverified", "holding", "certified", "stopped")
_EVERY, _NEAR, _DIMENSION, _ANSWERS = 50, 8, 32, 8


@dataclass
class Course:
    """One run: the state at every 50th request, and whether the interval ever missed the true rate."""

    states: list[str] = field(default_factory=list)
    intervals: list[tuple[float, float]] = field(default_factory=list)
    hits: int = 0
    wrong: int = 0
    missed: bool = False


def simulate(rate: float, *, bound: float, shadow: float | str, requests: int, seed: int) -> Course:
    """Ask one decider; what it serves is wrong with probability `rate`."""
    rng, coin = np.random.default_rng(seed), random.Random(seed)
    decider = EvidenceDecider(random=random.Random(seed + 1).random, shadow=shadow)
    centres = _unit(rng.normal(size=(_ANSWERS, _DIMENSION)))
    kept, answers = np.zeros((requests, _DIMENSION), np.float32), list[str]()
    course = Course()
    for number in range(requests):
        which = int(rng.integers(_ANSWERS))
        x = _unit(centres[which] + 0.05 * rng.normal(size=_DIMENSION))
        query, found = Query(f"request {number}", x), _search(kept, answers, x)
        decision = decider.decide("f", b"", query, found, bound)
        if decision.entry is None:
            decider.observe("f", b"", query, found, f"answer {which}", None)
            kept[len(answers)] = x
            answers.append(f"answer {which}")
            decider.stored(len(answers) - 1, "f", b"", query, answers[-1])
            kept[list(decider.leaving())] = 0.0
        else:
            wrong = coin.random() < rate
            course.hits += 1
            course.wrong += wrong
            if decision.shadow:
                truth = "another answer" if wrong else answers[decision.entry]
                decider.observe("f", b"", query, found, truth, decision.entry)
        if number % _EVERY == _EVERY - 1:
            told = decider.stats()["f"][str(bound)]
            course.states.append(told["state"])
            course.intervals.append(told["interval"])
            course.missed |= not told["interval"][0] <= rate <= told["interval"][1]
    return course


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return unit


def _search(kept: NDArray[np.float32], answers: list[str], x: NDArray[np.float32]) -> list[Candidate]:
    scores = kept[: len(answers)] @ x
    order = np.argsort(-scores)[:_NEAR]
    return [Candidate(int(i), float(scores[i]), f"text {i}", answers[i]) for i in order if scores[i] > 0]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = command_of(
        commands, "chain", "states of the promise and coverage of its interval, simulated", __doc__
    )
    parser.add_argument("--runs", type=int, default=40, help="runs per error rate (default 40)")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--bound", type=float, default=0.05)
    parser.add_argument("--shadow", type=float, default=0.25, help="share of hits checked")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.05, 0.2], help="true error rates")
    parser.add_argument("--out", type=Path, required=True, help="a .json; the plot goes beside it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    told: dict[str, Any] = {
        "command": "python -m benchmarks.decide " + " ".join(sys.argv[1:]),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "bound": args.bound, "shadow": args.shadow, "runs": args.runs, "requests": args.requests, "rates": {},
    }  # fmt: skip
    for rate in args.rates:
        courses = [
            simulate(rate, bound=args.bound, shadow=args.shadow, requests=args.requests, seed=seed)
            for seed in range(args.runs)
        ]
        last = Counter(c.states[-1] for c in courses)
        stopped = sum("stopped" in c.states for c in courses)
        missed = sum(c.missed for c in courses)
        print(
            f"true rate {rate:g}: last {dict(last)}, ever stopped {stopped}, interval missed {missed} of {args.runs}"
        )
        told["rates"][str(rate)] = {
            "last": last, "ever_stopped": stopped, "interval_missed": missed, "states": [c.states for c in courses],
            "example": courses[0].intervals,
        }  # fmt: skip
    args.out.write_text(json.dumps(told) + "\n")
    draw(told, args.out.with_suffix(".png"))
    return 0


def draw(told: dict[str, Any], path: Path) -> None:
    """Per error rate: how many runs are in which state as requests come, and one run's interval."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rates = told["rates"]
    figure, axes = plt.subplots(2, len(rates), figsize=(5 * len(rates), 7), squeeze=False, sharex=True)
    for column, (rate, found) in enumerate(rates.items()):
        steps = np.arange(1, len(found["states"][0]) + 1) * _EVERY
        shares = [
            [np.mean([s[i] == name for s in found["states"]]) for i in range(len(steps))] for name in STATES
        ]
        axes[0][column].stackplot(
            steps, shares, labels=STATES, colors=["lightgrey", "tab:blue", "tab:green", "tab:red"]
        )
        axes[0][column].set(
            title=f"true error rate {rate}, bound {told['bound']:g}", ylabel="share of runs", ylim=(0, 1)
        )
        low, high = zip(*found["example"], strict=True)
        axes[1][column].fill_between(
            steps, low, high, alpha=0.3, label="interval of one run, 95 % at any time"
        )
        axes[1][column].axhline(float(rate), color="black", linewidth=1, label="true rate")
        axes[1][column].axhline(told["bound"], color="tab:red", linestyle=":", label="bound")
        axes[1][column].set(xlabel="requests", ylabel="error rate", ylim=(0, 0.5))
    axes[0][0].legend(loc="lower left", fontsize=8)
    axes[1][0].legend(loc="upper right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
