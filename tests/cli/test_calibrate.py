"""`cachelayer calibrate`: nothing is reported on what was chosen on, and what is recommended can be pasted."""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, Policy
from cachelayer.cli import main
from cachelayer.cli.calibrate.choose import LEAST, choose, reliability, split
from cachelayer.cli.calibrate.words import evidence, python, toml
from cachelayer.cli.serve.config import load
from cachelayer.cli.traces.intervals import exact, limit
from cachelayer.cli.traces.read import Asked, Trace
from cachelayer.cli.traces.rows import TraceError
from cachelayer.cli.traces.tally import EXACT, FILLED, MISS, RIGHT, WRONG, Tally


def test_a_stream_is_cut_in_time() -> None:
    asked = [Asked(str(i), "x", "x", at=float(i)) for i in range(100)]
    trace, cut = split(Trace("t", asked), 0.3)
    assert cut == 30 and trace.asked == asked


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=200, max_size=300),
    st.floats(0.3, 0.7),
)
def test_no_question_of_a_pair_is_on_both_sides(pairs: list[tuple[int, int]], share: float) -> None:
    asked = []
    for i, (a, b) in enumerate(pairs):
        asked += [
            Asked(f"q{a}", f"{i}", "x", f"pair {i}", counted=False),
            Asked(f"q{b}", f"{i}", "x", f"pair {i}"),
        ]
    try:
        trace, cut = split(Trace("t", asked, pairs=True), share)
    except TraceError:
        return  # one component holds nearly all
    first, other = trace.asked[:cut], trace.asked[cut:]
    assert not {one.text for one in first} & {one.text for one in other}
    assert not {one.scope for one in first} & {one.scope for one in other}
    assert sorted(map(repr, trace.asked)) == sorted(map(repr, asked))


@given(st.integers(2 * LEAST, 60))
def test_pairs_of_strangers_are_dealt_to_both_sides(n: int) -> None:
    asked = []
    for i in range(n * 4):
        asked += [Asked(f"a{i}", "x", "x", f"{i}", counted=False), Asked(f"b{i}", "x", "x", f"{i}")]
    _, cut = split(Trace("t", asked, pairs=True), 0.5)
    assert 0.3 < cut / len(asked) < 0.7


def test_too_short_a_trace_says_how_many_are_needed() -> None:
    with pytest.raises(TraceError, match=r"10 requests to choose on, which is too few; give at least 20"):
        split(Trace("t", [Asked("q", "x", "x")] * 20), 0.5)


def test_of_pairs_too_few_are_counted_as_pairs() -> None:
    pair = [Asked("q", "x", "x", "p", counted=False), Asked("r", "x", "x", "p")]
    with pytest.raises(TraceError, match=r"(0|15) requests to choose on"):
        split(Trace("t", pair * 15, pairs=True), 0.5)


@pytest.mark.parametrize(
    ("share", "told"), [(0.01, "1%"), (0.0025, "0.25%"), (0.0004, "0.04%"), (0.07, "7%")]
)
def test_a_target_is_told_as_it_was_given(share: float, told: str) -> None:
    """0.25 % stood there as 0.2 %, which nothing had kept, and two budgets had one name."""
    assert limit(share) == told


def run(bound: float, right: int, wrong: int, *, later_wrong: int = 0) -> Tally:
    """A run whose first 1,000 requests are these, the next 1,000 misses but for some wrong ones."""
    first = [RIGHT] * right + [WRONG] * wrong + [MISS] * (1000 - right - wrong)
    return Tally(
        f"{bound}", "layer", bound, [*first, *([WRONG] * later_wrong), *([MISS] * (1000 - later_wrong))]
    )


@given(st.lists(st.tuples(st.integers(MISS, FILLED), st.booleans()), max_size=30), st.integers(0, 30))
def test_what_is_counted_on_both_sides_of_the_cut_is_what_is_counted_in_all(
    told: list[tuple[int, bool]], cut: int
) -> None:
    """What was answered differently in the trace was counted on neither side."""
    whole = Tally("run", "layer", path=[code for code, _ in told])
    for place, (code, odd) in enumerate(told):
        if odd and code in (RIGHT, EXACT):
            (whole.checked if code == RIGHT else whole.changed).append(place)
    parts = [whole.part(0, cut).plain(), whole.part(cut).plain()]
    counts = {name: count for name, count in whole.plain().items() if isinstance(count, int)}
    assert len(counts) == 7
    assert counts == {name: sum(part[name] for part in parts) for name in counts}


def test_the_choice_spares_most_among_those_that_keep_the_target_for_sure() -> None:
    runs = [run(0.005, 400, 0), run(0.01, 600, 0), run(0.02, 800, 8)]
    choice = choose(runs, 1000, 0.01)
    assert choice.run is runs[1] and choice.verdict == "shown"


def test_a_larger_budget_is_not_chosen_for_what_may_be_chance() -> None:
    runs = [run(0.01, 600, 0), run(0.05, 700, 0), run(0.1, 715, 0), run(0.2, 705, 0)]
    assert choose(runs, 1000, 0.01).run is runs[1]


def test_what_comes_after_the_cut_changes_no_choice() -> None:
    for later in (0, 500):
        runs = [run(0.01, 600, 0, later_wrong=later), run(0.02, 500, 0)]
        assert choose(runs, 1000, 0.01).run is runs[0]


def test_without_evidence_the_target_itself_is_the_budget() -> None:
    runs = [run(0.005, 5, 0), run(0.01, 10, 0), run(0.05, 90, 1)]
    choice = choose(runs, 1000, 0.01)
    assert choice.run is runs[1] and choice.verdict == "likely"


def test_where_every_budget_breaks_the_target_none_is_recommended() -> None:
    choice = choose([run(0.005, 100, 50), run(0.01, 100, 60)], 1000, 0.01)
    assert choice.run is None and choice.verdict == "off"


@given(st.sampled_from((0.001, 0.005, 0.01, 0.02, 0.05, 0.1)))
def test_the_evidence_named_is_the_least_that_suffices(target: float) -> None:
    n = evidence(target)
    assert exact(0, n)[1] <= target < exact(0, n - 1)[1]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60))
def test_every_similar_answer_is_in_one_bin(served: list[tuple[float, bool]]) -> None:
    tally = Tally("t", "layer", confidences=[(i, sure, right) for i, (sure, right) in enumerate(served)])
    bins = reliability(tally, (0.0, 0.01, 0.1, 1.01))
    assert sum(n for _, _, n in bins) == len(served)
    assert sum(wrong for _, wrong, _ in bins) == sum(not right for _, right in served)


@given(
    st.fixed_dictionaries(
        {"max_error_rate": st.sampled_from((0.002, 0.05)), "semantic": st.booleans(), "ttl": st.just("1h")}
    )
)
def test_the_settings_can_be_pasted_as_python_and_into_the_gateways_file(settings: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(python(settings).replace("policy=", "semantic=False, policy="), names)
    layer = names["layer"]
    assert isinstance(layer, CacheLayer) and layer.policy == Policy(**settings)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "gateway.toml"
        path.write_text(toml(settings) + '\n[[upstream]]\nurl = "http://127.0.0.1:8000"\n')
        cache = load(path, {}, {}).cache
    assert cache.semantic == ("on" if settings["semantic"] else "off") and cache.ttl == 3600
    assert cache.max_error_rate == settings["max_error_rate"]


def test_what_the_gateway_cannot_be_told_is_said_in_its_place() -> None:
    told = toml({"max_error_rate": 0.01, "shadow": 0.2})
    assert tomllib.loads(told) == {"cache": {"max_error_rate": 0.01}}
    assert "# shadow=0.2 is not a setting of the gateway" in told


def faq(path: Path, n: int) -> Path:
    rng = random.Random(3)
    topics = ["How do I reset my password?", "Where is my parcel?", "How do I cancel my plan?"]
    rows = []
    for _ in range(n):
        topic = rng.choice(topics)
        rows.append(
            {
                "question": f"{rng.choice(('Hello', 'Hi', 'Please'))}, {topic} {rng.randint(0, 9)}",
                "label": topic,
            }
        )
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_the_command_reports_on_the_later_part_and_writes_page_and_json(tmp_path: Path, capsys: Any) -> None:
    figures, page = tmp_path / "f.json", tmp_path / "r.html"
    trace = faq(tmp_path / "faq.jsonl", 120)
    asked = ["calibrate", str(trace), "--target", "0.05", "--base", "ttl=1h", "--fit", "0.6", "--quiet"]
    assert main([*asked, "--json", str(figures), "--report", str(page)]) == 0
    told = capsys.readouterr().out
    assert "the last 48 requests" in told and "Recommended:" in told
    pasted, written = (
        told.partition("\nPython:\n\n")[2].partition("\n\nReport:")[0].split("\n\ngateway.toml:\n\n")
    )
    compile(pasted, "settings.py", "exec")
    assert tomllib.loads(written)["cache"]["ttl"] == "1h"
    plain = json.loads(figures.read_text())
    assert (plain["chosen_on"], plain["reported_on"]) == (72, 48)
    assert plain["settings"]["ttl"] == "1h"
    assert all(run["reported_on"]["requests"] == 48 for run in plain["runs"])
    document = page.read_text()
    assert document.count("<svg") == 6 and "<script" not in document


def test_settings_can_be_pasted_from_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = io.StringIO()
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", out)
    trace = faq(tmp_path / "faq.jsonl", 120)
    assert main(["calibrate", str(trace), "--quiet", "--no-report"]) == 0
    pasted, written = out.getvalue().partition("\nPython:\n\n")[2].split("\n\ngateway.toml:\n\n")
    compile(pasted, "settings.py", "exec")
    assert "cache" in tomllib.loads(written)


def test_labelled_pairs_are_calibrated_too(tmp_path: Path, capsys: Any) -> None:
    rows = [{"q1": f"what is topic {i}", "q2": f"what is topic {i}?", "same": i % 2} for i in range(120)]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["calibrate", str(tmp_path / "p.jsonl"), "--quiet", "--no-report"]) == 0
    told = capsys.readouterr().out
    assert "pairs, none of whose questions occurs" in told
