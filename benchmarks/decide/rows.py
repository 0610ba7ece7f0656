"""The rows of the table: each replays shuffles of a stream and says what was held and what was hit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.risk import Prior

from .data import Stream
from .freeform import FreeForm
from .layered import Run, Table, replay
from .replay import dice
from .replay import replay as ask

WINDOW, SETTLE = 1000, 500
"""After a change: requests that are judged, and those before them in which the cache may settle."""
BURST = 100
"""Requests that are judged right after a change."""


@dataclass
class Row:
    """What came of the runs of one row. `held` counts runs; a share is None if a run served nothing."""

    name: str
    bound: float
    runs: int = 0
    held: int = 0
    shares: list[float] = field(default_factory=list)
    nets: list[float] = field(default_factory=list)
    hits: int = 0
    wrong: int = 0
    states: dict[str, int] = field(default_factory=dict)

    def add(self, share: float, net: float, hits: int, wrong: int, *, held: bool, state: str = "") -> None:
        self.runs += 1
        self.held += held
        self.shares.append(share)
        self.nets.append(net)
        self.hits += hits
        self.wrong += wrong
        if state:
            self.states[state] = self.states.get(state, 0) + 1

    def line(self) -> str:
        low, high = interval(self.shares)
        net_low, net_high = interval(self.nets)
        return (
            f"{self.name:44s} held {self.held:2d}/{self.runs:<2d}  wrong {np.mean(self.shares):.4f}"
            f" [{low:.4f}, {high:.4f}] worst {max(self.shares):.4f}"
            f"  net {np.mean(self.nets):.3f} [{net_low:.3f}, {net_high:.3f}] least {min(self.nets):.3f}"
        )

    def export(self) -> dict[str, Any]:
        return {**vars(self), "share_wrong": float(np.mean(self.shares)), "net": float(np.mean(self.nets)),
                "share_interval": interval(self.shares), "net_interval": interval(self.nets)}  # fmt: skip


def interval(values: list[float]) -> tuple[float, float]:
    """95 % interval of the mean over runs, by 2,000 resamples of the runs."""
    rng, found = np.random.default_rng(0), np.asarray(values)
    means = rng.choice(found, (2000, found.size)).mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


@dataclass(frozen=True)
class Bench:
    """One stream with what is needed to replay it; `say` is told of each run."""

    stream: Stream
    table: Table
    prior: Prior | None
    glance: Prior | None
    runs: int
    say: Callable[[str], None]
    wordings: str = "report"
    first: int = 0
    """Seed of the first shuffle."""

    def _each(self, row: Row) -> Iterator[int]:
        for seed in range(self.first, self.first + self.runs):
            yield seed
            self.say(f"{row.name} shuffle {seed}: wrong {row.shares[-1]:.4f} net {row.nets[-1]:.3f}")

    def _run(self, stream: Stream, bound: float, answers: Callable[[int], str], of: dict[str, str] | None,
             truth: list[str], seed: int) -> Run:  # fmt: skip
        def right(row: int, answer: str) -> bool:
            return (of[answer] if of is not None else answer) == truth[row]

        priors = self.prior, self.glance
        return asyncio.run(replay(stream, self.table, bound, answers, right, seed=seed, priors=priors))

    def labels(self, bound: float) -> Row:
        """Answers are the classes' names."""
        row = Row(f"{self.stream.name} labels {bound:g}", bound)
        for seed in self._each(row):
            stream = self.stream.shuffled(seed)
            run = self._run(stream, bound, stream.classes.__getitem__, None, stream.classes, seed)
            _count(row, run)
        return row

    def freeform(self, bound: float) -> Row:
        """Answers are prose, eight wordings a class."""
        row = Row(f"{self.stream.name} free-form {bound:g}", bound)
        for seed in self._each(row):
            stream = self.stream.shuffled(seed)
            run = self._worded(stream, bound, FreeForm(stream.classes, self.wordings), seed)
            _count(row, run)
        return row

    def _worded(self, stream: Stream, bound: float, said: FreeForm, seed: int) -> Run:
        def answer(row: int) -> str:
            return said.answer(stream.classes[row], row, seed)

        return self._run(stream, bound, answer, said.class_of, stream.classes, seed)

    def drift(self, bound: float, kind: str) -> Row:
        """`kind` 'classes': the second half asks about other classes; 'answers': every answer changes half-way.

        Judged from 500 to 1,500 requests after the change. `nets` are the hits there, as a share of a fresh
        start's in its own requests 500 to 1,500 of the same second half.
        """
        row = Row(f"{self.stream.name} drift of {kind} {bound:g}", bound)
        for seed in self._each(row):
            stream, half, truth = _changing(self.stream.shuffled(seed), kind, seed)
            rest = stream.take(np.arange(half, len(stream.texts)))
            run = self._run(stream, bound, truth.__getitem__, None, truth, seed)
            fresh = self._run(rest, bound, truth[half:].__getitem__, None, truth[half:], seed + 1000)
            hits, wrong = run.window(half + SETTLE, half + SETTLE + WINDOW)
            base, _ = fresh.window(SETTLE, SETTLE + WINDOW)
            share, ratio = wrong / hits if hits else 0.0, hits / base if base else 1.0
            row.add(share, ratio, hits, wrong, held=share <= bound and ratio >= 0.7, state=run.state)
        return row

    def burst(self, bound: float) -> Row:
        """The first requests after the classes changed half-way, of which none was ever asked before.

        The share wrong, too, is one of requests: of hits there may be none.
        """
        row = Row(f"{self.stream.name} burst of classes {bound:g}", bound)
        for seed in self._each(row):
            begun, half = self._begun(seed)
            truth = begun.classes
            run = self._run(begun, bound, truth.__getitem__, None, truth, seed)
            _add_burst(row, *run.window(half, half + BURST), run.state)
        return row

    def static_burst(self, thresholds: list[float]) -> list[Row]:
        """The same, where the nearest entry is served whose cosine reaches the threshold."""
        rows = []
        for threshold in thresholds:
            row = Row(f"{self.stream.name} burst, cosine >= {threshold:.2f}", 0.01)
            for seed in self._each(row):
                begun, half = self._begun(seed)
                *_, hits, wrong = static(begun, threshold)
                *_, hits_before, wrong_before = static(begun.take(np.arange(half)), threshold)
                _add_burst(row, hits - hits_before, wrong - wrong_before)
            rows.append(row)
        return rows

    def _begun(self, seed: int) -> tuple[Stream, int]:
        """A stream up to the first requests after the classes changed, and where these begin."""
        stream, half, _ = _changing(self.stream.shuffled(seed), "classes", seed)
        return stream.take(np.arange(half + BURST)), half

    def latency(self) -> dict[str, float]:
        """Thread CPU microseconds of a decision, one shuffle at a bound of .01."""
        tally = ask(self.stream.shuffled(0), EvidenceDecider(random=dice(0), prior=self.prior), 0.01)
        p50, p99 = np.percentile(tally.seconds, [50, 99]) * 1e6
        return {"p50_us": round(float(p50)), "p99_us": round(float(p99)), "decisions": len(tally.seconds)}

    def static(self, thresholds: list[float]) -> list[Row]:
        """Serve the nearest entry where its cosine reaches the threshold."""
        rows = []
        for threshold in thresholds:
            row = Row(f"{self.stream.name} cosine >= {threshold:.2f}", 0.01)
            for seed in range(min(self.runs, 5)):
                share, hit, hits, wrong = static(self.stream.shuffled(seed), threshold)
                row.add(share, hit, hits, wrong, held=share <= 0.01)
            self.say(row.name)
            rows.append(row)
        return rows


def _count(row: Row, run: Run) -> None:
    row.add(
        run.share_wrong, run.net, run.similar, run.wrong,
        held=run.share_wrong <= row.bound, state=run.state,
    )  # fmt: skip


def _add_burst(row: Row, hits: int, wrong: int, state: str = "") -> None:
    row.add(wrong / BURST, hits / BURST, hits, wrong, held=wrong <= row.bound * BURST, state=state)


def _changing(stream: Stream, kind: str, seed: int) -> tuple[Stream, int, list[str]]:
    """The stream, where its second half begins, and the right answer of every row."""
    if kind == "answers":
        half = len(stream.texts) // 2
        return stream, half, [c if i < half else f"{c} (new)" for i, c in enumerate(stream.classes)]
    rng = np.random.default_rng(seed)
    names = sorted(set(stream.classes))
    early = set(rng.choice(names, len(names) // 2, replace=False).tolist())
    first = [i for i, c in enumerate(stream.classes) if c in early]
    second = [i for i, c in enumerate(stream.classes) if c not in early]
    changed = stream.take(np.array(first + second))
    return changed, len(first), changed.classes


def static(stream: Stream, threshold: float) -> tuple[float, float, int, int]:
    """(share wrong, hits of requests, hits, wrong)."""
    kept = np.empty_like(stream.vectors)
    classes: list[str] = []
    hits = wrong = 0
    for x, name in zip(stream.vectors, stream.classes, strict=True):
        scores = kept[: len(classes)] @ x
        best = int(scores.argmax()) if classes else -1
        if classes and scores[best] >= threshold:
            hits += 1
            wrong += classes[best] != name
            continue
        kept[len(classes)] = x
        classes.append(name)
    return (wrong / hits if hits else 0.0), hits / len(stream.texts), hits, wrong
