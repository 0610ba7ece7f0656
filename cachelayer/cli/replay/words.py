"""A replay in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..charts import duration
from ..terminal import table
from ..traces import tally
from ..traces.intervals import limit
from ..traces.read import Asked
from ..traces.tally import Tally
from .result import Replayed

HEAD = ("run", *tally.HEAD, "wrong of all", "calls", "checks", "saved")
HINDSIGHT = "threshold in hindsight"


def peeking(run: Tally) -> Tally:
    """The best threshold, under the name that says how it was chosen."""
    return replace(run, name=f"{HINDSIGHT} ({run.name})")


def rows(found: Replayed) -> list[tuple[str, ...]]:
    """The table, in the order of `HEAD`."""
    return [
        (run.name, *run.cells(), f"{run.error:.2%}", f"{run.calls:,}", f"{run.checks:,}", spared(run, found))
        for run in found.rows
    ]


def spared(run: Tally, found: Replayed) -> str:
    """Calls, and where they are known seconds and money, that the run did without."""
    calls = run.hits - run.checks
    parts = [f"{calls:,} calls"]
    seconds = mean_latency(found.trace.asked)
    if seconds:
        parts.append(duration(max(calls * seconds, 0.0)))
    if found.cost:
        parts.append(f"${calls * found.cost:,.2f}")
    return ", ".join(parts)


def mean_latency(asked: list[Asked]) -> float | None:
    """Mean seconds of a backend call, where the trace tells."""
    known = [one.latency for one in asked if one.latency is not None]
    return sum(known) / len(known) if known else None


def closing(found: Replayed) -> Iterator[str]:
    """The table and what it takes to read it."""
    yield ""
    yield from table(HEAD, rows(found))
    yield ""
    if found.orders:
        yield from table(found.orders_head, [one.row() for one in found.orders])
        yield ""
    yield from notes(found)


def notes(found: Replayed) -> Iterator[str]:
    """What the figures mean."""
    yield (
        "net hits: share of requests answered without the backend, shadow checks subtracted (Wilson interval); "
        "wrong: the answer has another label, or is another text (Clopper-Pearson interval)."
    )
    yield (
        "Thresholds serve the nearest earlier request of the same scope; the one in hindsight is the best that keeps "
        f"wrong answers to {limit(found.bound)}, chosen with the labels of this same trace. The oracle knows every "
        "answer."
    )
    changed = max((len(run.changed) for run in found.rows), default=0)
    if changed:
        yield (
            f"{changed:,} exact repeats were answered differently in the trace: a sampled backend, or facts that "
            "changed (see ttl)."
        )
    for run in found.layers:
        for name, bounds in run.state.items():
            for bound, account in bounds.items():
                if isinstance(account, dict) and "state" in account:
                    again = account.get("repeats_checked", 0)
                    beside = f"; {again} more of retyped requests, which it does not cover" if again else ""
                    checks = f"{account.get('checks', 0)} shadow checks{beside}"
                    yield f"{run.name}: error budget {bound} of {name}: {account['state']} after {checks}"
