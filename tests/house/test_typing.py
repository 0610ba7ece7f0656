"""The files of tests/typing are checked by mypy --strict as users' code would be, and never run."""

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
def report(dev: ModuleType, root: Path) -> str:
    """mypy's word on all cases at once; it looks at the package as installed."""
    tree = dev.typed_tree()
    command = [sys.executable, "-m", "mypy", "--config-file", root / "pyproject.toml", "--no-error-summary"]
    command += ["--cache-dir", root / ".mypy_cache", "--show-absolute-path", *CASES]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_types_are_as_the_case_states(case: Path, report: str) -> None:
    wrong = [line for line in report.splitlines() if line.startswith(f"{case}:")]
    assert not wrong, "\n".join(wrong)


def test_editors_know_every_option_and_its_type() -> None:
    told, settings = get_type_hints(Options), get_type_hints(Policy)
    assert set(told) == {*OPTIONS, *settings}
    assert {name: told[name] for name in settings} == settings
