"""Similar hits are judged by slice and over time; the doubtful ones go to a file, and its verdicts come back."""

from __future__ import annotations

import json
import stat
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifiers import Sure

from cachelayer import CacheLayer, ConfigurationError, Policy
from cachelayer.observe.quality import Hit, Quality, language_of, share, verdicts, wilson
from cachelayer.testing import WordEmbedder


def hit(
    id: str = "e1", *, confidence: float = 0.9, scope: str = "s", question: str = "how is the weather"
) -> Hit:
    return Hit(id, "ask", scope, question, "how was the weather", "fine", 0.95, confidence)


async def judged_layer(answers: dict[str, str]) -> tuple[CacheLayer, Any]:
    """A layer whose similar hits are all checked."""
    layer = CacheLayer(
        embedder=WordEmbedder(), verifier=Sure(), policy=Policy(shadow=1.0, max_error_rate=0.5, quarantine=0)
    )
    layer.quality()

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return answers[question]

    await layer.start()
    return layer, ask


RIGHT = "what is the way to the old station"
WRONG = "what is the way to the new station"


async def test_checks_of_similar_hits_are_counted_by_slice_and_wrong_ones_exported_first(
    tmp_path: Path,
) -> None:
    layer, ask = await judged_layer({RIGHT: "left", f"{RIGHT} please": "left", WRONG: "right"})
    for question in (RIGHT, f"{RIGHT} please", WRONG):
        outcome = await ask.outcome(question)
        await layer.flush()
    assert outcome.match == "similar"
    report = layer.quality().report()
    told = report["slices"]["function"]["ask"]
    assert (told["hits"], told["checks"], told["wrong"]) == (2, 2, 1)
    assert 0 < told["low"] < 0.5 < told["high"] <= 1 and report["slices"]["language"]["en"]["hits"] == 2
    assert layer.quality().export(tmp_path / "doubts.jsonl") == 2
    rows = [json.loads(line) for line in (tmp_path / "doubts.jsonl").read_text().splitlines()]
    assert rows[0]["question"] == WRONG and rows[0]["verdict"] == "wrong" and rows[0]["truth"] == "right"
    await layer.aclose()


async def test_a_check_that_brings_the_same_prose_in_other_words_counts_as_right_and_another_figure_as_wrong() -> (
    None
):
    prose = (
        "Go to the settings, choose the plan, confirm it there, and wait 3 days until our team writes to you."
    )
    again = {f"{RIGHT} please": prose.replace("the plan", "that plan"), WRONG: prose.replace("3", "5")}
    layer, ask = await judged_layer({RIGHT: prose, **again})
    for question in (RIGHT, *again):
        assert (await ask(question)) == prose
        await layer.flush()
    told = layer.quality().report()["slices"]["function"]["ask"]
    assert (told["hits"], told["checks"], told["wrong"]) == (2, 2, 1)
    await layer.aclose()


async def test_an_exported_file_is_its_owner_s_alone_and_never_overwritten(tmp_path: Path) -> None:
    quality, path = Quality(), tmp_path / "doubts.jsonl"
    quality.served(hit())
    assert quality.export(path) == 1 and stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ConfigurationError, match="not there yet"):
        quality.export(path)


async def test_a_verdict_of_wrong_removes_the_entry_and_counts(tmp_path: Path) -> None:
    layer, ask = await judged_layer({RIGHT: "left", f"{RIGHT} please": "left"})
    await ask(RIGHT)
    await layer.flush()
    served = await ask.outcome(f"{RIGHT} please")
    await layer.flush()
    path = tmp_path / "doubts.jsonl"
    trusted = layer._similar.decider._functions["ask"].pairs  # type: ignore[union-attr]
    before = list(trusted.factors)
    layer.quality().export(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "verdict": "wrong"}) + "\n" for row in rows))
    assert await layer.judge(path) == (0, 1)
    assert max(trusted.factors) > max(before)  # hits as doubtful are trusted less
    assert await layer.judge(path) == (0, 0)  # a hit is judged once, however often its file is read
    assert layer.metrics() and layer.stats()["entries"] < 2
    assert rows[0]["id"] == served.id and await layer.report_wrong(served) is False
    await layer.aclose()


def test_the_most_doubtful_are_kept_and_no_more_than_asked_for(tmp_path: Path) -> None:
    quality = Quality(keep=3)
    for n in range(20):
        quality.served(hit(f"e{n}", confidence=0.5 + n / 50))
    quality.export(tmp_path / "doubts.jsonl")
    ids = [json.loads(line)["id"] for line in (tmp_path / "doubts.jsonl").read_text().splitlines()]
    assert ids == ["e0", "e1", "e2"]


def test_nothing_is_held_where_nothing_is_to_be_kept(tmp_path: Path) -> None:
    quality = Quality(keep=0)
    quality.checked(hit(), right=False)
    assert quality.export(tmp_path / "doubts.jsonl") == 0
    assert quality.report()["slices"]["function"]["ask"]["wrong"] == 1


def test_a_scope_that_gets_worse_is_named_and_one_that_does_not_is_not() -> None:
    quality = Quality()
    for n in range(200):
        quality.checked(hit(scope="steady"), right=n % 10 != 0)
        quality.checked(hit(scope="worse"), right=n % 10 != 0 if n < 150 else n % 2 == 0)
    assert [drift["scope"] for drift in quality.report()["drifted"]] == ["worse"]


@pytest.mark.parametrize(("wrong", "drifted"), [(14, False), (15, True)])
def test_a_scope_drifted_where_its_last_checks_are_three_standard_errors_worse(
    wrong: int, drifted: bool
) -> None:
    quality = Quality()
    for n in range(150):
        quality.checked(hit(), right=n % 10 != 0 if n < 100 else n >= 100 + wrong)
    told = [(drift["before"], drift["now"]) for drift in quality.report()["drifted"]]
    assert told == ([(0.1, wrong / 50)] if drifted else [])


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_interval_of_a_slice_is_wilson_s(right: int, wrong: int) -> None:
    told = share(Counter(hits=7, right=right, wrong=wrong))
    assert (told["hits"], told["checks"], told["wrong"]) == (7, right + wrong, wrong)
    assert (told["low"], told["high"]) == wilson(wrong, right + wrong)


def test_hits_and_checks_are_told_by_the_hour_and_by_how_sure_they_were() -> None:
    quality, began = Quality(), int(time.time()) // 3600 * 3600
    for confidence in (0.999, 0.97, 0.9, 0.9):
        quality.served(hit(confidence=confidence))
    quality.checked(hit(confidence=0.9), right=False)
    report = quality.report()
    assert sum(told["hits"] for told in report["hours"].values()) == 4
    assert sum(told["wrong"] for told in report["hours"].values()) == 1
    assert set(report["hours"]) <= {began, began + 3600}
    told = {name: (of["hits"], of["wrong"]) for name, of in report["slices"]["confidence"].items()}
    assert told == {">= 0.99": (1, 0), ">= 0.95": (1, 0), "< 0.95": (2, 1)}


def test_where_there_are_too_many_slices_those_that_are_told_count_on() -> None:
    quality = Quality(keep=0)
    for _ in range(2):
        for n in range(600):
            quality.served(Hit(f"e{n}", f"f{n}", "s", "q", "q", "a", 0.9, 0.9))
    functions = quality.report()["slices"]["function"]
    assert 400 < len(functions) < 500 and {told["hits"] for told in functions.values()} == {2}


@pytest.mark.parametrize(
    ("text", "language"),
    [("How do I return it?", "en"), ("Wie kann ich das zurückgeben?", "de"), ("Как вернуть товар", "cyrillic"),
     ("退货", "cjk"), ("42", "none")],
)  # fmt: skip
def test_languages_are_guessed(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("line", "told"), [("{", "line 1"), ('{"verdict": "wrong"}', "line 1"), ("[]", "line 1")]
)
def test_a_file_of_verdicts_that_cannot_be_read_names_the_line(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "doubts.jsonl").write_text(line)
    with pytest.raises(ConfigurationError, match=told):
        verdicts(tmp_path / "doubts.jsonl")


def test_texts_with_ends_of_lines_of_other_kinds_or_half_a_pair_come_back_as_they_were(
    tmp_path: Path,
) -> None:
    quality, file = Quality(), tmp_path / "doubts.jsonl"
    hits = [
        hit(f"e{at}", question=text)
        for at, text in enumerate(("a\u2028b", "a\x85b", "\ud83d", "größer 日本"))
    ]
    for one in hits:
        quality.served(one)
    assert quality.export(file) == len(hits)
    told = file.read_text("utf-8")
    file.write_text(told.replace('"verdict": null', '"verdict": "right"'), "utf-8")
    assert "größer 日本" in told and sorted(verdicts(file), key=lambda one: one[0].id) == [
        (one, True) for one in hits
    ]


async def test_what_was_erased_is_not_exported_and_counts_stay(tmp_path: Path) -> None:
    layer, ask = await judged_layer({RIGHT: "left", f"{RIGHT} please": "left", WRONG: "right"})

    @layer.cached(name="cheap", semantic=False)
    async def cheap(question: str) -> str:
        return question

    async def better(question: str) -> str:
        return "7"

    beside = layer.compare(cheap, better, share=1.0)
    with layer.scope(tenant="acme"):
        for question in (RIGHT, f"{RIGHT} please", WRONG):
            await ask(question)
            await layer.flush()
        await cheap(RIGHT)
    await layer.flush()
    assert await layer.erase(tenant="beta", dry_run=True) == 0
    with pytest.raises(ConfigurationError):
        await layer.erase(tenant=None)  # type: ignore[arg-type]  # which removes nothing
    assert (
        layer.quality().export(tmp_path / "before") == 2 and beside.quality.export(tmp_path / "beside") == 1
    )
    await layer.erase(tenant="acme")
    assert layer.quality().export(tmp_path / "after") == beside.quality.export(tmp_path / "none") == 0
    assert layer.quality().report()["slices"]["function"]["ask"]["hits"] == 2
    await layer.aclose()
