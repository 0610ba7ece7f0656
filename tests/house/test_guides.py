"""Each package says which files it has and where to begin: its docstring is the guide that a newcomer reads first."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

Source = Any  # conftest.Source

FEW = 3
"""Files up to which a list says no more than the folder itself."""


@pytest.fixture(scope="module")
def packages(sources: list[Source]) -> dict[str, tuple[str, list[str]]]:
    """The docstring of every package, and the names of what is in it."""
    names = [source.name for source in sources]
    inside = {s.name: ast.get_docstring(s.tree) or "" for s in sources if s.path.name == "__init__.py"}
    return {
        package: (text, [name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == package])
        for package, text in inside.items()
    }


def test_a_package_of_many_files_lists_all_of_them(packages: dict[str, tuple[str, list[str]]]) -> None:
    wrong = {
        package: missing
        for package, (text, names) in packages.items()
        if len(names) > FEW and (missing := [name for name in names if not _listed(name, text)])
    }
    wrong.pop("cachelayer", None)  # its docstring is for users; docs/design.md lists what it consists of
    assert not wrong


def test_a_package_lists_no_file_that_is_gone(packages: dict[str, tuple[str, list[str]]]) -> None:
    """What stands at the beginning of a line, before two spaces or more, are names of files."""
    wrong = {}
    for package, (text, names) in packages.items():
        if len(names) > FEW:
            lists = re.findall(r"^ *((?:\w+/?, )*\w+/?)  +\S", text, re.MULTILINE)
            listed = {name.strip(" /") for line in lists for name in line.split(",")}
            if gone := listed - set(names):
                wrong[package] = gone
    wrong.pop("cachelayer", None)
    assert not wrong


def _listed(name: str, text: str) -> bool:
    return re.search(rf"^ *(?:\w+/?, )*{name}/?(?:, \w+/?)*  +\S", text, re.MULTILINE) is not None
