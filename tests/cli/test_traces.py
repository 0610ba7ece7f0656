"""Traces: every format is read as meant, every fault names file, line, field and remedy."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, Policy, Trace
from cachelayer.cli.bench.traffic import load
from cachelayer.cli.traces.intervals import exact
from cachelayer.cli.traces.read import read
from cachelayer.cli.traces.rows import Skipped, TraceError
from cachelayer.observe.quality import wilson
from cachelayer.testing import Gate, ManualClock, WordEmbedder


def written(path: Path, *rows: Any) -> Path:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
@pytest.mark.parametrize(
    "row",
    [
        {"question": "Q", "answer": "A"},
        {"text": "Q", "label": "A"},
        {"q": "Q", "cls": "a"},
        {"query": "Q", "response": {"choices": [{"message": {"role": "assistant", "content": "A"}}]}},
        {"messages": [{"role": "user", "content": "Q"}], "answer": "A"},
        {"body": {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "Q"}]}]},
         "response": {"body": {"choices": [{"message": {"content": "A"}}]}}},
    ],
)  # fmt: skip
def test_every_format_gives_the_question_and_its_truth(
    tmp_path: Path, name: str, row: dict[str, Any]
) -> None:
    (one,) = read([written(tmp_path / name, row, "")]).asked
    assert (one.text, one.truth) == ("Q", "a")


def test_a_chat_keeps_its_turns_and_what_else_decides_is_scope(tmp_path: Path) -> None:
    def chat(system: str, model: str) -> dict[str, Any]:
        said = [("system", system), ("user", "one"), ("assistant", "two"), ("user", "three")]
        return {
            "body": {"model": model, "messages": [{"role": r, "content": t} for r, t in said]},
            "label": "x",
        }

    path = written(tmp_path / "t", chat("s", "m"), chat("s", "m"), chat("other", "m"), chat("s", "n"))
    first, again, other, model = read([path]).asked
    assert first.text == "three" and first.turns == (("user", "one"), ("assistant", "two"))
    assert first.key == again.key
    assert len({first.scope, other.scope, model.scope}) == 3


def test_labels_decide_where_both_are_given_and_the_answer_is_what_is_served(tmp_path: Path) -> None:
    (one,) = read([written(tmp_path / "t", {"question": "Q", "label": "L", "answer": "Long words"})]).asked
    assert (one.truth, one.answer) == ("l", "Long words")


def test_times_order_a_trace_whatever_their_form(tmp_path: Path) -> None:
    rows = [
        {"q": "c", "label": "x", "time": "2026-01-01T00:00:03+00:00"},
        {"q": "a", "label": "x", "at": 1767225601.0},
        {"q": "b", "label": "x", "timestamp": 1767225602000},
    ]
    asked = read([written(tmp_path / "t", *rows)]).asked
    assert [one.text for one in asked] == ["a", "b", "c"]
    assert [one.at - 1767225600 for one in asked if one.at] == [1, 2, 3]


def test_a_pair_is_two_requests_in_a_scope_of_its_own(tmp_path: Path) -> None:
    rows = [{"q1": "a", "q2": "b", "same": 1}, {"question1": "a", "question2": "c", "is_duplicate": "0"}]
    trace = read([written(tmp_path / "t", *rows)])
    assert trace.pairs and [one.counted for one in trace.asked] == [False, True] * 2
    first, second, third, fourth = trace.asked
    assert first.scope == second.scope != third.scope
    assert first.truth == second.truth and third.truth != fourth.truth


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("{broken", r"line 2: not JSON .*one JSON object per line"),
        ("[1]", "line 2: list, not an object"),
        (
            {"answer": "A"},
            "line 2, field 'question': missing; the row has answer; give a text under one of q",
        ),
        ({"question": "  ", "answer": "A"}, "line 2, field 'question': empty"),
        ({"question": 7, "answer": "A"}, "line 2, field 'question': not a text"),
        ({"question": "Q"}, "line 2, field 'answer': missing; the row has question; give one of answer"),
        ({"messages": [], "answer": "A"}, "line 2, field 'messages': no list of messages"),
        (
            {"messages": [{"role": "assistant", "content": "x"}], "answer": "A"},
            "line 2, field 'messages': the last",
        ),
        ({"messages": ["x"], "answer": "A"}, "line 2, field 'messages': 'x' lacks a role"),
        (
            {"question": "Q", "answer": "A", "at": "soon"},
            "line 2, field 'at': 'soon' is not a time; give Unix",
        ),
        ({"question": "Q", "answer": "A", "latency": -1}, "line 2, field 'latency': -1"),
        ({"question": "Q", "answer": "A", "turns": "x"}, "line 2, field 'turns'"),
        (f'{{"q": "Q", "label": "A", "at": {"9" * 400}}}', "line 2, field 'at': 999"),
        (f'{{"q": "Q", "label": "A", "tokens": {"9" * 400}}}', "line 2, field 'tokens': 999"),
        (f'{{"q": "Q", "label": "A", "at": {"9" * 5000}}}', "line 2: cannot be read .Exceeds the limit"),
        ("[" * 100_000 + "]" * 100_000, "line 2: cannot be read .(maximum recursion|Stack overflow)"),
        ({"q1": "a", "q2": "b"}, "line 2, field 'same': None; give true or false"),
        ({"q1": "a", "q2": None, "same": 1}, "line 2, field 'q2': not a text"),
    ],
)
def test_bad_input_names_file_line_field_and_remedy(tmp_path: Path, row: Any, named: str) -> None:
    path = written(tmp_path / "bad.jsonl", {"question": "Q", "answer": "A"}, row)
    with pytest.raises(TraceError, match=f"bad.jsonl, {named}"):
        read([path])
    skipped = Skipped()
    trace = read([path], skipped=skipped)
    assert [one.text for one in trace.asked] == ["Q"] and trace.skipped.count == 1
    assert re.match(f"1 lines left out; the first: .*bad.jsonl, {named}", str(skipped))


def test_what_is_left_of_nothing_but_odd_lines_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "bad.jsonl", {"q": "Q"}, {"q": "Q"})
    with pytest.raises(
        TraceError, match=r"no request in it \(2 lines left out; the first: .*line 1, field 'answer'"
    ):
        read([path], skipped=Skipped())


def test_a_missing_an_empty_and_a_foreign_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="none: cannot be read: No such file"):
        read([tmp_path / "none"])
    with pytest.raises(TraceError, match=r"empty: no request in it; see the formats in --help"):
        read([written(tmp_path / "empty")])
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match=r"binary, line 1: not UTF-8 \(0xFF, its byte 1\)"):
        read([tmp_path / "binary"])
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b'{"q":"x","label":"y"}\n' * 99)[:-9])
    with pytest.raises(TraceError, match=r"cut.gz: cannot be read"):
        read([tmp_path / "cut.gz"])
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    with pytest.raises(TraceError, match=r"damaged.gz: cannot be read: Error -3"):
        read([tmp_path / "damaged.gz"])
    (tmp_path / "folder").mkdir()
    with pytest.raises(TraceError, match=r"folder: no .jsonl file"):
        read([tmp_path / "folder"])


def without_checks(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_text("".join(x for x in path.read_text().splitlines(True) if '"shadow"' not in x))


def test_a_byte_order_mark_before_a_trace_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"question": "where is it", "label": "a"}\n', encoding="utf-8-sig")
    assert [one.text for one in read([path]).asked] == ["where is it"]


async def test_recorded_traffic_is_read_back_with_the_truth_that_is_known(tmp_path: Path) -> None:
    """What the cache answered by similarity counts only where a check tells the true answer."""
    folder = str(tmp_path / "traffic")
    checked = {"share": 1.0}
    clock = ManualClock()
    answers = {"how do I reset the hub": "hold it", "how do I reset the hub please": "hold it"}
    layer = CacheLayer(
        policy=Policy(record=Trace(path=folder, answers="text"), max_error_rate=1.0, shadow=checked["share"]),
        embedder=WordEmbedder(), clock=clock,
    )  # fmt: skip

    @layer.cached
    async def ask(question: str) -> str:
        return answers[question]

    async with layer:
        for question in (*answers, *answers):
            await ask(question)
            await layer.flush()
            clock.advance(1)
        hits = layer.stats()["functions"]
    assert sum(f["shadow_checks"] for f in hits.values()) >= 1
    trace = read([Path(folder)])
    assert trace.unlabelled == 0 and {one.truth for one in trace.asked} == {"hold it"}
    without_checks(Path(folder))
    without = read([Path(folder)])
    assert without.unlabelled == len(trace.asked) - len(without.asked) >= 1


def test_a_check_whose_answer_was_not_recorded_tells_no_truth(tmp_path: Path) -> None:
    """As with `answers="none"`: what was checked had one answer, an empty one, whatever was asked."""
    seen = {"v": 1, "at": 1.0, "function": "ask", "scope": "s", "latency": 0.1}
    hits = [{**seen, "question": q, "tier": "index", "match": "similar"} for q in ("one", "two", "two")]
    checks = [{**seen, "question": q, "tier": "shadow", "match": None} for q in ("one", "two")]
    with pytest.raises(TraceError, match="no request in it"):
        read([written(tmp_path / "t.jsonl", *hits, *checks)])
    told = {**checks[1], "answer": "B"}
    for order in ((told, checks[1]), (checks[1], told)):
        trace = read([written(tmp_path / "t.jsonl", *hits, *order)])
        assert [(one.text, one.truth) for one in trace.asked] == [("two", "b")] * 2
        assert trace.unlabelled == 1


@given(st.integers(1, 400), st.data())
def test_intervals_hold_the_share_and_shrink_with_evidence(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    for method in (wilson, exact):
        low, high = method(successes, trials)
        assert 0 <= low <= successes / trials <= high <= 1
        more = method(successes * 10, trials * 10)
        assert more[1] - more[0] < high - low


def test_intervals_agree_with_published_values() -> None:
    """The rule of three's exact form, and the example of Newcombe (1998), Statistics in Medicine 17, table I."""
    assert exact(0, 300)[1] == pytest.approx(1 - 0.025 ** (1 / 300), abs=1e-9)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert exact(81, 263) == pytest.approx((0.2527, 0.3676), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert exact(1, 29) == pytest.approx((0.0009, 0.1776), abs=5e-5)


def test_bench_reads_a_directory_of_recorded_traffic_as_well(tmp_path: Path) -> None:
    for number in (1, 2):
        lines = (json.dumps({"question": f"{number} {n}", "at": 10.0 * number + n}) for n in range(3))
        (tmp_path / f"traffic-{number}.jsonl").write_text("\n".join(lines))
    texts = [item.text for item in load(tmp_path, limit=5, model="m", shrink=1.0)]
    assert texts == ["1 0", "1 1", "1 2", "2 0", "2 1"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match=r"no \.jsonl file in this directory"):
        load(tmp_path / "empty", limit=None, model="", shrink=1.0)


def recorded(folder: Path) -> list[Any]:
    return [json.loads(line) for path in folder.iterdir() for line in path.read_text().splitlines()]


async def test_a_recorded_line_tells_the_answer_s_tokens_and_why_no_similar_one_was_given(
    tmp_path: Path,
) -> None:
    told = {
        "choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }
    policy = Policy(record=Trace(path=str(tmp_path)))
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), clock=ManualClock()) as layer:
        ask = layer.wrap(Gate(lambda question: told, opened=True), name="ask")
        await ask("is it open")
        await ask("is it open")
        await layer.flush()
    rows = recorded(tmp_path)
    assert [(row["tokens"], row.get("reason")) for row in rows] == [(7, "no_candidate"), (7, None)]


async def test_a_recorded_conversation_is_read_as_one_whose_answer_s_digest_is_its_truth(
    tmp_path: Path,
) -> None:
    said = [("user", "book a table"), ("assistant", "done"), ("user", "cancel it")]
    async with CacheLayer(semantic=False, policy=Policy(record=Trace(path=str(tmp_path)))) as layer:

        @layer.cached
        async def ask(messages: list[dict[str, str]]) -> str:
            return "cancelled"

        await ask([{"role": role, "content": text} for role, text in said])
    (asked,) = read([tmp_path]).asked
    assert (asked.text, list(asked.turns)) == ("cancel it", said[:2])
    assert asked.truth == recorded(tmp_path)[0]["answer_digest"]
