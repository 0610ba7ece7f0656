"""What the house tests look at: the sources as syntax trees, and the distributions built from them."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
MADE = re.compile(r"\..+|__pycache__|build|dist|reports|.+\.egg-info")
"""Folders that tools make."""


@dataclass(frozen=True)
class Source:
    """One module: its dotted name as installed, its file and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def _read(folder: str, package: str) -> list[Source]:
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT / folder).with_suffix("").parts
        name = ".".join((package, *(part for part in parts if part != "__init__")))
        found.append(Source(name, path, ast.parse(path.read_text("utf-8"), str(path))))
    return found


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every module of the package, adapters included."""
    return _read("cachelayer", "cachelayer") + _read("adapters", "cachelayer.adapters")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def dev() -> ModuleType:
    """The module dev.py."""
    spec = importlib.util.spec_from_file_location("cachelayer_dev", ROOT / "dev.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Built:
    """The sdist of the tree, the wheel built from that sdist, and the wheel unpacked."""

    sdist: Path
    wheel: Path
    site: Path


def handed_out() -> list[str]:
    """The files that a newcomer gets: what git knows of, or in a tree without git all that no tool has made."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return [str(path) for path in paths if not any(map(MADE.match, path.parts[:-1]))]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Built without network from what git would hand to a newcomer; the tree itself stays untouched."""
    work = tmp_path_factory.mktemp("built")
    for name in handed_out():
        target = work / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "dist", work / "tree"]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (sdist,), (wheel,) = (work / "dist").glob("*.tar.gz"), (work / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work / "site")
    return Built(sdist, wheel, work / "site")
