"""What is shown: plain lines for logs, a live table on a terminal, one sentence where rich is missing."""

from __future__ import annotations

import io
import sys

import pytest
from terminal import Terminal

from cachelayer.cli.demo import words
from cachelayer.cli.demo.screen import PlainScreen, screen_for
from cachelayer.cli.demo.stream import Census
from cachelayer.cli.demo.tally import Lane, Price, Tally, Verdict
from cachelayer.types import Reason


@pytest.fixture
def tally() -> Tally:
    tally = Tally(10)
    lanes = [Lane.BACKEND] * 5 + [Lane.MEMORY] * 3 + [Lane.INDEX] * 2
    for lane in lanes:
        tally.add(lane, Verdict.RIGHT, 0.3 if lane is Lane.BACKEND else 4e-6)
    tally.add(Lane.INDEX, Verdict.CACHE, 0.002)
    tally.backend_calls = 6
    tally.reasons[Reason.GUARD] = 5
    return tally


def test_plain_lines_come_at_every_tenth_and_a_table_at_the_end() -> None:
    tally, out = Tally(40), io.StringIO()
    with screen_for(tally, out) as screen:
        for _ in range(40):
            tally.add(Lane.MEMORY, Verdict.RIGHT, 1e-6)
            screen.show()
    progress = [line for line in out.getvalue().splitlines() if "without the backend" in line]
    assert len(progress) == 10
    assert progress[-1].split()[0] == "40/40"
    assert "memory, exact" in out.getvalue()


def test_no_table_is_drawn_over_a_failure(tally: Tally) -> None:
    out = io.StringIO()
    with pytest.raises(KeyError), PlainScreen(tally, out):
        raise KeyError
    assert out.getvalue() == ""


def test_a_terminal_gets_a_live_table(tally: Tally) -> None:
    pytest.importorskip("rich")
    out = Terminal()
    with screen_for(tally, out) as screen:
        screen.show()
    assert "memory, exact" in out.getvalue()
    assert "a guard objected" in out.getvalue()


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_live_table_fits_narrow_terminals_and_cuts_no_figure(
    tally: Tally, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    from cachelayer.cli.demo.rich_table import RichScreen

    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    screen = RichScreen(tally, out)
    screen.console.print(screen.render())
    lines = out.getvalue().splitlines()
    assert "…" not in out.getvalue() and max(map(len, lines)) <= columns
    assert any(line.split()[:2] == ["backend", "5"] for line in lines)


class NoRich:
    """Finds no package of that name, as where it is not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "rich":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_without_rich_one_sentence_names_the_extra_and_lines_follow(
    tally: Tally, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [NoRich(), *sys.meta_path])
    assert isinstance(screen_for(tally, Terminal()), PlainScreen)
    assert "pip install 'cachelayer[demo]'" in capsys.readouterr().err


def test_facts_state_what_was_avoided_wrong_and_refused(tally: Tally) -> None:
    facts = dict(words.facts(tally))
    assert facts["backend calls avoided"] == "5 of 11 (45%)"
    assert facts["backend calls made"] == "6, 1 of them to check similar hits"
    assert facts["wrong by the cache"] == "1 of 3 similar answers (33.33%)"
    assert facts["similar tier refused"] == "a guard objected 5"


def test_an_empty_run_is_shown_without_a_fault() -> None:
    tally = Tally(0)
    assert words.rows(tally)
    assert words.facts(tally)
    assert words.progress(tally)
    assert words.traffic(Census(0, 0, 0, 0, 0))


def test_the_price_is_said_in_words() -> None:
    assert words.price(Price(input=1, output=2)).startswith("$1.00 per million prompt tokens and $2.00")
