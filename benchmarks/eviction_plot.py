"""Draws what benchmarks/eviction.py measured."""

from __future__ import annotations

import pathlib
from typing import Any

STYLES: dict[str, dict[str, Any]] = {
    "Belady": {"color": "0.55", "linestyle": ":"},
    "LRU": {"color": "tab:blue", "marker": "s"},
    "S3-FIFO": {"color": "tab:green", "marker": "^"},
    "ARC": {"color": "tab:purple", "marker": "v"},
    "W-TinyLFU": {"color": "tab:orange", "marker": "d"},
    "cachelayer": {"color": "tab:red", "marker": "o", "linewidth": 2.2},
}


def plot(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """One panel a trace: hit ratio by cache size. Needs matplotlib."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    traces = list(dict.fromkeys(row["trace"] for row in rows))
    columns = 3
    lines = -(-len(traces) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(4.4 * columns, 3.1 * lines), squeeze=False)
    for axis, trace in zip(axes.flat, traces, strict=False):
        panel = [row for row in rows if row["trace"] == trace]
        sizes = [100 * row["share"] for row in panel]
        for policy, style in STYLES.items():
            drawn = {"linewidth": 1.2, "markersize": 4, **style}
            axis.plot(sizes, [row[policy] for row in panel], label=policy, **drawn)
        axis.set_xscale("log")
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.minorticks_off()
        axis.set_title(trace, fontsize=10)
        axis.grid(alpha=0.25)
        axis.set_ylim(bottom=0)
    for axis in axes.flat[len(traces) :]:
        axis.axis("off")
    for axis in axes[:, 0]:
        axis.set_ylabel("hits, %")
    for axis in axes[-1]:
        axis.set_xlabel("capacity, % of distinct items")
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(), loc="lower center", ncols=len(STYLES), frameon=False
    )
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=110)
