"""`cachelayer demo` on the command line."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cachelayer.cli import demo, main
from cachelayer.cli.demo.run import Options


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("cachelayer")
    demo.register(parser.add_subparsers(required=True))
    return parser


def test_the_defaults_of_the_command_line_are_those_of_the_options(parser: argparse.ArgumentParser) -> None:
    chosen = demo.options(parser.parse_args(["demo", "--no-report"]))
    assert chosen == Options()


def test_every_option_arrives(parser: argparse.ArgumentParser) -> None:
    line = (
        "demo --requests 7 --concurrency 3 --seed 9 --redis redis://h --backend http://h --model m --think-ms 20 "
        "--max-error-rate 0.05 --no-semantic --report x.html"
    )
    assert demo.options(parser.parse_args(line.split())) == Options(
        requests=7,
        concurrency=3,
        seed=9,
        think=0.02,
        max_error_rate=0.05,
        semantic=False,
        redis="redis://h",
        backend="http://h",
        model="m",
        report=Path("x.html"),
    )


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("--requests 0", "--requests"),
        ("--concurrency -1", "--concurrency"),
        ("--max-error-rate 2", "--max-error-rate"),
        ("--think-ms nan", "--think-ms"),
        ("--requests many", "give a whole number"),
        ("--requests 1e999", "give a whole number"),
        ("--think-ms soon", "give a number"),
        ("--seed x", "give a whole number"),
        ("--report .", "name a file that can be written"),
        ("--report /", "name a file that can be written"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_option(
    parser: argparse.ArgumentParser, line: str, names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["demo", *line.split()])
    told = capsys.readouterr().err
    assert names in told and "_" not in told


def test_backend_and_model_go_together(
    parser: argparse.ArgumentParser, capsys: pytest.CaptureFixture[str]
) -> None:
    args = parser.parse_args(["demo", "--backend", "http://127.0.0.1:1"])
    with pytest.raises(SystemExit):
        args.run(args)
    assert "--model" in capsys.readouterr().err


def test_help_explains_every_option(
    parser: argparse.ArgumentParser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["demo", "--help"])
    text = capsys.readouterr().out
    for option in (
        "--requests",
        "--redis",
        "--backend",
        "--max-error-rate",
        "--no-semantic",
        "--think-ms",
        "--report",
    ):
        assert text.count(option) >= 2


def test_registering_imports_nothing_heavy() -> None:
    script = (
        "import argparse, sys; from cachelayer.cli import demo; "
        "demo.register(argparse.ArgumentParser().add_subparsers()); "
        "print(sorted({'rich', 'httpx', 'onnxruntime', 'tokenizers', 'faiss', 'redis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exact_answers_alone_need_no_embedding_model() -> None:
    script = (
        "import sys; sys.modules['onnxruntime'] = None; from cachelayer.cli import main; "
        "main('demo --requests 30 --think-ms 0 --no-report --no-semantic'.split()); sys.exit(main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "by spelling alone" in done.stdout and "backend calls made" in done.stdout
    assert done.returncode == 2 and "cachelayer[local]" in done.stderr
    assert "--no-semantic goes without" in done.stderr and "OnnxEmbedder" not in done.stderr


def test_a_reader_that_has_seen_enough_ends_a_command_in_silence() -> None:
    command = [sys.executable, "-m", "cachelayer", "demo", "--no-semantic", "--think-ms", "0", "--no-report"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None and demo.stderr is not None
        demo.stdout.close()
        assert demo.stderr.read() == "" and demo.wait() == 1


def test_a_terminal_without_our_signs_shows_question_marks() -> None:
    command = [sys.executable, "-m", "cachelayer", "demo", "--no-semantic", "--requests", "3", "--no-report"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "?" in done.stdout


def test_a_report_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    full = "demo --requests 20 --no-semantic --think-ms 0 --report /dev/full"
    assert main(full.split()) == 2
    told = capsys.readouterr().err
    assert "/dev/full cannot be written" in told and told.count("\n") == 1
