"""`cachelayer replay`: real layers, thresholds and the oracle over one trace, told truly."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import Budgets, ConfigurationError
from cachelayer.cli import main
from cachelayer.cli.charts import NOTHING
from cachelayer.cli.replay.page import rolling
from cachelayer.cli.replay.shuffles import shuffled
from cachelayer.cli.traces.read import Asked, Trace
from cachelayer.cli.traces.rivals import in_hindsight, oracle, thresholds
from cachelayer.cli.traces.run import Remembered, Run
from cachelayer.cli.traces.settings import config
from cachelayer.cli.traces.tally import EXACT, FILLED, MISS, RIGHT, WRONG, Tally
from cachelayer.testing import WordEmbedder

WORDS = "hub lamp lock plug app sensor camera battery update invoice parcel account".split()


def stream(n: int, seed: int = 1) -> list[Asked]:
    rng = random.Random(seed)
    asked = []
    for _ in range(n):
        topic = rng.choice(WORDS)
        filler = " ".join(rng.sample(("please", "now", "help", "thanks", "hello", "why"), 2))
        asked.append(Asked(f"{filler} {topic} {topic} {topic} broken", topic, f"About {topic}."))
    return asked


async def replayed(asked: Sequence[Asked], setting: str) -> Tally:
    embedder = Remembered(WordEmbedder())
    await embedder.learn([one.text for one in asked], lambda done: None)
    return await Run(asked, config(setting), embedder).run(lambda done: None)


async def test_exact_only_hits_exactly_the_repeats() -> None:
    asked = [Asked(text, text, text) for text in "abcabca"]
    tally = await replayed(asked, "exact")
    assert tally.path == [MISS] * 3 + [EXACT] * 4 and tally.calls == 3


async def test_arrival_times_move_the_clock() -> None:
    asked = [Asked("a", "a", "a", at=1000.0 + 50 * i) for i in range(4)]
    assert (await replayed(asked, "exact,ttl=1m".removeprefix("exact,"))).path == [MISS, EXACT, MISS, EXACT]


async def test_calls_are_misses_and_checks_and_all_checks_are_seen() -> None:
    asked = stream(250)
    tally = await replayed(asked, "max_error_rate=0.2,shadow=0.5")
    assert tally.similar > 20 and tally.checks > 5
    assert tally.calls == tally.path.count(MISS) + tally.checks
    told = next(iter(tally.state["replay"].values()))
    assert told["checks"] + told["repeats_checked"] == tally.checks


async def test_what_is_served_is_judged_by_the_trace() -> None:
    asked = stream(250)
    tally = await replayed(asked, "max_error_rate=1,shadow=0")
    assert tally.wrong == len(tally.mistakes) == sum(not right for _, _, right in tally.confidences)
    for mistake in tally.mistakes:
        assert mistake.served != asked[mistake.asked].answer


def test_what_words_alone_would_refuse_or_serve_is_read_closely_as_a_layer_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reworded = "In tennis, what is a let?", "What does it mean when the umpire calls 'let' at Wimbledon?"
    trap = "My left earbud won't charge anymore", "The charging case of my earbuds doesn't charge anymore"
    path = tmp_path / "trace.jsonl"
    rows = [{"question": text, "label": "let", "scope": "tennis"} for text in reworded]
    rows += [{"question": text, "label": text, "scope": "earbuds"} for text in trap]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    asked = ["replay", str(path), "--config", "max_error_rate=0.05,shadow=0", "--no-report", "--quiet"]
    assert main([*asked, "--json", "-"]) == 0
    (layer, *_) = json.loads(capsys.readouterr().out)["runs"]
    assert (layer["similar"], layer["wrong"]) == (1, 0)


async def test_scopes_share_nothing() -> None:
    asked = [Asked("a", "a", "a", scope=s) for s in "xyxy"]
    for setting in ("exact", "default"):
        assert (await replayed(asked, setting)).path == [MISS, MISS, EXACT, EXACT]
    assert oracle(asked).path == [MISS, MISS, EXACT, EXACT]
    runs, _ = thresholds(asked, np.ones((4, 1), np.float32), [0.5])
    assert runs[0].path == [MISS, MISS, EXACT, EXACT]


async def test_conversations_are_asked_as_conversations() -> None:
    booked, lamp = (
        (("user", "book a table"), ("assistant", "done")),
        (("user", "a lamp"), ("assistant", "sent")),
    )
    asked = [Asked("cancel it", "1", "1", turns=booked), Asked("cancel it", "2", "2", turns=lamp)] * 2
    assert (await replayed(asked, "exact")).path == [MISS, MISS, EXACT, EXACT]


async def test_the_first_of_a_pair_fills_and_is_not_counted() -> None:
    asked = [Asked("a b c", "1", "1", "p", counted=False), Asked("a b c", "1", "1", "p")]
    tally = await replayed(asked, "exact")
    assert tally.path == [FILLED, EXACT] and tally.requests == 1 and tally.hit == 1.0


async def test_equal_answers_under_different_labels_are_equal_for_layers_thresholds_and_oracle() -> None:
    """By the oracle's word no cache could save a call, and the layer beside it had saved one."""
    asked = [
        Asked("a", "1", "See the manual."),
        Asked("a", "2", "see the manual."),
        Asked("b", "3", "Other."),
    ]
    layer, best = await replayed(asked, "exact"), oracle(asked)
    [cut], nearest = thresholds(asked, np.ones((3, 1), np.float32), [0.5])
    assert layer.path[:2] == cut.path[:2] == best.path[:2] == [MISS, EXACT]
    assert layer.changed == cut.changed == [] and best.path[2] == MISS
    assert cut.path[2] == WRONG and not nearest.same[2]


def test_the_share_over_the_trace_counts_no_request_that_only_fills() -> None:
    path = [FILLED, RIGHT] * 3
    assert rolling(Tally("run", "layer", path=path)) == [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30), st.integers(0, 9))
def test_no_threshold_beats_the_oracle_and_lower_ones_serve_no_less(truths: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((len(truths), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = [Asked(f"{i}", truth, truth) for i, truth in enumerate(truths)]
    best = oracle(asked)
    assert best.calls == len(set(truths)) and best.wrong == 0
    runs, nearest = thresholds(asked, vectors, [-1.0, 0.0, 0.9])
    for run in runs:
        assert run.path.count(RIGHT) <= best.hits
        assert len(run.path) == len(asked) and run.wrong == len(run.mistakes)
    assert runs[0].hits == len(asked) - 1
    assert runs[0].hits >= runs[1].hits >= runs[2].hits
    assert np.isnan(nearest.cosine[0]) and not np.isnan(nearest.cosine[1:]).any()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("ab")), min_size=1, max_size=60), st.integers(0, 9)
)
def test_a_threshold_serves_the_nearest_text_that_it_had_to_ask_for(
    asked_for: list[tuple[int, str]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    texts = rng.standard_normal((10, 4)).astype(np.float32)
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    asked = [Asked(str(text), truth, truth) for text, truth in asked_for]
    done: list[int] = []
    [run], _ = thresholds(asked, texts[[text for text, _ in asked_for]], [0.3], done.append)
    kept: dict[int, str] = {}
    for (text, truth), became in zip(asked_for, run.path, strict=True):
        best = max(kept, key=lambda other: float(texts[text] @ texts[other]), default=None)
        if text in kept:
            assert became == EXACT
        elif best is not None and texts[text] @ texts[best] >= 0.3:
            assert became == (RIGHT if kept[best] == truth else WRONG)
        else:
            assert became == MISS
            kept[text] = truth
    assert done[-1] == len(asked)


def test_hindsight_takes_the_most_hits_among_those_that_kept_the_bound() -> None:
    def run(name: str, right: int, wrong: int) -> Tally:
        return Tally(
            name, "threshold", path=[RIGHT] * right + [WRONG] * wrong + [MISS] * (200 - right - wrong)
        )

    runs = [run("loose", 150, 20), run("fit", 99, 1), run("strict", 40, 0)]
    best = in_hindsight(runs, 0.01)
    assert best is not None and best.name == "fit"
    assert in_hindsight(runs[:1], 0.01) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("max_eror_rate=0.1", "did you mean 'max_error_rate'"),
        ("max_error_rate", "--config=.*write 'exact'"),
        ("max_error_rate=2", "give a share from 0 to 1"),
        ("normalize.cas=true", "did you mean 'case'"),
        ("ttl=soon", "ttl='soon'"),
    ],
)
def test_a_bad_configuration_names_field_and_remedy(text: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        config(text)


def test_a_configuration_reads_every_kind_of_value() -> None:
    policy = config(
        "max_error_rate=0.02, ttl=1h, variants=2, pure=false, normalize.case=true, budgets.embed=1s"
    ).policy
    assert (policy.max_error_rate, policy.ttl, policy.variants, policy.pure) == (0.02, 3600.0, 2, False)
    assert policy.normalize.case and policy.budgets.embed == 1.0


def test_budgets_that_are_given_hold_though_they_are_the_default_ones() -> None:
    """They were taken for not given, and a stage was waited for a minute."""
    run = Run(stream(1), config("budgets.embed=15ms"), WordEmbedder())
    assert run._ask.handle.function.policy.budgets == Budgets()


def test_the_command_tells_table_json_and_report(tmp_path: Path, capsys: Any) -> None:
    trace = tmp_path / "faq.jsonl"
    rows = [{"question": one.text, "label": one.truth, "latency": 2.0} for one in stream(40)]
    trace.write_text("\n".join(map(json.dumps, rows)))
    figures, page = tmp_path / "f.json", tmp_path / "r.html"
    asked = ["replay", str(trace), "--config", "exact", "--json", str(figures), "--report", str(page)]
    assert main([*asked, "--quiet"]) == 0
    told = capsys.readouterr()
    assert "40 requests" in told.out and "oracle" in told.out and told.err == ""
    plain = json.loads(figures.read_text())
    assert {run["kind"] for run in plain["runs"]} == {"layer", "threshold", "oracle"}
    assert plain["runs"][0]["calls"] == len({row["question"] for row in rows})
    assert "<svg" in page.read_text() and "<script" not in page.read_text()


def test_the_report_shows_what_was_answered_wrongly_and_what_other_orders_gave(
    tmp_path: Path, capsys: Any
) -> None:
    trace, page = tmp_path / "t.jsonl", tmp_path / "r.html"
    texts = "How do I open the blinds?", "How do I close the <b>blinds</b>?" + " Thanks." * 30
    rows = [{"question": text, "label": name, "latency": 2.0} for text, name in zip(texts, "oc", strict=True)]
    trace.write_text("\n".join(map(json.dumps, rows)))
    asked = [
        "replay",
        str(trace),
        "--config",
        "max_error_rate=1,shadow=0",
        "--shuffles",
        "2",
        "--call-cost",
        "0.5",
    ]
    assert main([*asked, "--report", str(page), "--quiet"]) == 0
    said, told = capsys.readouterr().out, page.read_text()
    assert "1 calls, 2 s, $0.50" in said and "over 2 orders" in told
    mistake = told.partition("Wrong answers of max_error_rate=1,shadow=0")[2]
    assert "How do I close the &lt;b&gt;blinds&lt;/b&gt;? Thanks." in mistake and "...</span>" in mistake


def test_shuffled_orders_hold_the_same_requests_and_keep_pairs_together() -> None:
    asked = stream(40)
    orders = [shuffled(Trace("t", asked), seed) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(map(repr, orders[0])) == sorted(map(repr, asked))
    pairs = [Asked(f"{i}{half}", "x", "x", f"{i}", counted=half == "b") for i in range(20) for half in "ab"]
    mixed = shuffled(Trace("t", pairs, pairs=True), 3)
    assert mixed != pairs
    assert all(a.scope == b.scope and b.counted for a, b in zip(mixed[::2], mixed[1::2], strict=True))


def test_orders_are_counted_against_the_bound_of_their_own_configuration(tmp_path: Path, capsys: Any) -> None:
    trace, figures = tmp_path / "t.jsonl", tmp_path / "f.json"
    trace.write_text("\n".join(json.dumps({"q": one.text, "cls": one.truth}) for one in stream(60)))
    asked = ["replay", str(trace), "--config", "exact", "--config", "max_error_rate=0.1", "--shuffles", "3"]
    assert main([*asked, "--json", str(figures), "--no-report", "--quiet"]) == 0
    assert "over 3 orders" in capsys.readouterr().out
    (one,) = json.loads(figures.read_text())["orders"]
    assert one["bound"] == 0.1 and len(one["runs"]) == 3
    assert one["kept"] == sum(run["share_wrong"] <= 0.1 for run in one["runs"])


def test_json_on_standard_output_is_json_alone(tmp_path: Path, capsys: Any) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"q": "a", "cls": "x"}\n')
    assert main(["replay", str(trace), "--config", "exact", "--json", "-", "--no-report", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 1


def test_a_bad_trace_is_one_line_and_no_traceback(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"question": "a"}')
    assert main(["replay", str(path), "--quiet"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("cachelayer: ") and "line 1, field 'answer'" in told and told.count("\n") == 1
    assert told.endswith("; or leave lines like it out with --skip\n")


def test_of_who_is_never_wrong_no_interval_of_wrong_answers_is_told() -> None:
    path = [MISS, RIGHT, RIGHT]
    assert Tally("oracle", "oracle", path=path).cells()[2:] == ("2", "0.00%", "")
    assert Tally("a layer", "layer", path=path).cells()[2:] == ("2", "0.00%", "0.0-84.2")
    assert Tally("a layer", "layer", path=[MISS]).cells()[2:] == ("0", NOTHING, NOTHING)
