"""The HTML report of a demo run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .. import charts, report
from ..charts import NOTHING
from ..report import Cell, Tile
from . import words
from .corpus import Corpus
from .stream import Census
from .tally import HITS, SIMILAR, Lane, Price, Tally, Trap, Verdict, Wrong, quantiles

TONES = {
    Lane.MEMORY: "blue",
    Lane.REDIS: "violet",
    Lane.INDEX: "teal",
    Lane.REPEATED: "teal",
    Lane.COALESCED: "amber",
    Lane.STALE: "amber",
    Lane.BACKEND: "grey",
    Lane.BYPASS: "grey",
}
_WINDOW = 200
"""Requests over which the lines of the first chart are averaged."""
_POINTS = 240
_BARE_THRESHOLD = 0.9
_UNFOLDED = 16
"""Traps shown at once; the others open on a click."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a report says beside the tally."""

    setting: str
    """How the run was made: requests, concurrency, seed, backend, error budget."""
    census: Census
    price: Price
    semantic: bool


def page(tally: Tally, facts: Facts, corpus: Corpus) -> str:
    """The whole document."""
    parts = [
        report.section(
            "The run", words.traffic(facts.census) + ".", report.tiles(_tiles(tally, facts.census))
        ),
        report.section(
            "Answers without the backend",
            f"Share of requests, averaged over the last {_WINDOW}. The cache warms up as it goes.",
            report.figure(_shares(tally)),
        ),
        report.section(
            "How long callers waited",
            "Each hump is one way of getting an answer. Solid line: median; dashed: 99th percentile.",
            report.figure(charts.ridges([_ridge(lane, tally) for lane in Lane])),
        ),
        report.section(
            "Who answered",
            "Similar, again or joined: a wording that had been answered by meaning before, or that waited for a call "
            "which another wording had started. Joined in flight: waited for the call of an equal question.",
            report.figure(charts.bars(_bars(tally))),
            report.folded("As a table", _lanes(tally)),
        ),
    ]
    if tally.reasons:
        parts.append(
            report.section(
                "Why the others went to the backend",
                "What the similar tier said of each request that it did not answer.",
                report.figure(charts.bars(_reasons(tally))),
            )
        )
    if facts.semantic:
        parts += [_wrong(tally, corpus), _traps(tally, corpus)]
    parts.append(report.section("How to read this", "", report.prose(*_notes(facts))))
    return report.page("A help desk behind cachelayer", facts.setting, parts)


def _tiles(tally: Tally, census: Census) -> list[Tile]:
    exact, similar = (Lane.MEMORY, Lane.REDIS), SIMILAR
    hits = [s for lane in HITS for s in tally.lanes[lane].seconds]
    wrong = tally.faults(Verdict.CACHE)
    possible = 1 - census.fresh / census.requests
    return [
        Tile(
            f"{tally.share(HITS):.0%}",
            "answered without the backend",
            f"{tally.share(exact):.0%} exact, {tally.share(similar):.0%} similar; at best {possible:.0%}",
            "teal",
        ),
        Tile(f"{tally.avoided:,}", "backend calls avoided", f"{tally.backend_calls:,} made, checks included"),
        Tile(str(wrong), "wrong by the cache", words.wrong_similar(tally), "red" if wrong else "teal"),
        Tile(charts.duration(quantiles(hits)[0]), "median wait on a hit", _behind(tally)),
        Tile(charts.duration(tally.saved_seconds), "generation saved", f"in a run of {tally.elapsed:.0f} s"),
        Tile(f"${tally.saved_cost:.2f}", "estimated cost saved", "assumption below"),
    ]


def _behind(tally: Tally) -> str:
    return f"backend {charts.duration(quantiles(tally.lanes[Lane.BACKEND].seconds)[0])}"


def _shares(tally: Tally) -> charts.Drawing:
    groups = (
        ("in all", HITS, "ink", True),
        ("exact", (Lane.MEMORY, Lane.REDIS), "blue", False),
        ("similar", SIMILAR, "teal", False),
    )
    series = [
        charts.Line(name, _rolling(tally.history, lanes), tone, filled)
        for name, lanes, tone, filled in groups
        if tally.share(lanes)
    ]
    return charts.lines(series, "requests")


def _rolling(history: Sequence[Lane], lanes: Sequence[Lane]) -> list[tuple[float, float]]:
    taken = [0]
    for lane in history:
        taken.append(taken[-1] + (lane in lanes))
    step = max(1, len(history) // _POINTS)
    ends = [*range(min(20, len(history)), len(history), step), len(history)]
    return [(end, (taken[end] - taken[max(0, end - _WINDOW)]) / min(end, _WINDOW)) for end in ends if end]


def _ridge(lane: Lane, tally: Tally) -> charts.Ridge:
    return charts.Ridge(words.NAMES[lane], tally.lanes[lane].seconds, TONES[lane])


def _bars(tally: Tally) -> list[charts.Bar]:
    used = [(lane, counts.requests) for lane, counts in tally.lanes.items() if counts.requests]
    return [
        charts.Bar(words.NAMES[lane], n, f"{n:,} · {n / tally.requests:.1%}", TONES[lane]) for lane, n in used
    ]


def _reasons(tally: Tally) -> list[charts.Bar]:
    return [
        charts.Bar(report.words(reason), n, f"{n:,} · {n / tally.requests:.1%}", "grey")
        for reason, n in tally.reasons.most_common()
    ]


def _lanes(tally: Tally) -> str:
    return report.table(words.HEAD, words.rows(tally), numbers=range(1, len(words.HEAD)))


def _wrong(tally: Tally, corpus: Corpus) -> str:
    own = [wrong for wrong in tally.wrong if wrong.verdict is Verdict.CACHE]
    others = [wrong for wrong in tally.wrong if wrong.verdict is not Verdict.CACHE]
    lead = (
        "The corpus knows the right article for every question. An answer is wrong by the cache when it was "
        "made for a question of another article and the backend itself would have answered otherwise."
    )
    parts = [_wrong_table(own, corpus) if own else report.prose("None in this run.")]
    if others:
        title = f"Errors of the backend's own search that the cache repeated: {len(others)}"
        parts.append(report.folded(title, _wrong_table(others, corpus)))
    return report.section("Wrong answers from the cache", lead, *parts)


def _wrong_table(wrongs: Sequence[Wrong], corpus: Corpus) -> str:
    """One row a question and its wrong article, however often it was asked."""
    times = Counter((wrong.asked.text, wrong.served) for wrong in wrongs)
    first = {(wrong.asked.text, wrong.served): wrong for wrong in reversed(wrongs)}
    rows = []
    for key, wrong in reversed(first.items()):
        often = f", {times[key]} times" if times[key] > 1 else ""
        asked = Cell(wrong.asked.text, remark="right: " + _title(wrong.asked.label, corpus))
        served = Cell(_title(wrong.served, corpus), "bad" if wrong.verdict is Verdict.CACHE else "muted")
        scores = (_score(wrong.similarity), _score(wrong.confidence))
        rows.append(
            (asked, served, wrong.made_for or "an earlier run", words.NAMES[wrong.lane] + often, *scores)
        )
    head = ("asked", "answered from", "made for", "by", "similarity", "confidence")
    return report.table(head, rows, numbers=(4, 5))


def _traps(tally: Tally, corpus: Corpus) -> str:
    near = sorted((t for t in tally.traps if t.similarity is not None), key=lambda t: -(t.similarity or 0.0))
    fell = sum(trap.verdict is Verdict.CACHE for trap in near)
    bare = sum(trap.ahead and (trap.similarity or 0.0) >= _BARE_THRESHOLD for trap in near)
    lead = (
        "Pairs of questions that differ in a word and have different answers: an opposite, another number, "
        "product, date or plan, swapped roles, a negation. This is how each fared when it was first asked. "
        f"{len(near)} of {len(corpus.contrasts)} came up after a neighbour of another article was stored; "
        f"the cache fell for {fell}. Serving whatever is nearest at a similarity of {_BARE_THRESHOLD:.2f} "
        f"would have answered {bare} of them wrongly."
    )
    parts = [_trap_table(near[:_UNFOLDED])]
    if len(near) > _UNFOLDED:
        parts.append(report.folded(f"{len(near) - _UNFOLDED} more", _trap_table(near[_UNFOLDED:])))
    return report.section("Traps", lead, *parts)


def _trap_table(traps: Sequence[Trap]) -> str:
    head = ("asked", "nearest of another article", "similarity", "outcome")
    return report.table(head, [_trap_row(trap) for trap in traps], numbers=(2,))


def _trap_row(trap: Trap) -> tuple[Cell | str, ...]:
    if trap.verdict is Verdict.CACHE:
        outcome = Cell("served the wrong answer", "bad", words.NAMES[trap.lane])
    elif trap.lane in HITS:
        outcome = Cell("answered from the right article", "good", words.NAMES[trap.lane])
    else:
        outcome = Cell("refused, asked the backend", "good", trap.reason)
    return Cell(trap.asked.text, remark=trap.contrast), trap.near, _score(trap.similarity), outcome


def _notes(facts: Facts) -> list[str]:
    return [
        "Wickley and its help desk are made up; articles, questions and traffic ship with cachelayer. The "
        "article of a question follows Zipf's law, popular phrasings repeat, and 22 % of the requests ask "
        "about one order by its number.",
        "An answer is right only if its article, and its order number where there is one, is the right one. "
        "Errors of the backend's own search are counted apart: they would have happened without a cache.",
        f"Cost: {words.price(facts.price)}. Time and cost saved count the backend calls avoided, less the "
        "calls made to check similar hits, at the mean of the calls that were made.",
    ]


def _title(label: str, corpus: Corpus) -> str:
    article, _, order = label.partition(" · ")
    known = corpus.articles.get(article)
    return (known.title if known else label or "nothing") + (f" ({order})" if order else "")


def _score(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
