"""The HTML report of a replay."""

from __future__ import annotations

from collections.abc import Sequence

from .. import charts, plots, report
from ..charts import NOTHING
from ..report import Cell, Tile
from ..traces.intervals import limit
from ..traces.output import nearest_section, opening
from ..traces.read import Asked
from ..traces.tally import EXACT, FILLED, RIGHT, WRONG, Mistake, Tally
from . import words
from .result import Replayed

_TONES = ("teal", "blue", "violet", "amber")
_WINDOW = 200
_POINTS = 240
_MISTAKES = 12
_WHY = "What the similar tier said of the requests that it did not answer."


def page(found: Replayed) -> str:
    """The whole document."""
    parts = [
        report.section("In short", "", report.tiles(_tiles(found))),
        report.section(
            "Answers without the backend against wrong answers",
            "Up is cheaper, left is safer. Bars are 95 % intervals.",
            report.figure(
                plots.plane(_plane(found)),
                "Grey: static thresholds from 0.60 to 0.995 on this trace. Coloured: real layers, which saw no labels.",
            ),
        ),
        report.section("All runs", "", _table(found)),
        *_orders(found),
        report.section(
            "Over the trace",
            f"Share of requests answered without the backend, over the last {_WINDOW}. Caches start empty.",
            report.figure(charts.lines(_rolling(found), "requests")),
        ),
        nearest_section(found.nearest),
        *_reasons(found),
        *_mistakes(found),
        report.section("How to read this", "", report.prose(*words.notes(found))),
    ]
    return report.page("Replay", opening(found.trace).replace("\n", ". "), parts)


def tone_of(place: int) -> str:
    """The colour of the layer in this place."""
    return _TONES[place % len(_TONES)]


def _tiles(found: Replayed) -> list[Tile]:
    out = []
    for i, run in enumerate(found.layers[:3]):
        wrong = (
            f"{run.wrong:,} of {run.similar:,} similar answers wrong" if run.similar else "no similar answers"
        )
        out.append(Tile(f"{run.hit:.0%}", run.name, wrong, tone_of(i)))
    for run in found.shown[-1:]:
        remark = f"{run.wrong:,} of {run.similar:,} similar answers wrong"
        out.append(Tile(f"{run.hit:.0%}", run.name, remark, "grey"))
    out.append(Tile(f"{found.best.hit:.0%}", "oracle", "what a cache that knows every answer would save"))
    return out


def _plane(found: Replayed) -> plots.Plane:
    dots = [
        plots.Dot(run.name, run.share_wrong, run.hit, tone_of(i), run.share_wrong_interval if run.similar else None,
                  run.hit_interval)
        for i, run in enumerate(found.layers)
    ]  # fmt: skip
    used = [run for run in found.grid if run.similar]
    dots += [plots.Dot(run.name, run.share_wrong, run.hit, "grey", small=True) for run in used]
    curve = [(run.share_wrong, run.hit) for run in sorted(used, key=lambda r: -float(r.name.split()[-1]))]
    right = max([found.bound * 3, *(dot.x_interval[1] for dot in dots if dot.x_interval), 0.06])
    top = max((dot.y for dot in dots), default=1.0)
    return plots.Plane(
        "share of wrong answers among similar ones", "answered without the backend",
        x_most=plots.round_up(right), y_most=plots.round_up(max(top, found.best.hit)), dots=dots,
        curves=[plots.Curve("static thresholds", curve, "grey", dashed=True)],
        marks=[(found.bound, f"bound {limit(found.bound)}")],
    )  # fmt: skip


def _table(found: Replayed) -> str:
    rows: list[Sequence[str | Cell]] = []
    for run, row in zip(found.rows, words.rows(found), strict=True):
        bound = found.bound if run.bound is None else run.bound
        broken = run.similar > 0 and run.share_wrong_interval[0] > bound
        cells: list[str | Cell] = list(row)
        cells[1], cells[4] = Cell(row[1], remark=row[2]), Cell(row[4], "bad" if broken else "", row[5])
        rows.append([cell for i, cell in enumerate(cells) if i not in (2, 5)])
    head = [name for i, name in enumerate(words.HEAD) if i not in (2, 5)]
    return report.table(head, rows, numbers=range(1, len(head)))


def _orders(found: Replayed) -> list[str]:
    if not found.orders:
        return []
    head = found.orders_head
    table = report.table(head, [one.row() for one in found.orders], numbers=range(1, len(head)))
    return [
        report.section(
            "In other orders", "The same requests, shuffled, each time from an empty cache.", table
        )
    ]


def _rolling(found: Replayed) -> list[charts.Line]:
    series = []
    for i, run in enumerate(found.layers):
        series.append(charts.Line(run.name, rolling(run), tone_of(i), filled=i == 0))
    series += [charts.Line("hindsight", rolling(run), "grey") for run in found.shown[-1:]]
    return [*series, charts.Line("oracle", rolling(found.best), "ink")]


def rolling(run: Tally) -> list[tuple[float, float]]:
    """(requests, share of hits among the last ones), at most `_POINTS` of them."""
    hits = [code in (EXACT, RIGHT, WRONG) for code in run.path if code != FILLED]
    total, out = 0, []
    step = max(1, len(hits) // _POINTS)
    for i, hit in enumerate(hits):
        total += hit - (hits[i - _WINDOW] if i >= _WINDOW else 0)
        if i % step == 0 or i == len(hits) - 1:
            out.append((float(i + 1), total / min(i + 1, _WINDOW)))
    return out


def _reasons(found: Replayed) -> list[str]:
    parts = []
    for i, run in enumerate(found.layers):
        if run.reasons and sum(run.reasons.values()) != run.reasons.get("off", 0):
            bars = [
                charts.Bar(report.words(reason), n, f"{n:,}", tone_of(i))
                for reason, n in run.reasons.most_common(6)
            ]
            parts.append(
                report.section(f"Why {run.name} asked the backend", _WHY, report.figure(charts.bars(bars)))
            )
    return parts[:2]


def _mistakes(found: Replayed) -> list[str]:
    parts = []
    for run in found.layers:
        if run.mistakes:
            table = report.table(
                ("asked", "right answer", "answer served", "cosine", "confidence"),
                [_mistake(m, found.trace.asked) for m in run.mistakes[:_MISTAKES]],
                numbers=(3, 4),
            )
            lead = f"The first {_MISTAKES} of {len(run.mistakes):,}." if len(run.mistakes) > _MISTAKES else ""
            parts.append(report.section(f"Wrong answers of {run.name}", lead, table))
    return parts


def _mistake(mistake: Mistake, asked: Sequence[Asked]) -> tuple[str, ...]:
    one = asked[mistake.asked]
    numbers = (
        NOTHING if value is None else f"{value:.3f}" for value in (mistake.similarity, mistake.confidence)
    )
    return (_short(one.text), _short(one.truth), _short(mistake.served), *numbers)


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}..."
