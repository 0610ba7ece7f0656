"""Traffic that bench replays: its formats, when requests arrive, what is said of lines that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cachelayer.cli.bench.traffic import Item, at_rate, faster, load
from cachelayer.cli.traces.rows import TraceError


def test_azure_s_and_mooncake_s_formats_are_read(tmp_path: Path) -> None:
    azure = tmp_path / "azure.csv"
    azure.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,20,109\n"
    )
    first, second = load(azure, limit=None, model="m", shrink=0.5)
    assert (first.at, second.at) == (0.0, pytest.approx(4.314579)) and first.text != second.text
    assert len(first.text.split()) == 187 and first.body["max_tokens"] == 22 and first.body["model"] == "m"
    mooncake = tmp_path / "mooncake.jsonl"
    lengths = {"input_length": 700, "output_length": 5}
    rows = [{"timestamp": t, "hash_ids": ids, **lengths} for t, ids in ((0, [1, 2]), (500, [1, 3]))]
    mooncake.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, two = load(mooncake, limit=None, model="", shrink=1.0)
    words, others = one.text.split(), two.text.split()
    assert len(words) == 700 and words[:512] == others[:512] and words[512:] != others[512:] and two.at == 0.5


def test_arrivals_at_a_rate_are_by_chance_and_the_same_for_a_seed() -> None:
    items = at_rate([Item(None, "", {})] * 4000, 50.0, 3)
    gaps = np.diff([item.at or 0.0 for item in items])
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05) and gaps.std() == pytest.approx(1 / 50, rel=0.1)
    assert at_rate(items, 50.0, 3) == items


def test_recorded_arrivals_may_be_made_faster() -> None:
    items = faster([Item(0.0, "a", {}), Item(3.0, "b", {}), Item(None, "c", {})], 2.0)
    assert [(item.at, item.text) for item in items] == [(0.0, "a"), (1.5, "b"), (None, "c")]


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("t.jsonl", "{", "line 1"),
        ("t.jsonl", '{"x": 1}', "give a text under"),
        ("t.jsonl", '{"messages": ["hi"]}', "line 1, field 'messages'"),
        ("t.jsonl", '{"body": {"messages": "hi"}}', "line 1, field 'messages'"),
        ("t.jsonl", '{"messages": [{"role": "assistant", "content": "hi"}]}', "line 1, field 'messages'"),
        ("t.jsonl", '{"messages": ["hi", {"role": "assistant"}]}', "line 1, field 'messages'"),
        ("t.jsonl", '{"timestamp": 0, "hash_ids": [1], "input_length": Infinity}', "line 1: cannot be read"),
        ("t.jsonl", "[1]", "entry 1: int, not an object"),
        ("t.jsonl", "", "no request in it"),
        ("t.csv", "asked,answer\nhow?,so", "line 2, field 'question': missing; the row has asked, answer"),
        ("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,9,", "line 2"),
    ],
)
def test_traffic_that_cannot_be_read_names_the_line(tmp_path: Path, name: str, line: str, told: str) -> None:
    (tmp_path / name).write_text(line)
    with pytest.raises(TraceError, match=told):
        load(tmp_path / name, limit=None, model="", shrink=1.0)


def test_a_byte_order_mark_is_no_part_of_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"q": "a"}\n', "utf-8-sig")
    assert [item.text for item in load(tmp_path / "t.jsonl", limit=None, model="", shrink=1.0)] == ["a"]
