"""Plots of measured quality as inline SVG: shares against shares with intervals, histograms. See `charts`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from .charts import LETTER, NARROW, Drawing, ending, label, svg

_HIGH, _LOW = 340, 240
"""Pixels of a plane and of a histogram."""
_At = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Dot:
    """A measured point: x and y in [0, 1], with the ends of its intervals where there are some."""

    name: str
    x: float
    y: float
    tone: str
    x_interval: tuple[float, float] | None = None
    y_interval: tuple[float, float] | None = None
    small: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """Points joined in order."""

    name: str
    points: Sequence[tuple[float, float]]
    tone: str
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Plane:
    """Two shares against each other. `x_most` and `y_most` end the axes; what lies beyond is left out."""

    x_title: str
    y_title: str
    x_most: float = 1.0
    y_most: float = 1.0
    dots: Sequence[Dot] = ()
    curves: Sequence[Curve] = ()
    marks: Sequence[tuple[float, str]] = field(default=())
    """Vertical lines with a name: a bound."""


def plane(what: Plane) -> Drawing:
    """Dots with their intervals over curves; names stand beside dots, in a key below where it is narrow."""

    def draw(width: int) -> str:
        left, right, top, bottom = 48, width - 18, 26, _HIGH - 42

        def at(x: float, y: float) -> tuple[float, float]:
            return left + x / what.x_most * (right - left), bottom - y / what.y_most * (bottom - top)

        parts = _axes(what, at)
        for curve in what.curves:
            inside = [at(x, y) for x, y in curve.points if x <= what.x_most and y <= what.y_most]
            if inside:
                d = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in inside)
                style = f"stroke line-{curve.tone}" + (" dashed" if curve.dashed else "")
                parts.append(f'<path class="{style}" d="{d}"><title>{escape(curve.name)}</title></path>')
        for x, name in what.marks:
            if x <= what.x_most:
                px = at(x, 0)[0]
                parts.append(
                    f'<line class="mark dashed line-red" x1="{px:.1f}" x2="{px:.1f}" y1="{top}" y2="{bottom}"/>'
                )
                parts.append(label(px + 5, bottom - 6, name, "ink-red"))
        shown = [d for d in what.dots if d.x <= what.x_most and d.y <= what.y_most]
        for dot in shown:
            parts += _dot(dot, what, at)
        parts += _names(shown, what, at, width)
        return svg(width, _HIGH, parts, "; ".join(f"{d.name}: {d.x:.1%}, {d.y:.1%}" for d in shown))

    return draw


def _axes(what: Plane, at: _At) -> list[str]:
    parts = []
    for i in range(5):
        x, y = what.x_most * i / 4, what.y_most * i / 4
        (x0, y0), (x1, y1) = at(0, y), at(what.x_most, y)
        parts.append(f'<line class="grid" x1="{x0:.1f}" x2="{x1:.1f}" y1="{y0:.1f}" y2="{y1:.1f}"/>')
        parts.append(label(x0 - 6, y0 + 4, _percent(y, what.y_most), "muted", "end"))
        px, bottom = at(x, 0)
        anchor = "end" if i == 4 else "middle"
        parts.append(label(px, bottom + 17, _percent(x, what.x_most), "muted", anchor))
    parts.append(label(at(0, 0)[0], _HIGH - 6, what.x_title, "muted"))
    parts.append(label(2, 12, what.y_title, "muted"))
    return parts


def _percent(value: float, most: float) -> str:
    return f"{value * 100:.{0 if most >= 0.2 else 1 if most >= 0.02 else 2}f}%"


def _dot(dot: Dot, what: Plane, at: _At) -> list[str]:
    x, y = at(dot.x, dot.y)
    parts = []
    for ends, flat in ((dot.x_interval, True), (dot.y_interval, False)):
        if ends is None:
            continue
        if flat:
            a, b = (at(min(end, what.x_most), dot.y) for end in ends)
        else:
            a, b = (at(dot.x, min(end, what.y_most)) for end in ends)
        parts.append(
            f'<line class="whisker line-{dot.tone}" x1="{a[0]:.1f}" x2="{b[0]:.1f}" y1="{a[1]:.1f}" y2="{b[1]:.1f}"/>'
        )
    size = 2.5 if dot.small else 5
    parts.append(
        f'<circle class="{dot.tone}" cx="{x:.1f}" cy="{y:.1f}" r="{size}">'
        f"<title>{escape(dot.name)}: {dot.x:.2%}, {dot.y:.1%}</title></circle>"
    )
    return parts


def _names(dots: Sequence[Dot], what: Plane, at: _At, width: int) -> list[str]:
    """Names of the large dots, moved apart; at the left of a dot where there is no room at its right."""
    top, bottom = at(0, what.y_most)[1] + 18, at(0, 0)[1]
    taken: list[tuple[float, float, float]] = []
    parts: list[str] = []
    for dot in sorted((dot for dot in dots if not dot.small), key=lambda dot: -dot.y):
        x, y = at(dot.x, dot.y)
        name = dot.name if width >= NARROW else ending(dot.name, 22)
        long = LETTER * len(name)
        anchor = "end" if x + 10 + long > width else "start"
        left = x - 10 - long if anchor == "end" else x + 10
        y = _row(taken, left, left + long, (min(max(y - 4, top), bottom), top, bottom))
        taken.append((left, left + long, y))
        parts.append(label(x - 10 if anchor == "end" else x + 10, y, name, f"ink-{dot.tone}", anchor))
    return parts


def _row(
    taken: Sequence[tuple[float, float, float]], left: float, right: float, at: tuple[float, float, float]
) -> float:
    """The row nearest to the wanted one of (wanted, top, bottom) in which a text covers no other; else the wanted."""
    wanted, top, bottom = at
    for step in range(2 * len(taken) + 2):
        y = wanted + (step + 1) // 2 * (14 if step % 2 else -14)
        free = all(right + 6 < a or left > b + 6 or abs(y - c) >= 13 for a, b, c in taken)
        if free and top <= y <= bottom:
            return y
    return wanted


def histograms(groups: Sequence[tuple[str, Sequence[float], str]], x_title: str) -> Drawing:
    """Counts over values from their least to their most, one filled outline a group of (name, values, tone)."""

    def draw(width: int) -> str:
        key = 1 if width >= NARROW else len(groups)
        left, right, top, bottom = 48, width - 18, 14 + 16 * key, _LOW - 42
        values = [v for _, group, _ in groups for v in group]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        low, high = np.floor(low * 20) / 20, max(np.ceil(high * 20) / 20, np.floor(low * 20) / 20 + 0.05)
        bins = 40 if width >= NARROW else 24
        counted = [(n, np.histogram(g, bins=bins, range=(low, high))[0], t) for n, g, t in groups]
        most = max((int(c.max()) for _, c, _ in counted if len(c)), default=1) or 1
        most += most % 2  # half of it is a count, too
        parts = []
        for i in range(3):
            y = bottom - i / 2 * (bottom - top)
            parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(label(left - 6, y + 4, f"{most * i / 2:,.0f}", "muted", "end"))
        for i in range(5):
            x = left + i / 4 * (right - left)
            anchor = "end" if i == 4 else "middle"
            parts.append(label(x, bottom + 17, f"{low + (high - low) * i / 4:.2f}", "muted", anchor))
        for name, counts, tone in counted:
            parts.append(_steps(name, counts.tolist(), tone, (left, right, top, bottom), most))
        parts.append(label(left, _LOW - 6, x_title, "muted"))
        at, line = float(left), 14.0
        for name, group, tone in groups:
            legend = f"{name} ({len(group):,})"
            parts.append(label(at, line, legend, f"ink-{tone}"))
            at, line = (at + LETTER * len(legend) + 18, line) if key == 1 else (at, line + 16)
        return svg(width, _LOW, parts, x_title)

    return draw


def _steps(
    name: str, counts: Sequence[int], tone: str, frame: tuple[float, float, float, float], most: int
) -> str:
    left, right, top, bottom = frame
    step = (right - left) / max(len(counts), 1)
    heights = [bottom - n / most * (bottom - top) for n in counts]
    d = f"M{left:.1f},{bottom:.1f}"
    for i, y in enumerate(heights):
        d += f"L{left + i * step:.1f},{y:.1f}L{left + (i + 1) * step:.1f},{y:.1f}"
    d += f"L{right:.1f},{bottom:.1f}Z"
    return f'<path class="{tone} soft" d="{d}"><title>{escape(name)}</title></path>'


def round_up(share: float) -> float:
    """The least end of an axis from which four equal steps are round numbers."""
    steps = (0.0025, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25)
    return next((4 * step for step in steps if share <= 4 * step), 1.0)
