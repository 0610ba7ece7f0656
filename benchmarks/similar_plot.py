"""Draws what benchmarks/similar.py measured of one task; needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plot(one: dict[str, Any], out: Path) -> None:
    """Where a similar hit's time goes, beside the embedder alone."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 2.4))
    at = 0.0
    colours = {"embed": "#4c72b0", "search": "#dd8452", "verify": "#55a868", "rest": "#8c8c8c"}
    for stage, colour in colours.items():
        axes.barh(1, one[stage], left=at, color=colour, label=f"{stage} {one[stage]:,.0f} us")
        at += one[stage]
    alone = one["embedder alone p50"]
    axes.barh(0, alone, color="#a8bfe0", label=f"alone {alone:,.0f} us")
    axes.set_yticks([1, 0], ["similar hit", "embedder alone"])
    axes.set_xlabel("microseconds, median")
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.3), ncols=5, frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=130, bbox_inches="tight")
