"""The layering: who may import whom, and where time, tasks and optional packages may appear."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import pytest

Source = Any  # conftest.Source

FLOORS: tuple[tuple[set[str], ...], ...] = (
    ({"types", "policy", "errors", "protocols", "checks", "durations", "signatures"},),
    ({"flow"},),
    ({"exact"}, {"semantic"}, {"observe"}),
    ({"keep"},),
    ({"tiers"},),
    ({"path"},),
    ({"wrap"},),
    ({"operate"},),
    ({"partial"},),
    ({"layer"}, {"testing"}),
    ({"__init__"},),  # the door
    ({"adapters"},),
    ({"cli", "__main__"},),  # it starts what the others offer
)
"""Rooms by floor, lowest first. Modules of one room may import each other."""

PURE = {
    *("types", "policy", "errors", "protocols", "checks", "durations", "signatures"),
    *(
        "exact.keys.canonical",
        "exact.keys.chat",
        "exact.keys.normalize",
        "exact.keys.identity",
        "exact.keys.meaning",
        "exact.keys.parameters",
        "exact.memory.eviction",
        "exact.memory.slot",
    ),
    *(
        "exact.answers.admission",
        "semantic.guards.plain",
        "semantic.text.signature",
        "semantic.text.lexicon",
        "semantic.pairs.verifier",
    ),
    *("semantic.evidence.decide", "semantic.freshness", "semantic.quarantine"),
}
IMPURE = {"asyncio", "time", "random", "os", "logging", "threading", "socket", "redis", "faiss"}

STDLIB = sys.stdlib_module_names | {"annotationlib"}  # of Python 3.14
CORE_DEPENDENCIES = {"numpy", "orjson", "xxhash"}
OPTIONAL = {
    "redis": ("cachelayer.exact.redis",),
    "hiredis": ("cachelayer.exact.redis.pipe", "cachelayer.exact.redis.store"),
    "cryptography": ("cachelayer.exact.redis.seal",),
    "faiss": ("cachelayer.semantic.index.codes",),
    "onnxruntime": ("cachelayer.semantic.embed.session",),
    "tokenizers": ("cachelayer.semantic.embed.session",),
    "sentence_transformers": ("cachelayer.semantic.embed.sentence_transformers",),
    "torch": (
        "cachelayer.semantic.embed.graphs",
        "cachelayer.semantic.index.torch_flat",
        "cachelayer.semantic.index.kernels",
    ),
    "triton": ("cachelayer.semantic.index.kernels",),
    "huggingface_hub": ("cachelayer.semantic.embed.sources",),
    "prometheus_client": ("cachelayer.observe.prometheus",),
    "opentelemetry": ("cachelayer.observe.otel", "cachelayer.observe.otel_metrics"),
    "rich": ("cachelayer.cli.demo.rich_table",),
    "uvicorn": ("cachelayer.cli.serve",),
    "aiohttp": ("cachelayer.flow.http",),
    "yarl": ("cachelayer.flow.http",),
    "certifi": ("cachelayer.flow.certificates",),
    "httpx": ("cachelayer.cli.chats",),
    "tritonclient": ("cachelayer.adapters.triton",),
    "grpc": ("cachelayer.adapters.triton",),
    "google": ("cachelayer.adapters.triton",),
    "langchain_core": ("cachelayer.adapters.langchain",),
    "openai": ("cachelayer.adapters.openai", "cachelayer.adapters.openai_streams"),
    "pydantic": ("cachelayer.adapters.langchain.tools", "cachelayer.adapters.langchain.retriever"),
    "typing_extensions": ("cachelayer.types",),  # for type checkers, never imported
}
"""Where an optional package may be imported: in this module, or below it where it is a package."""

KERNELS = "cachelayer.semantic.index.kernels"
"""Its functions are Triton's when it is loaded; it is imported where Triton is."""

SCHEDULING = {
    *("create_task", "ensure_future", "TaskGroup", "Queue", "LifoQueue", "PriorityQueue"),
    *("timeout", "timeout_at", "wait_for"),
}


def test_the_table_in_the_design_lists_these_floors() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "design.md").read_text("utf-8")
    told: dict[int, set[str]] = {}
    for floor, modules in re.findall(r"^\| (\d+) \| (`[^|]+`) \|", page, re.M):
        told.setdefault(int(floor), set()).update(
            name.rstrip("/") for name in re.findall(r"`([^`]+)`", modules)
        )
    assert told == {floor: set().union(*rooms) for floor, rooms in enumerate(FLOORS)}


@dataclass(frozen=True)
class Import:
    """`target` is imported by `source`: when the module is loaded, later, or for the type checker only."""

    source: str
    target: str
    line: int
    when: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def imports(source: Source, known: set[str]) -> Iterator[Import]:
    def walk(node: ast.AST, when: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inner = when
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = "later"
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inner = "typing"
            for target in _targets(child, source.package, known):
                yield Import(source.name, target, child.lineno, when)  # type: ignore[attr-defined]
            yield from walk(child, inner)

    yield from walk(source.tree, "load")


def _targets(node: ast.AST, package: str, known: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*parents, *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in known else base
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
        named = (argument for argument in node.args[:1] if isinstance(argument, ast.Constant))
        yield from (resolve_name(str(argument.value), package) for argument in named)


@pytest.fixture(scope="module")
def every_import(sources: list[Source]) -> list[Import]:
    known = {source.name for source in sources}
    return [one for source in sources for one in imports(source, known)]


def room(module: str) -> tuple[int, int]:
    """Floor and room."""
    _, _, inside = module.partition(".")
    name = inside.split(".")[0] or "__init__"
    for floor, rooms in enumerate(FLOORS):
        for number, members in enumerate(rooms):
            if name in members:
                return floor, number
    raise AssertionError(f"cachelayer.{name} has no place yet: give it one in FLOORS")


def is_adapter(module: str) -> bool:
    return module.startswith("cachelayer.adapters")


def test_a_module_imports_from_its_own_room_and_from_lower_floors_only(every_import: list[Import]) -> None:
    ours = [one for one in every_import if one.target.split(".")[0] == "cachelayer"]
    places = [(one, room(one.source), room(one.target)) for one in ours]
    wrong = [one for one, here, there in places if here != there and there[0] >= here[0]]
    assert not wrong, "\n".join(map(str, wrong))


def test_adapters_import_siblings_relatively_and_the_core_absolutely(sources: list[Source]) -> None:
    wrong = []
    for source in filter(lambda source: is_adapter(source.name), sources):
        depth = source.package.count(".")  # 1 for cachelayer.adapters
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.level > depth:
                wrong.append(f"{source.name}:{node.lineno} reaches the core relatively")
            if isinstance(node, ast.ImportFrom) and not node.level and is_adapter(node.module or ""):
                wrong.append(f"{source.name}:{node.lineno} names a sibling absolutely")
    assert not wrong, "\n".join(wrong)


def test_no_module_takes_a_private_name_of_another(sources: list[Source]) -> None:
    """Of a layer least of all: `engine_of` gives what lies behind it."""
    wrong = []
    for source in sources:
        for node in ast.walk(source.tree):
            read = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if re.search(r"\blayer\._[a-z]", read) and source.name != "cachelayer.layer":
                wrong.append(f"{source.name}:{node.lineno} reads {read}")
            if isinstance(node, ast.ImportFrom) and node.level:
                names = (alias.name for alias in node.names if re.fullmatch(r"_[a-zA-Z].*", alias.name))
                wrong += [f"{source.name}:{node.lineno} imports {name}" for name in names]
    assert not wrong, "\n".join(wrong)


def test_no_circle_of_imports(every_import: list[Import]) -> None:
    edges: dict[str, set[str]] = {}
    for one in every_import:
        if one.when == "load" and one.target != one.source and one.target.startswith("cachelayer."):
            edges.setdefault(one.source, set()).add(one.target)

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        for target in edges.pop(module, set()):
            visit(target, (*path, module))

    while edges:
        visit(next(iter(edges)), ())


def test_pure_modules_are_handed_time_chance_and_everything_outside(every_import: list[Import]) -> None:
    pure = {f"cachelayer.{name}" for name in PURE}
    wrong = [one for one in every_import if one.source in pure and one.target.split(".")[0] in IMPURE]
    assert not wrong, "\n".join(map(str, wrong))


def test_the_pure_modules_exist(sources: list[Source]) -> None:
    missing = {f"cachelayer.{name}" for name in PURE} - {source.name for source in sources}
    assert not missing


def test_tasks_queues_and_timeouts_are_made_in_flow_alone(sources: list[Source]) -> None:
    allowed = ("cachelayer.flow", "cachelayer.cli", "cachelayer.testing")
    wrong = [
        f"{source.name}:{node.lineno} uses {ast.unparse(node)}"
        for source in sources
        if not source.name.startswith(allowed)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in SCHEDULING and "asyncio" in ast.unparse(node)
    ]
    assert not wrong, "\n".join(wrong)


def test_an_optional_package_is_imported_in_its_own_module_only(every_import: list[Import]) -> None:
    wrong = []
    for one in every_import:
        package = one.target.split(".")[0]
        if package in STDLIB or package in CORE_DEPENDENCIES or package == "cachelayer":
            continue
        homes = OPTIONAL.get(package, ())
        if not any(f"{one.source}.".startswith(f"{home}.") for home in homes):
            wrong.append(f"{one}, whose place is {' or '.join(homes) or 'not settled: add it to OPTIONAL'}")
    assert not wrong, "\n".join(wrong)


def test_the_core_imports_nothing_optional_when_loaded(every_import: list[Import]) -> None:
    wrong = [one for one in every_import if one.when == "load" and one.target.split(".")[0] in OPTIONAL]
    wrong = [one for one in wrong if not is_adapter(one.source) and one.source != KERNELS]
    wrong += [one for one in every_import if one.when == "load" and one.target == KERNELS]
    assert not wrong, "\n".join(map(str, wrong))


def test_no_pickle_and_no_global_state(sources: list[Source], every_import: list[Import]) -> None:
    unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "joblib"}
    wrong = [str(one) for one in every_import if one.target.split(".")[0] in unsafe]
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Global):
                wrong.append(f"{source.name}:{node.lineno} has a global statement")
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("marshal.load", "marshal.loads"):
                wrong.append(f"{source.name}:{node.lineno} reads marshal")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("package", "order", "above"),
    [
        ("exact", "answers keys memory wire redis", ""),
        ("semantic", "weights text guards pairs evidence index embed", "lookup tier"),
    ],
)
def test_the_folders_of_a_package_import_each_other_in_one_direction(
    every_import: list[Import], package: str, order: str, above: str
) -> None:
    """In the order of the list, and none imports what brings them together."""
    folders, inside = order.split(), f"cachelayer.{package}."

    def folder(module: str) -> str:
        return module.removeprefix(inside).partition(".")[0]

    within = [one for one in every_import if f"{one.target}.".startswith(inside)]
    inner = [one for one in within if folder(one.source) in folders and one.source.startswith(inside)]

    wrong = [one for one in inner if folder(one.target) in folders[folders.index(folder(one.source)) + 1 :]]
    wrong += [one for one in inner if folder(one.target) in above.split()]
    assert not wrong, "\n".join(map(str, wrong))
