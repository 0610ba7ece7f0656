"""Judging: every answer is right, wrong by the backend, inherited, or wrong by the cache."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from cachelayer import CacheLayerError, Explanation, Outcome, Reason, Saved, Source
from cachelayer.cli.demo.corpus import Question
from cachelayer.cli.demo.desk import SOURCE, Desk, Worked
from cachelayer.cli.demo.drive import Drive
from cachelayer.cli.demo.run import Options, demo
from cachelayer.cli.demo.stream import Asked
from cachelayer.cli.demo.tally import Lane, Price, Tally, Verdict, lane_of

ON, OFF = "How do I turn on Quiet Hours on my Hub?", "How do I turn off Quiet Hours on my Hub?"
LEAK = "How do I test the Leak Sensor?"


class Script:
    """A cached function that answers as written: text -> (label, source, match)."""

    def __init__(self, answers: dict[str, tuple[str, Source, str | None]]) -> None:
        self._answers = answers
        self.explained: list[str] = []

    async def outcome(self, question: str) -> Outcome:
        if question not in self._answers:
            raise CacheLayerError("the backend is gone")
        named, source, match = self._answers[question]
        misses = {"similar": Reason.GUARD} if source is Source.BACKEND else {}
        return Outcome(f"text{SOURCE}{named}", "1", source, match, 0.97, misses=misses, saved=Saved())  # type: ignore[arg-type]

    async def explain(self, question: str) -> Explanation:
        self.explained.append(question)
        near = [{"similarity": 0.99, "text": OFF}, {"similarity": 0.6, "text": LEAK}]
        return Explanation("f", "miss", {"similar": Reason.GUARD}, candidates=near, detail="antonyms")


async def drive(desk: Desk, script: Script, asked: list[Asked], worked: tuple[Worked, ...] = ()) -> Tally:
    desk.worked.extend(worked)
    tally = Tally(len(asked))
    await Drive(script, desk, asked, tally, contrasts={ON: "opposite"}, show=lambda: None).run(4)
    return tally


def ask(text: str, label: str) -> Asked:
    return Asked(text, label, Question(text, label, "plain"))


@pytest.mark.parametrize(
    ("text", "truth", "served", "source", "verdict"),
    [
        (LEAK, "leak-sensor", "leak-sensor", Source.INDEX, Verdict.RIGHT),
        (LEAK, "leak-sensor", "door-sensor", Source.BACKEND, Verdict.BACKEND),
        (LEAK, "leak-sensor", "door-sensor", Source.INDEX, Verdict.CACHE),
        (LEAK, "leak-sensor", "door-sensor", Source.MEMORY, Verdict.CACHE),
        ("water?", "hub2-reset", "leak-sensor", Source.INDEX, Verdict.BACKEND),
    ],
)
async def test_a_wrong_answer_is_charged_to_whom_it_belongs(
    desk: Desk, text: str, truth: str, served: str, source: Source, verdict: Verdict
) -> None:
    match = "similar" if source is Source.INDEX else None
    if text == "water?":  # the desk itself finds the Leak Sensor for this text, whatever the truth
        text = "check leak sensor"
    tally = await drive(desk, Script({text: (served, source, match)}), [ask(text, truth)])
    assert tally.faults(verdict) == 1
    assert sum(tally.faults(any_) for any_ in Verdict) == tally.requests == 1
    assert len(tally.wrong) == (verdict is not Verdict.RIGHT and source is not Source.BACKEND)


async def test_no_more_ask_at_a_time_than_there_are_questions(desk: Desk) -> None:
    """Of `--concurrency 1000000000` each was a task of its own: memory grew until there was none."""
    at_once = []

    class Counting(Script):
        async def outcome(self, question: str) -> Outcome:
            at_once.append(len(asyncio.all_tasks()))
            return await super().outcome(question)

    script, asked = Counting({LEAK: ("leak-sensor", Source.MEMORY, None)}), [ask(LEAK, "leak-sensor")] * 2
    drive = Drive(script, desk, asked, Tally(2), contrasts={}, show=lambda: None)
    await drive.run(10_000)
    assert max(at_once) < 100


async def test_an_error_of_the_backend_on_the_same_question_is_inherited_not_the_caches(desk: Desk) -> None:
    asked = [ask("my water alarm, is it fine", "leak-sensor"), ask(LEAK, "leak-sensor")]
    script = Script(
        {asked[0].text: ("door-sensor", Source.BACKEND, None), LEAK: ("door-sensor", Source.INDEX, "similar")}
    )
    tally = await drive(desk, script, asked, (Worked(asked[0].text, "door-sensor"),))
    assert tally.faults(Verdict.INHERITED) == 1
    assert tally.faults(Verdict.CACHE) == 0
    assert tally.wrong[0].made_for == asked[0].text


async def test_a_trap_is_explained_before_it_is_first_asked_and_only_then(desk: Desk) -> None:
    script = Script(dict.fromkeys((ON, OFF, LEAK), ("quiet-on", Source.BACKEND, None)))
    asked = [ask(OFF, "quiet-off"), ask(LEAK, "leak-sensor"), ask(ON, "quiet-on"), ask(ON, "quiet-on")]
    tally = await drive(desk, script, asked)
    assert script.explained == [ON]
    (trap,) = tally.traps
    assert (trap.near, trap.similarity, trap.ahead, trap.contrast) == (OFF, 0.99, True, "opposite")
    assert trap.reason == "guard: antonyms"


async def test_a_request_that_fails_is_counted_apart(desk: Desk) -> None:
    tally = await drive(
        desk, Script({LEAK: ("leak-sensor", Source.BACKEND, None)}), [ask(LEAK, "leak-sensor"), ask("?", "x")]
    )
    assert (tally.requests, tally.failed) == (1, 1)


@pytest.mark.parametrize(
    ("source", "match", "lane"),
    [
        (Source.MEMORY, "exact", Lane.MEMORY),
        (Source.MEMORY, "similar", Lane.REPEATED),
        (Source.INDEX, "similar", Lane.INDEX),
        (Source.COALESCED, "exact", Lane.COALESCED),
        (Source.COALESCED, "similar", Lane.REPEATED),
        (Source.BACKEND, None, Lane.BACKEND),
        (Source.BYPASS, None, Lane.BYPASS),
    ],
)
def test_an_answer_made_for_another_request_is_similar_however_it_arrives(
    source: Source, match: str | None, lane: Lane
) -> None:
    assert lane_of(Outcome("", "", source, match)) is lane  # type: ignore[arg-type]


def test_calls_behind_the_callers_back_are_not_avoided() -> None:
    tally = Tally(10)
    for _ in range(4):
        tally.add(Lane.BACKEND, Verdict.RIGHT, 2.0)
    for _ in range(6):
        tally.add(Lane.INDEX, Verdict.RIGHT, 0.001, spared=2.0)
    tally.backend_calls, tally.cost_per_call = 5, 0.25
    assert (tally.answered, tally.similar, tally.avoided) == (6, 6, 5)
    assert tally.saved_seconds == pytest.approx(10.0)
    assert tally.saved_cost == pytest.approx(1.25)


def test_a_price_is_dollars_per_million_tokens() -> None:
    assert Price(input=2, output=8, characters=4).of(4_000_000, 2_000_000) == pytest.approx(2 + 4)


async def test_a_run_through_the_real_cache_adds_up_and_leaves_a_report(tmp_path: Path) -> None:
    out, path = io.StringIO(), tmp_path / "deep" / "report.html"
    tally = await demo(Options(requests=150, think=0, report=path), out)
    lanes = tally.lanes
    assert sum(counts.requests for counts in lanes.values()) == tally.requests == 150
    assert tally.failed == 0
    assert tally.backend_calls >= lanes[Lane.BACKEND].requests > 0
    assert lanes[Lane.MEMORY].requests > 0
    assert len(tally.history) == 150
    assert "wrong by the cache" in out.getvalue()
    assert str(path) in out.getvalue()
    assert path.read_bytes().startswith(b"<!doctype html>")


async def test_without_semantic_nothing_is_similar() -> None:
    tally = await demo(Options(requests=80, think=0, semantic=False), io.StringIO())
    assert tally.similar == 0
    assert tally.faults(Verdict.CACHE) == 0
