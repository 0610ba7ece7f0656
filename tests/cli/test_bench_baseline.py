"""An earlier run to compare with: what is none is named before anything is measured, and what got worse is told."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayerError
from cachelayer.cli.bench import baseline

SECONDS = {share: {"value": 0.1, "low": 0.09, "high": 0.11} for share in ("p50", "p95", "p99")}
ARM: dict[str, Any] = {
    "latency": {"all": {"e2e": SECONDS, "ttft": SECONDS}},
    "hit_rate": {"value": 0.5, "low": 0.45, "high": 0.55},
    "goodput": {"rate": 9.0, "share": 0.9},
    "errors": 0,
    "sheds": 0,
    "requests": 100,
}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        ('{"arms":', "not JSON"),
        ("[]", "not the figures of a bench"),
        ("[" * 100_000, "not JSON"),
        ('{"v": 1}', "not the figures of a bench"),
        ('{"arms": []}', "not the figures of a bench"),
        ('{"arms": {"with cache": {"latency": {}}}}', "not the figures of a bench"),
    ],
)
def test_what_is_no_earlier_run_is_named_with_what_to_give(
    tmp_path: Path, text: str | None, told: str
) -> None:
    path = tmp_path / "last.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CacheLayerError, match=f"last.json: {told}.*; give the file that an earlier --json"):
        baseline.load(path)


def test_all_that_got_worse_beyond_tolerance_and_chance_is_told() -> None:
    now = copy.deepcopy(ARM)
    now["latency"]["all"]["e2e"]["p99"] = {"value": 0.2, "low": 0.12, "high": 0.3}
    del now["latency"]["all"]["ttft"]
    now |= {"hit_rate": {"value": 0.4, "low": 0.35, "high": 0.44}, "goodput": {"rate": 8.0, "share": 0.8}}
    now |= {"errors": 2, "sheds": 1}
    found = baseline.worse({"arms": {"a": ARM, "b": ARM}}, {"arms": {"a": now}}, 0.1)
    assert found == [
        "REGRESSION a, end to end p99: 100 ms became 200 ms",
        "REGRESSION a, first token: nothing measured now",
        "REGRESSION a, hit rate: 50.0% became 40.0%",
        "REGRESSION a, goodput: 90.0% became 80.0% of requests",
        "REGRESSION a, errors: 0.0% became 2.0% of requests",
        "REGRESSION b: not measured now",
    ]


@pytest.mark.parametrize("tolerance", [0.1, 0.5])
def test_what_is_within_tolerance_or_chance_is_no_regression(tolerance: float) -> None:
    now = copy.deepcopy(ARM)
    now["latency"]["all"]["e2e"]["p99"] = {"value": 0.2, "low": 0.11, "high": 0.3}
    now |= {"hit_rate": {"value": 0.4, "low": 0.35, "high": 0.45}, "goodput": {"rate": 9.0, "share": 0.81}}
    now |= {"errors": 1, "sheds": 1}
    assert baseline.worse({"arms": {"a": ARM}}, {"arms": {"a": now}}, tolerance) == []
