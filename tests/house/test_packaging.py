"""What is in the tree is in the sdist, what is in the sdist is in the wheel, and nothing is forgotten."""

from __future__ import annotations

import ast
import importlib.metadata
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

EXTRAS = "redis cpu gpu gpu-cuvs local langchain openai triton serve metrics otel demo dev".split()


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


def in_tree(root: Path) -> set[str]:
    """Everything that belongs to the package, by the name it has once installed."""
    return {
        f"{package}/{path.relative_to(root / folder)}"
        for folder, package in (("cachelayer", "cachelayer"), ("adapters", "cachelayer/adapters"))
        for path in (root / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def in_wheel(wheel: Path) -> set[str]:
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if ".dist-info/" not in name}


def test_the_wheel_holds_the_tree_and_no_more(built: Any, root: Path) -> None:
    assert in_wheel(built.wheel) == in_tree(root)


def test_the_sdist_holds_what_the_wheel_holds(built: Any) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    moved = {name.replace("cachelayer/adapters/", "adapters/", 1) for name in in_wheel(built.wheel)}
    assert moved <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE"} <= names


def test_every_package_directory_is_listed(project: dict[str, Any], root: Path) -> None:
    directories = {Path(name).parent for name in in_tree(root) if name.endswith(".py")}
    packages = {".".join(directory.parts) for directory in directories}
    listed = project["tool"]["setuptools"]["packages"]
    assert listed == sorted(packages)


def test_adapters_and_types_are_shipped(built: Any) -> None:
    assert {"cachelayer/adapters/__init__.py", "cachelayer/py.typed"} <= in_wheel(built.wheel)


def test_the_wheel_carries_licence_and_metadata(built: Any, project: dict[str, Any]) -> None:
    (info,) = importlib.metadata.distributions(path=[str(built.site)])
    assert info.metadata["License-Expression"] == "Apache-2.0"
    assert set(info.metadata.get_all("License-File") or []) == {"LICENSE", "NOTICE"}
    assert info.metadata["Version"] == project["project"]["version"]
    (script,) = info.entry_points.select(group="console_scripts")
    assert script.name == "cachelayer"
    module = script.value.partition(":")[0].replace(".", "/")
    assert any((built.site / name).is_file() for name in (f"{module}.py", f"{module}/__init__.py"))


def test_the_package_states_its_version(built: Any, root: Path) -> None:
    (info,) = importlib.metadata.distributions(path=[str(built.site)])
    door = ast.parse((root / "cachelayer" / "__init__.py").read_text("utf-8"))
    stated = [
        node.value
        for node in door.body
        if isinstance(node, ast.Assign) and "__version__" in ast.unparse(node)
    ]
    assert [ast.literal_eval(value) for value in stated] == [info.metadata["Version"]]


def test_the_extras_have_their_settled_names(project: dict[str, Any]) -> None:
    assert set(project["project"]["optional-dependencies"]) == set(EXTRAS)


def test_every_dependency_has_a_lower_bound_and_a_pinned_version(project: dict[str, Any], root: Path) -> None:
    optional = project["project"]["optional-dependencies"]
    wanted = list(project["project"]["dependencies"])
    for extra, requirements in optional.items():
        # No lock for what needs a GPU: it is not installed where the lock is made.
        wanted += [one for one in requirements if not extra.startswith("gpu") and "cachelayer[" not in one]
    pins = (root / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {pin.partition("==")[0].lower().replace("_", "-") for pin in pins if "==" in pin}
    for requirement in wanted:
        name, bound, _ = requirement.partition(">=")
        assert bound, f"{requirement} has no lower bound"
        assert name.partition("[")[0] in pinned, f"{name} is not in constraints.txt: run python3 dev.py lock"


def test_a_missing_extra_names_an_extra_that_exists(project: dict[str, Any], sources: list[Any]) -> None:
    optional = project["project"]["optional-dependencies"]
    calls = [
        (source.name, node)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("MissingExtra")
    ]
    named = [(name, node.lineno, node.args[2]) for name, node in calls if len(node.args) >= 3]
    wrong = [
        f"{name}:{line} names [{extra.value}]"
        for name, line, extra in named
        if isinstance(extra, ast.Constant) and extra.value not in optional
    ]
    assert named
    assert not wrong, "\n".join(wrong)


def test_dev_brings_every_extra_that_fits_together(project: dict[str, Any]) -> None:
    own = next(one for one in project["project"]["optional-dependencies"]["dev"] if "cachelayer[" in one)
    brought = set(own.partition("[")[2].rstrip("]").split(","))
    assert brought == set(EXTRAS) - {"dev", "gpu", "gpu-cuvs"}  # both GPU builds of FAISS exclude faiss-cpu
