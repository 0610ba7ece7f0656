"""What commands tell people fits the terminal; what they are piped into gets whole lines."""

from __future__ import annotations

import io
import sys

import pytest
from terminal import Terminal

from cachelayer.cli.terminal import Verbatim, say, table
from cachelayer.cli.traces.progress import Meter

TOLD = "a sentence of some words that is longer than the terminal\nname   12   34   56   78   90   11"


def test_prose_is_wrapped_between_words_and_tables_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = Terminal()
    say(TOLD, out)
    *prose, row = out.getvalue().splitlines()
    assert " ".join(prose) == TOLD.splitlines()[0] and max(map(len, prose)) <= 30
    assert row == TOLD.splitlines()[1]


def test_what_is_copied_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = Terminal()
    say(Verbatim(TOLD), out)
    assert out.getvalue() == TOLD + "\n"


def test_progress_is_written_over_on_a_narrow_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = Terminal()
    with Meter("a job with a name of some words", 1000, out) as update:
        update(1000)
    shown = out.getvalue().removesuffix("\n").split("\r\x1b[K")
    assert len(shown) == 2 and shown[1].startswith("a job") and len(shown[1]) < 30


def test_progress_takes_ten_lines_of_a_file() -> None:
    out = io.StringIO()
    with Meter("a job", 1000, out) as update:
        for done in range(1, 1001):
            update(done)
    assert len(out.getvalue().splitlines()) == 10


def test_what_is_piped_keeps_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = io.StringIO()
    say(TOLD, out)
    assert out.getvalue() == TOLD + "\n"


def test_columns_are_aligned() -> None:
    told = list(table(("name", "n"), [("a", "1"), ("bcdefg", "1,000")]))
    assert told == ["name        n", "------  -----", "a           1", "bcdefg  1,000"]


def test_the_cells_of_a_row_stand_below_its_name_where_a_terminal_is_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setattr(sys, "stdout", Terminal())
    told = list(
        table(("run", "net hits", "wrong", ""), [("exact", "90.0%", "0.10%", ""), ("other", "1%", "2%", "x")])
    )
    assert told == [
        "run: exact",
        "  net hits 90.0%,",
        "  wrong 0.10%",
        "run: other",
        "  net hits 1%, wrong 2%,",
        "  x",
    ]


def test_the_further_lines_of_a_finding_stand_below_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = Terminal()
    say("advice   threads: 2 cores, none of them idle", out, hang=9)
    assert out.getvalue() == "advice   threads: 2 cores,\n         none of them idle\n"
