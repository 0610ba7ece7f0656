"""Charts as inline SVG without scripts: lines over requests, latency ridges on a log axis, bars.

Colours are classes (`blue`, `teal`, `amber`, `violet`, `red`, `grey`) that the report's style sheet defines
for light and dark. Every drawing is made for a width in pixels, so that a report can hold a wide and a
narrow one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

Drawing = Callable[[int], str]
"""A chart that is drawn for a given width in pixels."""

NARROW = 480
"""Below this width labels stand above what they name, not beside it."""
NOTHING = "\N{EN DASH}"
"""Stands where there is no number."""
_LINE = 15
_GLYPH = 7.5
"""What a figure or letter takes at most on average, in pixels."""
LETTER = 7.9
"""Pixels of a bold letter, on the average, in the widest fonts that browsers have for a page's text."""
_BESIDE = 0.36
"""The share of a drawing's width that names beside it may take at most."""
_HEIGHT = 260
_RIDGE = 52
_BINS_PER_DECADE = 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, (x, y) points with y in [0, 1], and a tone; `filled` shades what is below."""

    name: str
    points: Sequence[tuple[float, float]]
    tone: str
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Ridge:
    """The distribution of one group of latencies, in seconds."""

    name: str
    seconds: Sequence[float]
    tone: str
    ends: tuple[float, float] | None = None
    """p50 and p99, where `seconds` are a thinned-out choice that tells them less exactly."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of length `value` with a note at its end."""

    name: str
    value: float
    note: str
    tone: str


def lines(series: Sequence[Line], x_title: str) -> Drawing:
    """Shares in percent over a count; names stand at the right ends."""

    def draw(width: int) -> str:
        series_ = [line for line in series if line.points]
        most = max((x for line in series_ for x, _ in line.points), default=1.0)
        longest = len("100% ") + max((len(line.name) for line in series_), default=0)
        right = max(128 if width >= NARROW else 104, min(16 + LETTER * longest, width * _BESIDE))
        room = int((right - 8) / LETTER) - len("100% ")
        left, top, bottom = 40, 12, _HEIGHT - 34
        ceiling = _ceiling(max((y for line in series_ for _, y in line.points), default=1.0))

        def at(x: float, y: float) -> tuple[float, float]:
            return left + x / most * (width - left - right), bottom - y / ceiling * (bottom - top)

        parts = [_percent_grid(ceiling, at, most)]
        ticks = _ticks(most, 5 if width >= NARROW else 3)
        parts += [label(at(x, 0)[0], bottom + 16, f"{x:,.0f}", "muted", "middle") for x in ticks]
        parts.append(label(left, _HEIGHT - 3, x_title, "muted"))
        parts += [_path([at(x, y) for x, y in line.points], line, bottom) for line in series_]
        ends = _apart([at(*line.points[-1])[1] for line in series_], _LINE, bottom)
        for line, y in zip(series_, ends, strict=True):
            name = f"{line.points[-1][1]:.0%} {ending(line.name, room)}"
            parts.append(label(width - right + 8, y + 4, name, f"ink-{line.tone}"))
        return svg(width, _HEIGHT, parts, "; ".join(f"{s.name}: {s.points[-1][1]:.1%}" for s in series_))

    return draw


def ridges(groups: Sequence[Ridge]) -> Drawing:
    """One hump a group over a logarithmic time axis, each as tall as the others, with p50 and p99."""

    def draw(width: int) -> str:
        groups_ = [group for group in groups if group.seconds]
        beside = 176 if width >= NARROW else 0
        row = _RIDGE if beside else _RIDGE + 34
        low, high = _decades(groups_)
        height = row * len(groups_) + 34

        def at(seconds: float) -> float:
            share = (math.log10(max(seconds, 10**low)) - low) / (high - low)
            return beside + 18 + share * (width - beside - 36)

        parts = []
        steps = (1, 2, 5) if high - low == 1 else (1,)
        ticks = [step * 10.0**decade for decade in range(low, high) for step in steps]
        for tick in (*ticks, 10.0**high):
            x = at(tick)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{height - 26}"/>')
            parts.append(label(min(x, width - 22), height - 8, duration(tick), "muted", "middle"))
        for i, group in enumerate(groups_):
            base = (i + 1) * row
            parts += _ridge(group, at, (low, high), base, bool(beside))
        return svg(width, height, parts, "Latency distributions")

    return draw


def bars(rows: Sequence[Bar]) -> Drawing:
    """Horizontal bars with notes at their ends."""

    def draw(width: int) -> str:
        beside = 176 if width >= NARROW else 0
        row = 34 if beside else 46
        room = width - beside - 8 - _GLYPH * max((len(bar.note) for bar in rows), default=0)
        most = max((bar.value for bar in rows), default=1.0) or 1.0
        parts = []
        for i, bar in enumerate(rows):
            y = i * row + (8 if beside else 22)
            name_y = y + 14 if beside else y - 6
            length = max(2.0, bar.value / most * room)
            parts.append(label(0, name_y, bar.name, "ink"))
            parts.append(
                f'<rect class="{bar.tone}" x="{beside}" y="{y}" width="{length:.1f}" height="18" rx="3">'
                f"<title>{escape(bar.name)}: {escape(bar.note)}</title></rect>"
            )
            parts.append(label(beside + length + 8, y + 14, bar.note, "muted"))
        return svg(width, len(rows) * row + 8, parts, "; ".join(f"{bar.name}: {bar.note}" for bar in rows))

    return draw


def duration(seconds: float) -> str:
    """Seconds for people: '3.1 µs', '240 ms', '12 s'."""
    if not math.isfinite(seconds):
        return NOTHING
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < size * 999.5:
            return f"{_short(seconds / size)} {unit}"
    return f"{_short(seconds)} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"


def ending(name: str, most: int) -> str:
    """A name, or its end where it has more than `most` letters: settings are told apart by how they end."""
    return name if len(name) <= most else f"…{name[-most + 1 :]}"


def _ridge(
    group: Ridge, at: Callable[[float], float], span: tuple[int, int], base: float, beside: bool
) -> list[str]:
    heights, edges = _density(group.seconds, span)
    tall = _RIDGE - 12
    points = [(at(float(x)), base - float(h) * tall) for x, h in zip(edges, heights, strict=True)]
    shape = f"M{points[0][0]:.1f},{base}" + "".join(f"L{x:.1f},{y:.1f}" for x, y in points)
    p50, p99 = group.ends or (float(q) for q in np.quantile(np.array(group.seconds), (0.5, 0.99)))
    numbers = f"p50 {duration(p50)} · p99 {duration(p99)}"
    top = base - tall - 10
    name_at, numbers_at = (base - 20, base - 4) if beside else (top - 12, top + 4)
    parts = [
        f'<path class="{group.tone} soft" d="{shape}L{points[-1][0]:.1f},{base}Z">'
        f"<title>{escape(group.name)}: {numbers}, {len(group.seconds):,} requests</title></path>",
        f'<line class="grid" x1="{at(0):.1f}" x2="{points[-1][0]:.1f}" y1="{base}" y2="{base}"/>',
        label(0, name_at, group.name, f"ink-{group.tone}"),
        label(0, numbers_at, numbers, "muted"),
    ]
    for value, style in ((p50, "mark"), (p99, "mark dashed")):
        x, style = f"{at(value):.1f}", f"{style} line-{group.tone}"
        parts.append(f'<line class="{style}" x1="{x}" x2="{x}" y1="{base - tall}" y2="{base}"/>')
    return parts


def _density(seconds: Sequence[float], span: tuple[int, int]) -> tuple[Iterable[float], Iterable[float]]:
    """Smoothed histogram over the logarithm, its highest point 1, and the times of its points."""
    low, high = span
    count = (high - low) * _BINS_PER_DECADE
    logs = np.clip(np.log10(np.maximum(seconds, 1e-12)), low, high)
    hist, edges = np.histogram(logs, bins=count, range=(low, high))
    smooth = np.convolve(hist, [0.25, 0.5, 0.25], mode="same")
    return smooth / max(float(smooth.max()), 1e-9), 10 ** ((edges[:-1] + edges[1:]) / 2)


_FINEST = 1e-9
"""Seconds below which no clock here tells two durations apart."""


def _decades(groups: Sequence[Ridge]) -> tuple[int, int]:
    values = [max(s, _FINEST) for group in groups for s in group.seconds if s > 0] or [1e-6, 1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _percent_grid(ceiling: float, at: Callable[[float, float], tuple[float, float]], most: float) -> str:
    parts = []
    for i in range(5):
        share = ceiling * i / 4
        (x0, y), (x1, _) = at(0, share), at(most, share)
        parts.append(f'<line class="grid" x1="{x0:.1f}" x2="{x1:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(label(x0 - 6, y + 4, f"{share:.0%}", "muted", "end"))
    return "".join(parts)


def _path(points: Sequence[tuple[float, float]], line: Line, bottom: float) -> str:
    d = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawn = f'<path class="stroke line-{line.tone}" d="{d}"><title>{escape(line.name)}</title></path>'
    if not line.filled:
        return drawn
    area = f"{d}L{points[-1][0]:.1f},{bottom}L{points[0][0]:.1f},{bottom}Z"
    return f'<path class="{line.tone} faint" d="{area}"/>{drawn}'


def _ceiling(most: float) -> float:
    return next((step for step in (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0) if most <= step), most)


def _ticks(most: float, wanted: int) -> list[float]:
    rough = most / wanted
    unit = 10.0 ** math.floor(math.log10(max(rough, 1.0)))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
    return [step * i for i in range(int(most / step) + 1)]


def _apart(positions: Sequence[float], gap: float, lowest: float) -> list[float]:
    """Moves labels so that none is nearer than `gap` to the next or below `lowest`, keeping their order."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    moved = list(positions)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    for i, at in enumerate(reversed(order)):
        moved[at] = min(moved[at], lowest - i * gap)
    return moved


def label(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    """One text of a drawing, escaped; `style` names its CSS classes."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def svg(width: int, height: float, parts: Sequence[str], name: str) -> str:
    """A whole drawing of these parts, `name` for those who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(name, quote=True)}">{"".join(parts)}</svg>'
    )
