"""--help of every command, numbers on the command line, and what is told where output cannot be written."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cachelayer import __version__
from cachelayer.cli import arguments, main

COMMANDS = ["", "demo", "serve", "replay", "calibrate", "bench", "doctor", "trtllm", "trtllm profile"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_of_eighty_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    assert not [line for line in capsys.readouterr().out.splitlines() if len(line) > 80]


def test_no_command_at_all_shows_the_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 2
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert not told.out and "  cachelayer doctor " in told.err
    assert all(any(line.startswith(f"    {one} ") for line in lines) for one in ("calibrate", "demo"))
    assert "    calibrate" not in lines, "a description begins on the line of its command"


def test_help_uses_the_width_there_is_and_leaves_examples_as_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for columns in ("50", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        with pytest.raises(SystemExit):
            main(["serve", "--help"])
        told.append(capsys.readouterr().out.splitlines())
    narrow, wide = told
    assert len(narrow) > len(wide)
    example = "  CACHELAYER_SERVER__PORT=9000 cachelayer serve --config gateway.toml"
    assert example in narrow and example in wide


def test_a_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"q": "where", "label": "there"}\n')
    command = [
        sys.executable,
        "-m",
        "cachelayer",
        "replay",
        str(trace),
        "--config",
        "exact",
        "--no-report",
        "--quiet",
    ]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "cachelayer: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("names", [["replay"], ["demo", "--report"], ["replay", "/dev/null", "--json"]])
def test_a_file_that_no_system_can_have_is_told_in_a_line(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*names, "x" * 300]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.startswith("cachelayer: ") and "x: File name too long" in told


def test_a_command_without_standard_error_does_its_work(tmp_path: Path) -> None:
    """As jobs are started with 2>&-: the progress ended in a traceback that nobody saw, and the table was not told."""
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"q": "where", "label": "there"}\n')
    command = '"$0" -m cachelayer replay "$1" --config exact --no-report 2>&-'
    told = subprocess.run(
        ["sh", "-c", command, sys.executable, trace], stdout=subprocess.PIPE, text=True, check=False
    )
    assert told.returncode == 0 and "oracle" in told.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_a_command_starts_has_the_standard_streams_that_it_was_started_without(closed: str) -> None:
    """Of a gateway started with >&- worker after worker died as it started, and its clients waited."""
    program = """
import subprocess, sys
from cachelayer.cli import main
main([])
child = "import sys; sys.exit(None in (sys.stdin, sys.stdout, sys.stderr))"
sys.exit(subprocess.run([sys.executable, "-c", child]).returncode)
"""
    command = ["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, program]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("loaded", ["numpy", "cachelayer.layer", "cachelayer.cli.trtllm"])
def test_ctrl_c_while_modules_are_loaded_ends_quietly(loaded: str) -> None:
    """Half a second of it came before anything that could hear."""
    program = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupted:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
runpy.run_module("cachelayer", run_name="__main__")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, loaded], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("kind", "refused", "taken"),
    [
        (arguments.number, ["nan", "inf", "much"], {"-1.5": -1.5}),
        (arguments.above_zero, ["0", "-1"], {"0.5": 0.5}),
        (arguments.zero_or_more, ["-0.1"], {"0": 0.0}),
        (arguments.milliseconds, ["-1", "3600000"], {"0": 0.0, "3599999": 3_599_999.0}),
        (arguments.share, ["-0.1", "1.1"], {"0": 0.0, "1": 1.0}),
        (arguments.count, ["0", "2.5", "-3", "some"], {"1": 1, "2e3": 2000}),
        (arguments.whole, ["2.5", "some"], {"-3": -3, "0": 0}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_numbers_are_taken_up_to_their_bounds_and_not_beyond(
    kind: Callable[[str], float], refused: list[str], taken: dict[str, float]
) -> None:
    for text in refused:
        with pytest.raises(argparse.ArgumentTypeError, match=f"{re.escape(text)}: give"):
            kind(text)
    for text, value in taken.items():
        assert kind(text) == value


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"cachelayer {__version__}\n")
