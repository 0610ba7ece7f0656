"""mypy finds nothing; the files of tests/typing are looked at as users' code would be, and never run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

from cachelayer import Policy
from cachelayer.wrap.options import OPTIONS
from cachelayer.wrap.wrapped import Options

CASES = sorted((Path(__file__).parents[1] / "typing").glob("*.py"))


@pytest.fixture(scope="module")
def report(dev: ModuleType) -> list[str]:
    """mypy's complaints, a line each, about all that its settings name."""
    command = [sys.executable, "-m", "mypy", *dev.MYPY, "--no-error-summary"]
    done = subprocess.run(command, cwd=dev.typed_tree(), capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_types_are_as_the_case_states(case: Path, report: list[str]) -> None:
    wrong = [line for line in report if line.startswith(f"tests/typing/{case.name}:")]
    assert not wrong, "\n".join(wrong)


def test_package_benchmarks_and_examples_fit_together(report: list[str]) -> None:
    wrong = [line for line in report if not line.startswith("tests/typing/")]
    assert not wrong, "\n".join(wrong)


def test_editors_know_every_option_and_its_type() -> None:
    told, settings = get_type_hints(Options), get_type_hints(Policy)
    assert set(told) == {*OPTIONS, *settings}
    assert {name: told[name] for name in settings} == settings
