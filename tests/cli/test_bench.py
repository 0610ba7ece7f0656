"""`cachelayer bench` counts what happened, hides no wait, keeps hits and misses apart, and fails on regressions."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.cli import main
from cachelayer.cli.bench import baseline
from cachelayer.cli.bench.drive import closed_loop, open_loop
from cachelayer.cli.bench.measured import SHARES, Arm, Counts, Sample, latencies, name_of
from cachelayer.cli.bench.traffic import Item
from cachelayer.cli.bench.words import doubts

APP = """
    import asyncio
    from cachelayer import CacheLayer

    layer = CacheLayer(semantic=False)

    @layer.cached
    async def ask(question: str) -> str:
        await asyncio.sleep(0.01)
        if question == "bad":
            raise LookupError
        return question.upper()

    def plain(question: str) -> str:
        return question

    @layer.cached
    async def tell(messages: list) -> list:
        for word in ("a", "b", "c"):
            await asyncio.sleep(0.002)
            yield word
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with an application and traffic for it."""
    monkeypatch.chdir(tmp_path)
    name = f"bench_app_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(APP))
    (tmp_path / "app").write_text(name)
    rows = [{"q": f"q{i % 5}", "at": i / 200} for i in range(40)]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "bare.jsonl").write_text('{"q": "q"}\n')
    yield tmp_path


def bench(here: Path, function: str, *options: str, status: int = 0) -> dict[str, Any]:
    target = f"{(here / 'app').read_text()}:{function}"
    got = main(["bench", target, "asked.jsonl", "--warmup", "0", "--json", "told.json", *options])
    assert got == status
    figures: dict[str, Any] = json.loads((here / "told.json").read_text())
    return figures


def test_before_and_after_with_hits_and_misses_apart(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = bench(here, "ask", "--concurrency", "1")
    without, with_ = figures["arms"]["without cache"], figures["arms"]["with cache"]
    assert with_["hit_rate"]["value"] == 35 / 40 and without["hit_rate"] is None
    assert with_["misses"] == {"memory:absent": 5} and without["misses"] == {}
    assert with_["latency"]["miss"]["e2e"]["count"] == 5
    assert (
        with_["latency"]["hit"]["e2e"]["p50"]["value"]
        < 0.01
        <= without["latency"]["all"]["e2e"]["p50"]["value"]
    )
    page = (here / "cachelayer-bench.html").read_text()
    assert "with cache" in page and "<script" not in page
    assert "the tool alone:" in capsys.readouterr().out


def test_streams_show_first_token_gaps_and_time_per_token(here: Path) -> None:
    with_ = bench(here, "tell", "--speed", "1")["arms"]["without cache"]["latency"]["all"]
    assert with_["ttft"]["count"] == with_["tpot"]["count"] == 40 and with_["itl"]["count"] == 80
    assert with_["ttft"]["p50"]["value"] >= 0.002
    assert with_["e2e"]["p50"]["value"] >= 3 * 0.002


def test_errors_are_counted_with_their_names_and_kept_out_of_latencies(here: Path) -> None:
    with (here / "asked.jsonl").open("a") as file:
        file.write('{"q": "bad", "at": 0.3}\n')
    arm = bench(here, "ask", "--concurrency", "2", "--only", "with")["arms"]["with cache"]
    assert (
        arm["errors"] == 1
        and arm["faults"] == {"LookupError": 1}
        and arm["latency"]["all"]["e2e"]["count"] == 40
    )


def test_where_nothing_was_answered_that_and_why_is_all_that_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "asked.jsonl").write_text('{"q": "bad"}\n' * 9)
    target = f"{(here / 'app').read_text()}:ask"
    assert main(["bench", target, "asked.jsonl", "--concurrency", "2", "--warmup", "0"]) == 2
    told = capsys.readouterr()
    assert "none of 9 requests was answered: 9 LookupError" in told.err and not told.out
    assert not (here / "cachelayer-bench.html").exists()


def test_a_function_that_is_not_awaited_is_measured_too_and_called_uncached_where_it_is(here: Path) -> None:
    """Its figures stood under "with cache", although the decorator was forgotten."""
    told = bench(here, "plain", "--concurrency", "2")
    assert told["arms"]["with cache"]["ok"] == 40
    assert any("no layer wraps this function" in doubt for doubt in told["tool"]["warnings"])
    wrapped = bench(here, "ask", "--concurrency", "2")["tool"]["warnings"]
    assert not any("no layer wraps" in doubt for doubt in wrapped)


def test_a_script_that_runs_a_loop_of_its_own_is_benched_and_its_layer_is_started_and_closed(
    here: Path,
) -> None:
    script = f"{(here / 'app').read_text()}_script"
    told = """
        class Told(CacheLayer):
            lived = []

            async def start(self):
                self.lived.append("started")
                await super().start()

            async def aclose(self, *timeout):
                self.lived.append("closed")
                await super().aclose(*timeout)

        layer = Told(semantic=False)

        @layer.cached
        async def own(question: str) -> str:
            return question

        asyncio.run(own("on import"))
    """
    (here / f"{script}.py").write_text(textwrap.dedent(APP) + textwrap.dedent(told))
    main(["bench", f"{script}:own", "asked.jsonl", "--concurrency", "1", "--no-report"])
    assert sys.modules[script].layer.lived == ["started", "closed"]


def test_a_regression_against_a_baseline_fails_and_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = ("--concurrency", "1", "--only", "with", "--tolerance", "1000")
    figures = bench(here, "ask", *alone)
    was = figures["arms"]["with cache"]
    for share in SHARES:
        was["latency"]["all"]["e2e"][name_of(share)]["value"] *= 100 if share > 0.5 else 0.001
    (here / "last.json").write_text(json.dumps(figures))
    bench(here, "ask", *alone, "--baseline", "last.json", status=1)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("REGRESSION")]
    assert len(told) == 1 and told[0].startswith("REGRESSION with cache, end to end p50")


def test_the_same_figures_are_no_regression(here: Path) -> None:
    figures = bench(here, "ask", "--concurrency", "1")
    assert baseline.worse(figures, figures, 0.1) == []


async def test_a_stall_of_the_target_counts_for_everybody_who_was_due_meanwhile() -> None:
    """Coordinated omission: one that sends the next only after the last would see a single slow request."""

    class Stalls:
        async def serve(self, item: Item, sample: Sample) -> None:
            sample.sent = time.monotonic()
            if item.text == "0":
                time.sleep(0.3)  # noqa: ASYNC251 - nothing else can be sent meanwhile
            sample.last = time.monotonic()

        async def aclose(self) -> None: ...

    items = [Item(i * 0.01, str(i), {}) for i in range(20)]
    seen: list[Sample] = []
    await open_loop(items, Stalls(), lambda place, sample: seen.append(sample), in_flight=100)
    waits = sorted(latencies(sample)["e2e"][0] for sample in seen)
    assert len(seen) == 20 and waits[0] >= 0.3 - 19 * 0.01 - 0.001


async def test_the_closed_loop_keeps_so_many_under_way() -> None:
    now = most = 0

    class Busy:
        async def serve(self, item: Item, sample: Sample) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1
            sample.last = time.monotonic()

        async def aclose(self) -> None: ...

    done: list[int] = []
    items = [Item(None, "", {})] * 50
    await closed_loop(items, Busy(), lambda place, sample: done.append(place), concurrency=7)
    assert most == 7 and sorted(done) == list(range(50))


@given(st.lists(st.floats(1e-6, 1000.0), min_size=1, max_size=300))
def test_percentiles_are_those_of_the_values_to_a_tenth_of_a_percent(seconds: list[float]) -> None:
    counts = Counts()
    counts.add(seconds)
    for share in SHARES:
        true = float(np.quantile(seconds, share, method="inverted_cdf"))
        assert counts.percentile(share) == pytest.approx(true, rel=0.001)
        low, high = counts.interval(share)
        assert low <= counts.percentile(share) <= high


def test_goodput_counts_what_met_every_limit_of_all_that_were_asked() -> None:
    arm = Arm("with cache", {"ttft": 0.1, "e2e": 1.0})
    for first, last, status in ((0.05, 0.9, "ok"), (0.2, 0.9, "ok"), (0.05, 1.5, "ok"), (0.05, 0.9, "shed")):
        arm.add(Sample(0.0, 0.0, first, last, status=status))  # type: ignore[arg-type]
    told = arm.summary()
    assert told["goodput"]["share"] == 0.25 and told["sheds"] == 1


def test_what_met_the_limits_is_told_in_words_and_on_the_page(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = bench(here, "ask", "--concurrency", "1", "--slo", "e2e=1h,ttft=1h", "--only", "with")
    assert figures["arms"]["with cache"]["goodput"]["share"] == 1.0
    assert "(100.0% within the SLO)" in capsys.readouterr().out
    assert "within the SLO, with cache" in (here / "cachelayer-bench.html").read_text()


@pytest.mark.parametrize(("loop", "late", "told"), [
    ("open", (0.5, 0.0), "left up to 500 ms late (p99)"), ("open", (0.5, 0.1), "left 100 ms late (p50)"),
    ("open", (0.001, 0.0), ""), ("closed", (0.5, 0.1), ""),
])  # fmt: skip
def test_that_the_tool_was_late_is_doubted_where_it_has_arrivals_to_keep(
    loop: str, late: tuple[float, float], told: str
) -> None:
    p99, p50 = ({"value": value} for value in late)
    took = {"e2e": {"p50": {"value": 0.2}}}
    arm = {"misses": {}, "hit_rate": {}, "ok": 1, "rate": 1.0, "latency": {"all": took, "hit": took}}
    figures = {
        "tool": {"cpu": 0.1, "ceiling": 1000.0}, "target": "app:ask", "loop": loop,
        "arms": {"with cache": {**arm, "lag": {"p99": p99, "p50": p50}}},
    }  # fmt: skip
    assert told in "; ".join(doubts(figures)) if told else not doubts(figures)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["nowhere:ask", "asked.jsonl", "--rate", "5"], "name an async function"),
        (["127.0.0.1:80", "asked.jsonl", "--rate", "5"], "or a URL like http://host:port/v1"),
        (["json:dumps", "asked.jsonl", "--warmup", "50", "--rate", "5"], "would leave none"),
        (["json:dumps", "asked.jsonl", "--warmup", "inf%", "--rate", "5"], "a share like 5%"),
        (
            ["http://h", "asked.jsonl", "--rate", "5", "--header", "X: é"],
            "--header X: give NAME:VALUE in ASCII",
        ),
        (["json:dumps", "asked.jsonl", "--slo", "fast=1s", "--rate", "5"], "give limits for"),
        (["json:dumps", "bare.jsonl"], "bare.jsonl has no arrival times: give --concurrency N or --rate R"),
        (
            ["json:dumps", "asked.jsonl", "--rate", "5", "--only", "without"],
            "--only without: name what to ask",
        ),
        (["json:__name__", "asked.jsonl", "--rate", "5"], "json:__name__ is not a function"),
    ],
)
def test_what_cannot_work_is_one_sentence(
    here: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *options]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1


def test_percentiles_are_named_plainly() -> None:
    assert [name_of(share) for share in SHARES] == ["p50", "p90", "p95", "p99", "p99.9"]
