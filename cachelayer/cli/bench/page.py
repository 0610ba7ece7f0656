"""The page of a bench: key numbers, latency ridges, percentiles with intervals, what the tool adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import report
from ..charts import NOTHING, Bar, Ridge, bars, duration, ridges
from .measured import SERIES, SHARES, Arm, name_of
from .words import NAMES, WHO, figure, summary

_TONES = {"all": "grey", "hit": "teal", "miss": "amber"}


def write(path: Path, figures: Mapping[str, Any], arms: Sequence[Arm]) -> None:
    """Write the page."""
    when = figures["date"][:16].replace("T", " ")
    subtitle = f"{figures['requests']:,} requests of {figures['traffic']}, {figures['loop']} loop, {when} UTC"
    sections = [_key(figures), _ridges(arms), *_tables(figures), _tool(figures)]
    report.write(path, report.page(f"{figures['target']}, measured", subtitle, sections))


def _key(figures: Mapping[str, Any]) -> str:
    arms = figures["arms"]
    tiles = []
    for name, arm in arms.items():
        end = arm["latency"].get("all", {}).get("e2e")
        first = arm["latency"].get("all", {}).get("ttft")
        for what, of in (("end to end, p50", end), ("first token, p50", first)):
            if of is not None:
                tiles.append(
                    report.Tile(
                        duration(of["p50"]["value"]), f"{what}, {name}", f"p99 {duration(of['p99']['value'])}"
                    )
                )
        if arm["hit_rate"] is not None and name.startswith("with "):
            rate = arm["hit_rate"]
            tiles.append(
                report.Tile(
                    f"{rate['value']:.1%}", "hits", f"{rate['low']:.1%} to {rate['high']:.1%}", "teal"
                )
            )
        if arm["goodput"] is not None:
            good = arm["goodput"]
            tiles.append(
                report.Tile(
                    f"{good['share']:.1%}", f"within the SLO, {name}", f"{good['rate']:,.1f} a second"
                )
            )
    said = "; ".join(f"{name}: {', '.join(summary(arm))}" for name, arm in arms.items())
    return report.section("In short", said + ".", report.tiles(tiles))


def _ridges(arms: Sequence[Arm]) -> str:
    drawn = []
    for series in ("ttft", "e2e"):
        groups = [
            Ridge(f"{arm.name}, {WHO[who]}", counts.spread(), _TONES[who], counts.ends())
            for arm in arms
            for who in ("hit", "miss", "all")
            if (counts := arm.series.get((series, who))) is not None and not _repeated(arm, series, who)
        ]
        if groups:
            drawn.append(report.figure(ridges(groups), f"{NAMES[series]}, from when the request was due"))
    return report.section(
        "Latencies", "Where each hump lies and how wide it is matters; all are drawn equally tall.", *drawn
    )


def _repeated(arm: Arm, series: str, who: str) -> bool:
    """Whether 'all' would only repeat what the only group shows."""
    others = [w for w in ("hit", "miss") if (series, w) in arm.series]
    return who == "all" and len(others) == 2


def _tables(figures: Mapping[str, Any]) -> list[str]:
    sections = []
    for name, arm in figures["arms"].items():
        rows: list[list[str | report.Cell]] = [
            [
                f"{NAMES[series]}, {WHO[who]}",
                f"{of[series]['count']:,}",
                *(_cell(of[series], s) for s in SHARES),
            ]
            for who, of in arm["latency"].items()
            for series in SERIES
            if series in of
        ]
        head = ["", "count", *(name_of(share) for share in SHARES)]
        lead = "Percentiles with 95 % intervals by order statistics, which take requests to be independent."
        table = report.table(head, rows, numbers=range(1, len(head)))
        sections.append(report.section(name.capitalize(), lead, table))
    return sections


def _cell(of: Mapping[str, Any], share: float) -> report.Cell:
    at = of[name_of(share)]
    return report.Cell(duration(at["value"]), remark=f" {duration(at['low'])} to {duration(at['high'])}")


def _tool(figures: Mapping[str, Any]) -> str:
    tool = figures["tool"]
    rates = [Bar("the tool at most", tool["ceiling"], f"{tool['ceiling']:,.0f} requests/s", "grey")]
    rates += [
        Bar(name, arm["rate"], f"{arm['rate']:,.1f} requests/s", "blue")
        for name, arm in figures["arms"].items()
    ]
    own = (
        f"On this machine ({figures['machine']}) the tool adds {duration(tool['own_p50'])} to a latency (p99 "
    )
    own += f"{duration(tool['own_p99'])}) and used {tool['cpu']:.0%} of a core."
    doubts = (
        report.prose(*tool["warnings"])
        if tool["warnings"]
        else report.prose("No sign that the tool itself limited or distorted the figures.")
    )
    lag = {name: arm["lag"] for name, arm in figures["arms"].items()}
    rows = [[name, figure(of, 0.5) if of["count"] else NOTHING, figure(of, 0.99)] for name, of in lag.items()]
    table = report.table(["sent after it was due", "p50", "p99"], rows, numbers=(1, 2))
    command = report.folded("How it was measured", report.prose(figures["command"]))
    return report.section("The tool itself", own, doubts, report.figure(bars(rates)), table, command)
