"""Draws every panel of the dashboard from a running Prometheus' answers, as one HTML page: a look without Grafana.

    python draw.py --prometheus http://localhost:9090 --last 3600 --out dashboard.html

Needs Python alone. Values and legends are those that Grafana would show; colours and axes are simpler.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from html import escape
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

Series = tuple[str, list[tuple[float, float]]]
"""A legend, and (Unix seconds, value) in order."""
Ask = Callable[[str], list[dict[str, Any]]]
"""Answers an expression as Prometheus' /api/v1/query_range does."""
TONES = (
    "#3b6fb6",
    "#d1793b",
    "#4d9a5b",
    "#b5484f",
    "#7a62a8",
    "#8a6d57",
    "#c46aa0",
    "#6d7683",
    "#a5a03c",
    "#3aa0a8",
)
CELL, ROW = 58, 36
"""Pixels of a grid column and row."""
_SHORT = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_STYLE = """
body{margin:16px;background:#f4f5f7;color:#20242a;font:13px system-ui,sans-serif}
.grid{position:relative;margin:0 auto}
.panel{position:absolute;background:#fff;border:1px solid #d9dce1;border-radius:4px;overflow:hidden}
.row{position:absolute;font-weight:600;font-size:15px;padding-top:10px}
h2{font-size:12px;margin:8px 6px 0 10px;white-space:nowrap;overflow:hidden;letter-spacing:-.2px}
.panel:has(.big) h2{white-space:normal}
.big{font-size:34px;text-align:center;padding-top:20px}
.none{color:#8a919c;text-align:center;padding-top:60px}
.key{padding:0 6px;line-height:1.45;font-size:10.5px;white-space:nowrap;overflow:hidden}
.key i{display:inline-block;width:10px;height:3px;margin:0 4px 3px 8px}
text{font:10px system-ui,sans-serif;fill:#5b6470}
@media(max-width:1423px){
  body{margin:8px}
  .grid,.panel,.row{position:static;width:auto!important;max-width:720px;height:auto!important;margin:0 auto 8px}
  svg{width:100%;height:auto}
  h2,.key{white-space:normal}
  .big,.none{padding:12px}
}
"""
"""Below the width of the grid, its panels stand one under the other."""


def asking(prometheus: str, since: float, until: float, step: float) -> Ask:
    """Range queries of a Prometheus. Raises OSError."""

    def ask(expression: str) -> list[dict[str, Any]]:
        query = urlencode({"query": expression, "start": since, "end": until, "step": step})
        try:
            with urlopen(f"{prometheus.rstrip('/')}/api/v1/query_range?{query}", timeout=30) as answer:  # noqa: S310
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        except (OSError, HTTPException, ValueError, KeyError, TypeError) as fault:
            raise OSError(f"--prometheus {prometheus}: no answer of a Prometheus ({fault!r})") from fault
        return found

    return ask


def series_of(panel: Mapping[str, Any], ask: Ask, window: str) -> list[Series]:
    """What a panel shows."""
    found: list[Series] = []
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", window).replace("$job", ".*")
        for one in ask(expression):
            labels = one["metric"]
            legend = _filled(target.get("legendFormat") or "", labels)
            points = [(at, float(value)) for at, value in one["values"]]
            found.append((legend or ", ".join(labels.values()), [p for p in points if math.isfinite(p[1])]))
    return [(legend, points) for legend, points in found if points]


def _filled(legend: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), legend)


def shown(value: float, unit: str | None) -> str:
    """A value with its unit: 12 ms, 45 %, 1.2 k."""
    if unit == "percentunit":
        return f"{_rounded(100 * value)} %"
    if unit == "s" and value:
        scale, name = next(((s, n) for s, n in ((1, "s"), (1e-3, "ms")) if abs(value) >= s), (1e-6, "µs"))
        return f"{_rounded(value / scale)} {name}"
    size, name = next(((s, n) for s, n in _SHORT if abs(value) >= s), (1.0, ""))
    end = {"reqps": "/s", "ops": "/s", "bytes": "B"}.get(unit or "", "")
    return f"{_rounded(value / size)} {name}{end}".strip()


def _rounded(value: float) -> str:
    """Three digits that count; 1000, not 1e+03."""
    return f"{float(f'{value:.3g}'):g}"


def lines(series: list[Series], unit: str | None, width: int, height: int, span: tuple[float, float]) -> str:
    """A time series panel."""
    left, right, top, bottom = 56, width - 12, 8, height - 18
    highest = max(max(v for _, v in points) for _, points in series) or 1.0
    lowest = min(0.0, *(v for _, points in series for _, v in points))

    def at(when: float, value: float) -> tuple[float, float]:
        x = left + (when - span[0]) / (span[1] - span[0]) * (right - left)
        return x, bottom - (value - lowest) / ((highest - lowest) or 1.0) * (bottom - top)

    drawn = []
    for part in range(5):
        value = lowest + (highest - lowest) * part / 4
        y = at(span[0], value)[1]
        drawn.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e6e8ec"/>'
                     f'<text x="{left - 5}" y="{y + 3:.1f}" text-anchor="end">{shown(value, unit)}</text>')  # fmt: skip
    drawn += _times(span, lambda when: at(when, 0)[0], height)
    for place, (legend, points) in enumerate(series):
        d = "M" + "L".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        tone = TONES[place % len(TONES)]
        drawn.append(
            f'<path d="{d}" fill="none" stroke="{tone}" stroke-width="1.6"><title>{escape(legend)}</title></path>'
        )
    return _svg(drawn, width, height)


def heat(series: list[Series], width: int, height: int, span: tuple[float, float]) -> str:
    """A heatmap of cumulative buckets: how many fell into each, by time."""
    held = sorted(((float(legend), dict(points)) for legend, points in series), key=lambda one: one[0])
    whens = sorted({when for _, points in held for when in points})
    fresh: dict[tuple[int, float], float] = {}
    for place, (_, points) in enumerate(held):
        before = held[place - 1][1] if place else {}
        for when in whens:
            fresh[place, when] = max(points.get(when, 0.0) - before.get(when, 0.0), 0.0)
    most, left, bottom = max(fresh.values()) or 1.0, 56, height - 18
    high, wide = (bottom - 8) / len(held), (width - 12 - left) / max(len(whens), 1)
    drawn = []
    for (place, when), n in fresh.items():
        if n:
            x, y = left + whens.index(when) * wide, bottom - (place + 1) * high
            drawn.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide + 0.3:.1f}" height="{high + 0.3:.1f}" '
                         f'fill="#3b6fb6" fill-opacity="{0.08 + 0.92 * math.sqrt(n / most):.2f}"/>')  # fmt: skip
    for place in range(2, len(held), 3):
        y = bottom - place * high
        drawn.append(
            f'<text x="{left - 5}" y="{y:.1f}" text-anchor="end">{shown(held[place][0], "s")}</text>'
        )
    drawn += _times(
        span, lambda when: left + (when - span[0]) / (span[1] - span[0]) * (width - 12 - left), height
    )
    return _svg(drawn, width, height)


def _svg(drawn: Iterable[str], width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}">{"".join(drawn)}</svg>'


def _times(span: tuple[float, float], x: Callable[[float], float], height: int) -> Iterable[str]:
    for part in range(1, 4):
        when = span[0] + (span[1] - span[0]) * part / 4
        told = time.strftime("%H:%M:%S", time.gmtime(when))
        yield f'<text x="{x(when):.1f}" y="{height - 4}" text-anchor="middle">{told}</text>'


def _key(series: list[Series], unit: str | None, width: int) -> list[str]:
    """The legends with their last values, in as many lines as they need."""
    rows, room = [""], float(width)
    for place, (legend, points) in enumerate(series):
        told = shown(points[-1][1], unit)
        needed = 24 + 6.3 * (len(legend) + len(told))
        if needed > room and rows[-1]:
            rows.append("")
            room = float(width)
        room -= needed
        rows[-1] += f'<i style="background:{TONES[place % len(TONES)]}"></i>{escape(legend)} <b>{told}</b>'
    return [f'<div class="key">{row}</div>' for row in rows]


def panel_html(panel: Mapping[str, Any], ask: Ask, window: str, span: tuple[float, float]) -> str:
    """One panel at its place."""
    at = panel["gridPos"]
    x, y, w, h = at["x"] * CELL, at["y"] * ROW, at["w"] * CELL - 8, at["h"] * ROW - 8
    place = f"left:{x}px;top:{y}px;width:{w}px;height:{h}px"
    if panel["type"] == "row":
        return f'<div class="row" style="{place}">{escape(panel["title"])}</div>'
    series = series_of(panel, ask, window)
    unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
    if not series:
        body = '<div class="none">No data</div>'
    elif panel["type"] == "stat":
        body = f'<div class="big">{" ".join(shown(points[-1][1], unit) for _, points in series)}</div>'
    elif panel["type"] == "heatmap":
        body = heat(series, w, h - 40, span)
    else:
        key = _key(series, unit, w)
        body = lines(series, unit, w, max(h - 42 - 16 * len(key), 90), span) + "".join(key)
    return f'<div class="panel" style="{place}"><h2>{escape(panel["title"])}</h2>{body}</div>'


def page(dashboard: Mapping[str, Any], ask: Ask, window: str, span: tuple[float, float]) -> str:
    """The whole dashboard."""
    panels = dashboard["panels"]
    height = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels) * ROW
    drawn = "".join(panel_html(panel, ask, window, span) for panel in panels)
    title = escape(dashboard["title"])
    fit = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<!doctype html><meta charset="utf-8">{fit}<title>{title}</title><style>{_STYLE}</style>'
    return f'{head}<div class="grid" style="width:{24 * CELL}px;height:{height}px">{drawn}</div>'


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prometheus", default="http://localhost:9090", metavar="URL")
    parser.add_argument("--last", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--window", default="1m", help="of rates: at least four scrapes (default 1m)")
    parser.add_argument(
        "--dashboard", type=Path, default=Path(__file__).with_name("grafana") / "dashboard.json"
    )
    parser.add_argument("--out", type=Path, default=Path("dashboard.html"))
    args = parser.parse_args()
    until = time.time()
    since = until - args.last
    if not args.last > 0:
        parser.error(f"--last {args.last:g}: give seconds above 0")
    ask = asking(args.prometheus, since, until, max(args.last / 200, 0.5))
    try:
        drawn = page(json.loads(args.dashboard.read_text()), ask, args.window, (since, until))
        args.out.write_text(drawn, "utf-8")
    except (OSError, ValueError) as fault:
        parser.exit(2, f"{parser.prog}: {fault}\n")
    print(args.out)


if __name__ == "__main__":
    main()
