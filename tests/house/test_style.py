"""The house figures: small files, small functions, everything annotated, few handlers that catch all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

Source = Any  # conftest.Source
Function = ast.FunctionDef | ast.AsyncFunctionDef

SMALLEST, LARGEST = 30, 300
LONG_FUNCTION = 40
BROAD = {"Exception", "BaseException"}
BROAD_ALLOWED = 2


def functions(source: Source) -> Iterator[Function]:
    return (node for node in ast.walk(source.tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines of the body without the docstring: documentation is not what makes a function long."""
    body = function.body
    start = body[0].lineno
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        start = body[1].lineno if len(body) > 1 else (function.end_lineno or start) + 1
    return (function.end_lineno or start) - start + 1


def test_files_are_neither_crumbs_nor_heaps(sources: list[Source]) -> None:
    lines = {source.path: source.path.read_text("utf-8").count("\n") for source in sources}
    small_by_nature = ("__init__.py", "__main__.py")
    wrong = [f"{path}: {count} lines" for path, count in lines.items() if count > LARGEST]
    wrong += [
        f"{path}: {count} lines"
        for path, count in lines.items()
        if count < SMALLEST and path.name not in small_by_nature
    ]
    assert not wrong, "\n".join(wrong)


def test_scripts_and_tests_stay_readable_too(root: Path) -> None:
    files = chain(
        [root / "dev.py"], *((root / top).rglob("*.py") for top in ("tests", "benchmarks", "examples"))
    )
    lines = {path: path.read_text("utf-8").count("\n") for path in files}
    wrong = [f"{path}: {count} lines" for path, count in lines.items() if count > LARGEST]
    assert not wrong, "\n".join(wrong)


def test_ninety_five_in_a_hundred_functions_fit_in_forty_lines(sources: list[Source]) -> None:
    lengths = sorted((length(f), f"{source.name}.{f.name}") for source in sources for f in functions(source))
    longest = [f"{name}: {lines}" for lines, name in reversed(lengths) if lines > LONG_FUNCTION]
    assert lengths[int(len(lengths) * 0.95)][0] <= LONG_FUNCTION, "\n".join(longest)


def test_every_function_is_annotated(sources: list[Source]) -> None:
    wrong = []
    for source in sources:
        for function in functions(source):
            arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
            bare = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
            if bare or function.returns is None:
                wrong.append(f"{source.name}:{function.lineno} {function.name}({', '.join(bare)})")
    assert not wrong, "\n".join(wrong)


def test_at_most_two_handlers_catch_everything(sources: list[Source]) -> None:
    """A handler that raises again, unconditionally at its end, does not count: it lets nothing vanish."""
    handlers = (
        (source.name, node)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler)
    )
    found = [
        f"{name}:{handler.lineno}"
        for name, handler in handlers
        if _broad(handler) and not isinstance(handler.body[-1], ast.Raise)
    ]
    assert len(found) <= BROAD_ALLOWED, "\n".join(found)


def _broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(node, ast.Name) and node.id in BROAD for node in ast.walk(handler.type))


def test_every_module_says_what_it_is_for(sources: list[Source]) -> None:
    mute = [source.name for source in sources if not ast.get_docstring(source.tree)]
    assert not mute


def test_every_module_postpones_annotations(sources: list[Source]) -> None:
    line = "from __future__ import annotations"
    modules = (source for source in sources if not source.path.name.startswith("__"))
    wrong = [source.name for source in modules if line not in source.path.read_text("utf-8")]
    assert not wrong


def test_every_ignored_lint_rule_has_its_reason(root: Path) -> None:
    text = (root / "pyproject.toml").read_text("utf-8")
    rules = text[text.index("[tool.ruff.lint]") :].splitlines()
    bare = [line for line in rules if line.startswith('    "') and "#" not in line]
    assert not bare
