"""Every benchmark starts, as a file and as a module: a name that it no longer finds shows here, not months later."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = [
    path for path in sorted(FOLDER.rglob("*.py")) if '__name__ == "__main__"' in path.read_text("utf-8")
]
ELSEWHERE = {"sklearn", "torch"}
"""What trains is run in an environment that has more."""

ASK_ALL = """
import contextlib, io, json, runpy, sys
way, *scripts = sys.argv[1:]
path, told = list(sys.path), {}
for script in scripts:
    sys.modules.pop("benchmarks", None)
    sys.path[:], sys.argv = path, [script, "--help"]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            if way == "file":
                sys.path[0] = script.rpartition("/")[0]
                runpy.run_path(script, run_name="__main__")
            else:
                sys.path[0] = "."
                runpy.run_module(script[:-3].replace("/", "."), run_name="__main__", alter_sys=True)
    except SystemExit:
        told[script] = out.getvalue()
    except Exception as error:
        told[script] = f"{type(error).__name__}: {error}"
print(json.dumps(told))
"""
"""Asks in one process for all, since most of what each takes to start is the same."""


def helps(way: str, scripts: list[Path]) -> dict[str, str]:
    names = [path.relative_to(FOLDER.parent).as_posix() for path in scripts]
    command = [sys.executable, "-c", ASK_ALL, way, *names]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=True, timeout=120)
    answers: dict[str, str] = json.loads(done.stdout)
    assert set(answers) == set(names)
    return answers


@pytest.mark.parametrize("way", ["file", "module"])
def test_every_benchmark_tells_its_usage(way: str) -> None:
    asked = SCRIPTS if way == "module" else [path for path in SCRIPTS if path.parent == FOLDER]
    wrong = {name: told for name, told in helps(way, asked).items() if not told.startswith("usage: ")}
    for name, told in wrong.copy().items():
        missing = re.fullmatch(r"ModuleNotFoundError: No module named '(\w+).*'", told)
        if missing and missing[1] in ELSEWHERE:
            del wrong[name]
    assert not wrong, "\n".join(f"{name}: {told}" for name, told in wrong.items())


@pytest.mark.parametrize("script", [path for path in SCRIPTS if '"--only"' in path.read_text("utf-8")])
def test_a_part_that_a_benchmark_does_not_have_is_refused_by_name(script: Path) -> None:
    command = [sys.executable, str(script), "--only", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2 and "'nonsense'" in done.stderr and "parts: " in done.stderr
