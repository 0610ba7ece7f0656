"""Reports are one well-formed file that asks nothing of the network, and charts stay inside their frames."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cachelayer.cli import charts, plots, report
from cachelayer.cli.demo import page
from cachelayer.cli.demo.corpus import load
from cachelayer.cli.demo.stream import census, traffic
from cachelayer.cli.demo.tally import Lane, Price, Tally, Trap, Verdict, Wrong

VOID = {"meta", "br"}
WIDTHS = (340, 880)


class Reader(HTMLParser):
    """Checks that tags nest, and collects text and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def document() -> str:
    corpus = load()
    stream = traffic(corpus, 300, 1)
    tally = Tally(len(stream))
    for i, asked in enumerate(stream):
        lane = list(Lane)[i % len(Lane)]
        tally.add(lane, Verdict.RIGHT, 10.0 ** (-6 + i % 6))
        if asked.question.text in corpus.contrasts:
            tally.traps.append(Trap(asked, "number", True, "near <b>", 0.93, lane, Verdict.CACHE, ""))
    for verdict in (Verdict.CACHE, Verdict.CACHE, Verdict.INHERITED):
        tally.wrong.append(
            Wrong(stream[0], "hub2-reset", Lane.INDEX, verdict, 0.97, None, "<script>alert(1)")
        )
    tally.reasons["guard"] = 3
    facts = page.Facts(setting="300 requests", census=census(stream), price=Price(), semantic=True)
    return page.page(tally, facts, corpus)


def test_a_report_is_well_formed(document: str) -> None:
    reader = read(document)
    assert document.startswith("<!doctype html>")
    assert {tag for tag, _, _ in reader.attributes} >= {"svg", "path", "rect", "td"}


def test_a_report_asks_nothing_of_the_network_and_runs_nothing(document: str) -> None:
    reader = read(document)
    assert not re.search(r"<(script|link|img|iframe|object|embed)\b", document)
    assert not re.search(r"https?:|url\(|@import", document)
    assert not [name for _, name, _ in reader.attributes if name.startswith("on") or name in ("src", "href")]


def test_text_from_outside_is_escaped(document: str) -> None:
    assert "<script>alert(1)" in read(document).texts
    assert "near <b>" in read(document).texts


def test_wrong_answers_are_listed_once_with_their_number(document: str) -> None:
    texts = read(document).texts
    assert texts.count("index, similar, 2 times") == 1
    assert "Errors of the backend's own search that the cache repeated: 1" in texts


def test_light_and_dark_define_the_same_colours() -> None:
    style = report.page("", "", [])
    light, dark = re.findall(r":root ?\{(.*?)\}", style)
    names = [set(re.findall(r"--(\w+):", theme)) for theme in (light, dark)]
    assert names[0] == names[1] >= {"paper", "ink", "blue", "teal", "amber", "violet", "red", "grey"}


def test_a_figure_is_drawn_wide_and_narrow() -> None:
    markup = report.figure(charts.bars([charts.Bar("a", 1, "1", "blue")]), "caption")
    assert re.findall(r'viewBox="0 0 (\d+) ', markup) == ["880", "340"]
    read(markup)


def test_every_cell_names_its_column_for_narrow_screens() -> None:
    reader = read(report.table(("a", "b"), [("1", report.Cell("2", "bad", "small"))], numbers=(1,)))
    assert [value for tag, name, value in reader.attributes if (tag, name) == ("td", "data-name")] == [
        "a",
        "b",
    ]


@example([1.0], [5e-324], WIDTHS[0])
@given(
    st.lists(st.floats(1e-7, 1e3, allow_nan=False), min_size=1, max_size=50),
    st.lists(st.floats(0, 1e3, allow_nan=False), max_size=50),
    st.sampled_from(WIDTHS),
)
def test_ridges_stay_in_their_frame(first: list[float], second: list[float], width: int) -> None:
    groups = [charts.Ridge("one", first, "blue"), charts.Ridge("two", second, "teal")]
    inside(charts.ridges(groups)(width), width)


@given(
    st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=40),
    st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=40),
    st.sampled_from(WIDTHS),
)
def test_lines_stay_in_their_frame(first: list[float], second: list[float], width: int) -> None:
    series = [
        charts.Line(name, list(enumerate(ys, 1)), "blue", filled=name == "one")
        for name, ys in (("one", first), ("two", second))
    ]
    inside(charts.lines(series, "requests")(width), width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("budget", ["0.01", "0.05,ttl=1h,normalize.case=true,shadow=0"])
def test_names_beside_lines_end_as_they_do_within_the_frame(budget: str, width: int) -> None:
    svg = charts.lines([charts.Line(f"max_error_rate={budget}", [(1, 1.0)], "blue")], "requests")(width)
    ((x, name),) = re.findall(r'class="ink-blue" x="([0-9.]+)"[^>]*>([^<]*)<', svg)
    assert float(x) + charts.LETTER * len(name) <= width
    assert name.startswith("100% ") and name.endswith(budget[-5:])


@given(st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=5))
def test_names_at_the_ends_of_lines_do_not_cover_each_other(ends: list[float]) -> None:
    svg = charts.lines([charts.Line("n", [(1, end)], "blue") for end in ends], "requests")(880)
    heights = sorted(float(y) for y in re.findall(r'class="ink-blue" x="[\d.]+" y="([\d.]+)"', svg))
    assert len(heights) == len(ends)
    assert all(after - before >= 14.8 for before, after in pairwise(heights))
    assert heights[-1] <= 230


@given(st.lists(st.tuples(st.floats(0, 0.3), st.sampled_from((0.0, 0.5, 0.98, 1.0))), max_size=7))
def test_names_of_dots_do_not_cover_each_other(places: list[tuple[float, float]]) -> None:
    dots = [plots.Dot("0 of 17", x, y, "teal") for x, y in places]
    svg = plots.plane(plots.Plane("x", "y", dots=dots))(880)
    texts = re.findall(r'class="ink-teal" x="([\d.]+)" y="([\d.]+)"', svg)
    assert len(texts) == len(dots)
    for (x, y), (a, b) in combinations([(float(x), float(y)) for x, y in texts], 2):
        assert abs(y - b) >= 12.9 or abs(x - a) >= charts.LETTER * len("0 of 17") - 0.1


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), max_size=8),
    st.sampled_from((340, 880)),
)
def test_planes_stay_in_their_frame(dots: list[tuple[float, float, float]], width: int) -> None:
    made = [
        plots.Dot(f"run {i}", x, y, "teal", (min(x, e), max(x, e)), (min(y, e), max(y, e)))
        for i, (x, y, e) in enumerate(dots)
    ]
    curve = plots.Curve("all", [(x, y) for x, y, _ in dots], "grey")
    inside(plots.plane(plots.Plane("x", "y", 0.5, 0.5, made, [curve], [(0.1, "bound")]))(width), width)


@given(
    st.lists(st.floats(-1, 1), max_size=50),
    st.lists(st.floats(-1, 1), max_size=9),
    st.sampled_from((340, 880)),
)
def test_histograms_stay_in_their_frame(first: list[float], second: list[float], width: int) -> None:
    groups = [("same", first, "teal"), ("other", second, "red")]
    inside(plots.histograms(groups, "cosine")(width), width)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_counts_at_an_axis_are_whole_and_evenly_spaced(values: list[float]) -> None:
    svg = plots.histograms([("same", values, "teal")], "cosine")(880)
    counts = [int(n) for n in re.findall(r'text-anchor="end">(\d+)</text>', svg)]
    assert counts[0] == 0 and counts[1] * 2 == counts[2]


def test_a_ridge_names_the_percentiles_that_it_is_given_and_has_ticks_within_one_decade() -> None:
    svg = charts.ridges([charts.Ridge("all", [0.15, 0.2, 0.3], "grey", (0.21, 0.35))])(880)
    assert "p50 210 ms · p99 350 ms" in svg
    assert re.findall(r'text-anchor="middle">([^<]+)', svg) == ["100 ms", "200 ms", "500 ms", "1 s"]
    wide = charts.ridges([charts.Ridge("all", [1e-5, 0.3], "grey")])(880)
    assert re.findall(r'text-anchor="middle">([^<]+)', wide)[:2] == ["10 µs", "100 µs"]


@given(st.lists(st.floats(0, 1e9, allow_nan=False), max_size=12), st.sampled_from(WIDTHS))
def test_bars_stay_in_their_frame(values: list[float], width: int) -> None:
    inside(charts.bars([charts.Bar("name", value, "1", "red") for value in values])(width), width)


def test_the_note_of_the_longest_bar_ends_within_the_frame() -> None:
    """In a narrow one "requests/s" was cut off."""
    drawn = charts.bars(
        [charts.Bar("tool", 9.0, "135,043 requests/s", "grey"), charts.Bar("it", 1.0, "1", "blue")]
    )
    for width in WIDTHS:
        begins = max(float(x) for x in re.findall(r'<text class="muted" x="([\d.]+)"', drawn(width)))
        assert begins + 7 * len("135,043 requests/s") <= width
        assert 'aria-label="tool: 135,043 requests/s; it: 1"' in drawn(width)


def test_charts_of_nothing_are_drawn() -> None:
    for drawing in (
        charts.lines([], "x"),
        charts.ridges([]),
        charts.bars([]),
        plots.plane(plots.Plane("x", "y")),
    ):
        read(drawing(880))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.14e-6, "3.1 µs"),
        (4e-6, "4 µs"),
        (0.0009999, "1 ms"),
        (0.0423, "42 ms"),
        (0.9999, "1 s"),
        (1.26, "1.3 s"),
        (75.2, "75 s"),
        (3600, "60 min"),
        (math.nan, charts.NOTHING),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert charts.duration(seconds) == text


def test_reasons_are_told_in_words() -> None:
    assert [report.words(reason) for reason in ("guard", "unsure", "bad_vector")] == [
        "a guard objected",
        "not sure enough",
        "bad vector",
    ]


def test_a_report_is_written_below_directories_that_do_not_exist_yet(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.html"
    report.write(path, report.page("é", "", []))
    assert "é" in path.read_text(encoding="utf-8")


def test_half_a_surrogate_pair_in_a_trace_costs_no_report(tmp_path: Path) -> None:
    report.write(tmp_path / "told.json", '{"asked": "\ud83d"}')
    assert json.loads((tmp_path / "told.json").read_text("utf-8")) == {"asked": "\ud83d"}


def inside(svg: str, width: int) -> None:
    """Every coordinate is a number inside the drawing."""
    reader = read(svg)
    assert "nan" not in svg and "inf" not in svg
    height = float(next(value for tag, name, value in reader.attributes if (tag, name) == ("svg", "height")))
    for tag, name, value in reader.attributes:
        if tag != "svg" and name in ("x", "x1", "x2"):
            assert -1 <= float(value) <= width + 1
        elif tag != "svg" and name in ("y", "y1", "y2"):
            assert -1 <= float(value) <= height + 1
        elif name == "d":
            for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", value):
                assert -1 <= float(x) <= width + 1
                assert -1 <= float(y) <= height + 1
