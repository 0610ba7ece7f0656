"""Draws what `traffic` measured: hits against wrong answers, of the layer and of every threshold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cachelayer.cli.traces.tally import Tally

Point = tuple[float, float]
"""(share of the similar answers that are wrong, hits as a share of requests), mean over orders."""


@dataclass
class Panel:
    """One stream's points."""

    title: str
    served: dict[float, Point] = field(default_factory=dict)
    """By error budget."""
    thresholds: list[Point] = field(default_factory=list)


def point(runs: list[Tally]) -> Point | None:
    """The point of one setting, run in several orders; None if it served nothing by meaning."""
    wrong, similar = sum(run.wrong for run in runs), sum(run.similar for run in runs)
    return (wrong / similar, sum(run.hit for run in runs) / len(runs)) if similar else None


def draw(panels: list[Panel], path: Path) -> None:
    """One panel a stream: the curve of cosine thresholds, and a mark for each error budget."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3.6 * len(panels), 4.2), squeeze=False, layout="constrained"
    )
    for axis, panel in zip(axes.flat, panels, strict=True):
        if panel.thresholds:
            wrong, hits = zip(*panel.thresholds, strict=True)
            axis.plot(
                [100 * w for w in wrong], hits, ".-", color="tab:red", label="static threshold, by cosine"
            )
        for (budget, (share, hit)), mark in zip(panel.served.items(), "oDs", strict=False):
            label = f"cachelayer, max_error_rate={budget:g}"
            axis.plot(100 * share, hit, mark, color="tab:blue", markersize=9, label=label, clip_on=False)
        axis.set(title=panel.title, xlabel="wrong among similar answers, %", xlim=(0, 15), ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes.flat[0].set_ylabel("hits, share of requests")
    handles, told = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, told, loc="outside lower center", ncols=len(told), fontsize=10)
    figure.savefig(path, dpi=110)
