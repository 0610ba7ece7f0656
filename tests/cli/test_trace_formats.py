"""Logs as people have them are read as they are, or the message says how to name what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cachelayer.cli import main
from cachelayer.cli.bench.traffic import load
from cachelayer.cli.traces.read import read
from cachelayer.cli.traces.rows import Skipped, TraceError

USER, REPLY = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}
CHOICES = {"choices": [{"message": REPLY}]}
LANGCHAIN = {
    "inputs": {"messages": [[{"kwargs": {"content": "Q", "type": "human"}}]]},
    "outputs": {"generations": [[{"text": "A"}]]},
}


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "system", "content": "S"}, USER, REPLY]},  # as for fine-tuning
        {"inputs": {"question": "Q"}, "outputs": {"answer": "A"}},  # LangSmith: a chain, a data set
        {"inputs": {"messages": [USER], "model": "m"}, "outputs": CHOICES},  # LangSmith: an OpenAI client
        {"input": [USER], "output": REPLY},  # Langfuse
        {"request": {"prompt": "Q", "model": "m"}, "response": {"completion": "A"}},
        {"messages": [USER], "response": CHOICES, "startTime": "2026-01-01"},  # LiteLLM
    ],
)
def test_logs_of_known_tools_are_read_and_replayed_by_bench(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(row))
    (one,) = read([path]).asked
    assert (one.text, one.truth, one.answer) == ("Q", "a", "A")
    (item,) = load(path, limit=None, model="", shrink=1.0)
    assert item.text == "Q" and item.body["messages"][-1] == USER
    assert not {"response", "output", "outputs", "input", "answer"} & item.body.keys()


def test_what_else_a_body_holds_is_scope(tmp_path: Path) -> None:
    rows = [{"inputs": {"question": "Q", "user": user}, "outputs": "A"} for user in ("ann", "ann", "bob")]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    first, again, other = read([tmp_path / "log.json"]).asked
    assert first.key == again.key != other.key


@pytest.mark.parametrize("indent", [None, 1])
def test_one_list_of_objects_is_read(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"q": "one", "label": "x"}, {"q": "two", "label": "y"}], indent=indent))
    assert [one.text for one in read([path]).asked] == ["one", "two"]
    path.write_text(json.dumps([{"q": "one", "label": "x"}, {"label": "y"}], indent=indent))
    with pytest.raises(TraceError, match=r"log.json, entry 2, field 'question': missing"):
        read([path])
    path.write_text('[\n {"q": "one"},\n {"q" "two"}\n]')
    with pytest.raises(TraceError, match=r"log.json, line 3: not JSON"):
        read([path])


@pytest.mark.parametrize(("name", "cut"), [("log.csv", ","), ("log.csv", ";"), ("log.tsv", "\t")])
def test_a_table_is_read_by_its_header(tmp_path: Path, name: str, cut: str) -> None:
    lines = [
        ("question", "answer", "timestamp", "latency", "label"),
        ('"How, then; ""this""\nand that?"', '"So\tor so"', "2026-01-01 00:00:02", "0.5", ""),
        ("Where?", "There", "1767225601", "", "place"),
    ]
    path = tmp_path / name
    path.write_text("".join(f"{cut.join(line)}\r\n" for line in lines), "utf-8-sig", newline="")
    where, how = read([path]).asked
    assert (how.text, how.answer, how.latency) == ('How, then; "this"\nand that?', "So\tor so", 0.5)
    assert (where.text, where.truth, where.at, where.latency) == ("Where?", "place", 1767225601.0, None)
    assert [item.text for item in load(path, limit=1, model="", shrink=1.0)] == [how.text]


def test_cells_may_hold_chat_bodies_and_pairs_may_be_a_table(tmp_path: Path) -> None:
    cell = json.dumps([USER]).replace('"', '""')
    (tmp_path / "chats.csv").write_text(f'messages,response\n"{cell}",A\n')
    (one,) = read([tmp_path / "chats.csv"]).asked
    assert (one.text, one.truth) == ("Q", "a")
    (tmp_path / "pairs.csv").write_text("question1,question2,is_duplicate\na,b,True\na,c,False\n")
    first, second, third, fourth = read([tmp_path / "pairs.csv"]).asked
    assert first.truth == second.truth and third.truth != fourth.truth


def test_what_failed_has_no_answer(tmp_path: Path) -> None:
    """Failures were all alike: hits as good as right ones."""
    failed = json.dumps({"error": {"message": "rate limit", "type": "requests"}})
    log, table = tmp_path / "log.jsonl", tmp_path / "log.csv"
    log.write_text(f'{{"input": "Q", "response": {failed}}}\n{{"input": "Q", "output": null}}\n')
    quoted = failed.replace('"', '""')
    table.write_text(f'input;output\nQ;null\nQ;"{quoted}"\nQ;\nQ;A\n')
    for path in (log, table):
        with pytest.raises(TraceError, match="field 'answer': missing"):
            read([path])
    assert [one.answer for one in read([table], skipped=Skipped()).asked] == ["A"]


def test_a_table_holds_prompts_of_any_length(tmp_path: Path) -> None:
    prompt = "word " * 100_000
    (tmp_path / "log.csv").write_text(f'question,answer\n"{prompt}",A\n')
    (one,) = read([tmp_path / "log.csv"]).asked
    assert one.text.strip() == prompt.strip()


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"user text": "Q", "bot": "A"}, {"question": "user text", "answer": "bot"}),
        ({"run.q": "Q", "bot": "A"}, {"question": "run.q", "answer": "bot"}),
        (LANGCHAIN, {"question": "inputs.messages.0.-1.kwargs.content", "answer": "outputs.generations.0.0.text"}),
        ({"sent": {"messages": [USER]}, "got": CHOICES}, {"question": "sent", "answer": "got"}),
        ({"sent": {"messages": [USER]}, "got": CHOICES}, {"question": "sent.messages", "answer": "got"}),
        ({"sent": json.dumps([USER]), "got": json.dumps(CHOICES)}, {"question": "sent", "answer": "got"}),
        ({"row": json.dumps(LANGCHAIN), "class": "a"}, {"question": "row.inputs.messages.0.0.kwargs.content"}),
    ],
)  # fmt: skip
def test_fields_may_be_named(tmp_path: Path, row: dict[str, Any], named: dict[str, str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(row))
    (one,) = read([path], named=named).asked
    assert (one.text, one.truth) == ("Q", "a")
    assert load(path, limit=None, model="", shrink=1.0, named=named)[0].text == "Q"


@pytest.mark.parametrize(
    ("name", "text", "named", "told"),
    [
        ("t.jsonl", '{"user": "Q", "bot": "A"}', {}, "the row has user, bot; give a text .* --field question=NAME"),
        ("t.jsonl", '{"q": "Q", "bot": "A"}', {}, "field 'answer': missing; the row has q, bot; .* answer=NAME"),
        ("t.jsonl", '{"u": {"t": 1}}', {"question": "u.text"}, "field 'u.text': no 'text' there; --field question"),
        ("t.jsonl", "question,answer\nQ,A", {}, "line 1: not JSON .* ends in .csv or .tsv"),
        ("t.csv", "question,answer\nwell, then,A", {}, "line 2: more cells than the header has names; quote"),
        ("t.csv", "question,answer\n", {}, "no request in it"),
        ("t.csv", "", {}, "no request in it"),
        ("t.parquet", "PAR1", {}, r"pandas.read_parquet\('t.parquet'\).to_csv"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_what_to_do(
    tmp_path: Path, name: str, text: str, named: dict[str, str], told: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TraceError, match=told):
        read([tmp_path / name], named=named)


def test_the_command_line_takes_names_of_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("created;asked;told\n1;Q;A\n2;Q;A\n")
    said = f"replay {path} --config exact --no-report --quiet --field question=asked --field answer=told"
    assert main([*said.split(), "--field", "at=created"]) == 0
    assert "log.csv: 2 requests, 1 different, 1 different answer" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*said.split(), "--field", "reply=told"])
    assert "reply=told: give NAME=PATH, NAME one of question, answer" in capsys.readouterr().err


def test_odd_lines_can_be_left_out_of_logs_lists_and_tables(tmp_path: Path) -> None:
    for name, lines in (
        ("t.jsonl", '{"q": "a"}\n{"q": \n{"x": 1}\n{"q": "b"}'),
        ("l.json", '[{"q": "a"}, 7, {"x": 1}, {"q": "b"}]'),
        ("t.csv", "q,at\na,1\nb,c,d\n,4\nb,5"),
    ):
        (tmp_path / name).write_text(lines)
        skipped = Skipped()
        items = load(tmp_path / name, limit=None, model="", shrink=1.0, odd=skipped)
        assert [item.text for item in items] == ["a", "b"] and skipped.count == 2


def test_a_byte_that_is_not_utf_8_costs_its_line_and_not_the_file(tmp_path: Path) -> None:
    """One answer cut in the midst of a character, and a log of a million requests could not be read."""
    for name, lines in (
        ("t.jsonl", b'{"q": "a"}\n{"q": "caf\xe9"}\n{"q": "caf\xc3\xa9"}\n'),
        ("l.json", b'[{"q": "a"}, {"q": "caf\xe9"}, {"q": "caf\xc3\xa9"}]'),
        ("t.csv", b"q,at\na,1\ncaf\xe9,2\ncaf\xc3\xa9,3\n"),
    ):
        (tmp_path / name).write_bytes(lines)
        skipped = Skipped()
        items = load(tmp_path / name, limit=None, model="", shrink=1.0, odd=skipped)
        assert [item.text for item in items] == ["a", "café"] and skipped.count == 1
        with pytest.raises(
            TraceError, match=r"(line|entry) [23]: not UTF-8 \(0xE9, its byte \d+\); .* --skip"
        ):
            load(tmp_path / name, limit=None, model="", shrink=1.0)


def test_half_of_a_character_that_json_escapes_is_read(tmp_path: Path) -> None:
    (tmp_path / "l.json").write_text('[{"q": "\\udcaf", "label": "x"}]')
    assert read([tmp_path / "l.json"]).asked[0].text == "\udcaf"


@pytest.mark.parametrize("label", [0, False, "0"])
def test_a_class_called_0_is_a_label_and_its_answer_like_any_other(tmp_path: Path, label: Any) -> None:
    """Its answer was empty, which no layer keeps: that class alone never hit."""
    (tmp_path / "t.jsonl").write_text(json.dumps({"q": "Q", "label": label}))
    (one,) = read([tmp_path / "t.jsonl"]).asked
    assert one.answer == str(label) and one.truth == str(label).lower()


def test_where_a_label_is_empty_the_answer_tells(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"q": "Q", "label": "", "answer": "A"}))
    (one,) = read([tmp_path / "t.jsonl"]).asked
    assert (one.answer, one.truth) == ("A", "a")


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        ("1711121512", 1711121512),
        ("1711121512345", 1711121512.345),  # as ISO 8601 it would be of 1711
        (1711121512345678, 1711121512.345678),
        (1711121512345678901, 1711121512.3456788),
        ("20261121T000000Z", 1795219200),
    ],
)
def test_unix_times_are_read_as_texts_and_in_any_fraction_of_a_second(
    tmp_path: Path, at: Any, seconds: float
) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"q": "Q", "label": "x", "timestamp": at}))
    assert read([tmp_path / "t.jsonl"]).asked[0].at == pytest.approx(seconds, abs=1e-5)


def test_a_file_packed_otherwise_is_told_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(TraceError, match=r"t.jsonl.zst: .zst files are not read; unpack it"):
        read([tmp_path / "t.jsonl.zst"], skipped=Skipped())


@pytest.mark.parametrize(
    "row",
    [{"question": "Q"}, {"messages": [{"role": "user", "content": "Q"}]}, {"question": "Q", "model": "m"}],
)
def test_requests_share_an_answer_only_where_a_log_names_one_scope(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    scopes = ["a", "b", {"tenant": 1, "model": 2}, {"model": 2, "tenant": 1}, None, ""]
    lines = [json.dumps({**row, "label": "x", "scope": scope}) for scope in scopes]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    a, b, mapping, turned, none, empty = (one.key for one in read([tmp_path / "log.jsonl"]).asked)
    assert (mapping, none) == (turned, empty) and len({a, b, mapping, none}) == 4


def test_a_chat_is_read_beside_fields_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": [USER], "kind": "A"}))
    (one,) = read([tmp_path / "log.jsonl"], named={"label": "kind"}).asked
    assert (one.text, one.truth) == ("Q", "a")
