"""The HTML report of a calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import plots, report
from ..charts import NOTHING
from ..report import Cell, Tile
from ..traces.intervals import exact, limit, percent
from ..traces.output import nearest_section, opening
from ..traces.rivals import Nearest
from . import words
from .choose import reliability
from .result import Calibrated

BINS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.35, 1.01)
_NOTES = (
    "All figures are from the held-out part of the trace, which took no part in the choice. The layers processed "
    "the part before it first, as they would have in service. Hits are net: shadow checks count as calls.",
    "Intervals are 95 %: Wilson for shares of requests, Clopper-Pearson for errors. Requests of a stream depend on "
    "each other, so the true intervals are a little wider.",
    "An error budget (max_error_rate) is a bound that the layer keeps by its own evidence; the error measured on "
    "your traffic may be smaller or larger, which is why this report exists.",
)


def page(found: Calibrated) -> str:
    """The whole document."""
    parts = [
        report.section("Recommended", words.verdict(found), report.tiles(_tiles(found)), _snippets(found)),
        report.section(
            "Hits against measured error",
            "Up is cheaper, left is safer. Each dot is one error budget, measured on the held-out part.",
            report.figure(plots.plane(_hits(found)), "Grey: static thresholds. Bars are 95 % intervals."),
        ),
        report.section(
            "Predicted against measured risk",
            "On the line, a predicted risk of 2 % means that 2 in 100 are wrong; below it, the layer was too careful.",
            report.figure(
                plots.plane(_reliability(found)), "The budget that served most. Bars are 95 % intervals."
            ),
        ),
        *_nearest(found),
        report.section("Every budget", "", _table(found)),
        report.section("How to read this", "", report.prose(*_NOTES)),
    ]
    return report.page("Calibration", opening(found.trace).replace("\n", ". "), parts)


def _tiles(found: Calibrated) -> list[Tile]:
    run, best = found.choice.run, found.held_out(found.best)
    tiles = []
    if run is not None:
        part = found.held_out(run)
        tiles.append(
            Tile(f"{part.hit:.0%}", "expected net hits", f"95 %: {percent(part.hit_interval)}", "teal")
        )
        bad = part.share_wrong_interval[0] > found.target
        remark = f"95 %: {percent(part.share_wrong_interval)}; {part.wrong:,} of {part.similar:,}"
        wrong = f"{part.share_wrong:.2%}" if part.similar else NOTHING
        tiles.append(Tile(wrong, "wrong among similar", remark, "red" if bad else "teal"))
        tiles.append(Tile(f"{part.checks:,}", "shadow checks", f"of {part.similar:,} similar answers"))
    tiles.append(Tile(f"{best.hit:.0%}", "oracle", "what a cache that knows every answer would save"))
    return tiles


def _snippets(found: Calibrated) -> str:
    settings = found.settings()
    return report.listing(words.python(settings)) + report.listing("# gateway.toml\n" + words.toml(settings))


def _hits(found: Calibrated) -> plots.Plane:
    parts = [(run, found.held_out(run)) for run in found.runs]
    dots = [
        plots.Dot(
            run.name, part.share_wrong, part.hit, "teal" if run is found.choice.run else "blue",
            part.share_wrong_interval, part.hit_interval,
        )
        for run, part in parts if part.similar
    ]  # fmt: skip
    grid = [found.held_out(run) for run in found.grid]
    curve = [(part.share_wrong, part.hit) for part in reversed(grid) if part.similar]
    right = max([found.target * 3, 0.03, *(dot.x * 1.1 for dot in dots)])
    top = max([*(dot.y for dot in dots), found.held_out(found.best).hit, 0.1])
    return plots.Plane(
        "share of wrong answers among similar ones", "answered without the backend (net)",
        x_most=plots.round_up(right), y_most=plots.round_up(top),
        dots=[*dots, *(plots.Dot("threshold", x, y, "grey", small=True) for x, y in curve)],
        curves=[plots.Curve("static thresholds", curve, "grey", dashed=True)],
        marks=[(found.target, f"target {limit(found.target)}")],
    )  # fmt: skip


def _reliability(found: Calibrated) -> plots.Plane:
    points = reliability(max(map(found.held_out, found.runs), key=lambda part: part.similar), BINS)
    right = plots.round_up(max([0.02, *(x for x, _, _ in points)]))
    top = plots.round_up(max([0.05, *(wrong / n for _, wrong, n in points)]))
    dots = [
        plots.Dot(f"{wrong:,} of {n:,}", x, wrong / n, "teal", None, exact(wrong, n))
        for x, wrong, n in points
    ]
    most = min(right, top)
    even = [(most * i / 20, most * i / 20) for i in range(21)]
    return plots.Plane(
        "predicted risk", "measured share of wrong answers", right, top, dots,
        [plots.Curve("as predicted", even, "grey", dashed=True)],
    )  # fmt: skip


def _nearest(found: Calibrated) -> list[str]:
    """Nothing where no request of the later part was new."""
    later = Nearest(found.nearest.cosine[found.cut :], found.nearest.same[found.cut :])
    return [] if np.isnan(later.cosine).all() else [nearest_section(later)]


def _table(found: Calibrated) -> str:
    rows: list[Sequence[str | Cell]] = []
    for row in words.rows(found):
        tone = "good" if row[-1] else ""
        rows.append(
            [
                Cell(row[0], tone, row[-1]),
                Cell(row[1], remark=row[2]),
                row[3],
                Cell(row[4], remark=row[5]),
                row[6],
            ]
        )
    head = ("error budget", "net hits", "similar", "wrong of them", "checks")
    return report.table(head, rows, numbers=range(1, len(head)))
