"""Draws what benchmarks/similar.py measured of one task; needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plot(one: dict[str, Any], out: Path) -> None:
    """Where the time of a hit at a glance goes; beside it one by its vector, and the embedder alone."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 2.8))
    at = 0.0
    colours = {"search": "#dd8452", "verify": "#55a868", "rest": "#8c8c8c"}
    for stage, colour in colours.items():
        took = one[f"at a glance, {stage}"]
        axes.barh(2, took, left=at, color=colour, label=f"{stage} {took:,.0f} us")
        at += took
    late, alone = one["with its vector p50, p99"][0], one["embedder alone p50"]
    axes.barh(1, late, color="#4c72b0", label=f"with its vector {late:,.0f} us")
    axes.barh(0, alone, color="#a8bfe0", label=f"embedder alone {alone:,.0f} us")
    share = one["decided at a glance"]
    names = [f"hit at a glance ({share:.0%})", f"other hits ({1 - share:.0%})", "embedder alone"]
    axes.set_yticks([2, 1, 0], names)
    axes.set_xlabel("microseconds, median")
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.3), ncols=5, frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=130, bbox_inches="tight")
