"""Draws what benchmarks/partial.py measured: calls by way of caching, and the agent's."""

from __future__ import annotations

import pathlib
from textwrap import fill
from typing import Any


def plot(told: dict[str, Any], path: pathlib.Path) -> None:
    """Bars of calls; stale answers are written above. Nothing without the parts; needs matplotlib."""
    if "rag" not in told or "agent" not in told:
        return
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.2))
    _bars(left, told["rag"], "way", ("retriever", "reranker", "model"))
    for place, row in enumerate(told["rag"]):
        left.text(
            place, max(row["retriever"], row["model"]) + 30, f"{row['stale answers']} stale", ha="center"
        )
    left.margins(y=0.1)  # room for what is written above
    left.set_title("RAG: calls for the same questions, documents edited meanwhile")
    _bars(right, told["agent"], "", [name for name in told["agent"][0] if name not in ("", "acts skipped")])
    right.set_title(f"agent: calls of the same turns; acts skipped: {told['agent'][1]['acts skipped']}")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _bars(axis: Any, rows: list[dict[str, Any]], label: str, names: Any) -> None:
    width = 0.8 / len(names)
    for shift, name in enumerate(names):
        places = [place + (shift - (len(names) - 1) / 2) * width for place in range(len(rows))]
        axis.bar(places, [row[name] for row in rows], width, label=name)
    axis.set_xticks(range(len(rows)), [fill(row[label], 18) for row in rows], fontsize=8)
    axis.set_ylabel("calls")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25, axis="y")
