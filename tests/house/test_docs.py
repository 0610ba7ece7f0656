"""What README.md and docs/ say is so: their Python runs, their commands, links, files and names exist."""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("**/*.md")])

NEEDS = r"(?:<!-- needs: (?P<needs>[\w., ]+?) -->\n+)?"
FENCE = re.compile(NEEDS + r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
ANCHOR = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)")
PATH = re.compile(r"`((?:cachelayer|adapters|tests|benchmarks|examples|docs)/[\w./-]+)`")
NAME = re.compile(r"`(cachelayer(?:\.[a-zA-Z_]\w*)+)[(`]")


@dataclass(frozen=True)
class Block:
    """A fenced block. `needs` names packages without which it cannot run, from a comment above it."""

    kind: str
    text: str
    line: int
    needs: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("text"))
        yield Block(found["kind"], found["text"], line, found["needs"] or "")


PAGES_REDIS, PAGES_MODEL = "redis://127.0.0.1:6379/0", "//127.0.0.1:8000"


@pytest.fixture(scope="module")
def pages_servers(redis_url: str) -> Iterator[dict[str, str]]:
    """What pages name, and the test's own in place of it: a Redis, a server of OpenAI's wire form."""
    if importlib.util.find_spec("openai") is None:
        yield {PAGES_REDIS: redis_url}
        return
    from openai_upstream import Responding
    from upstream import Server

    with Server(Responding()) as model:
        yield {PAGES_REDIS: redis_url, PAGES_MODEL: model.url.removeprefix("http:")}


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of the test's own in place of the one that pages name: nobody's data is touched."""
    from redis_servers import Server

    server = Server(tmp_path_factory.mktemp("redis") / "docs").start()
    yield server.url
    server.kill()


def compiled(block: Block, page: Path, servers: dict[str, str]) -> CodeType:
    """The block as code that may await, with the page's own line numbers."""
    source = "\n" * block.line + block.text
    for named, ours in servers.items():
        source = source.replace(named, ours)
    return compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def lacking(block: Block) -> str:
    names = [name.strip() for name in block.needs.split(",") if name.strip()]
    return ", ".join(name for name in names if importlib.util.find_spec(name) is None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run_from_the_top_of_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages_servers: dict[str, str]
) -> None:
    """As a reader would: one after the other, in one namespace and one event loop."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    async def read() -> None:
        for block in blocks(page):
            if block.kind == "python" and not lacking(block):
                code = compiled(block, page, pages_servers)
                if "asyncio.run(" in block.text:  # a whole program, which brings its own loop
                    await asyncio.to_thread(exec, code, module.__dict__)
                    continue
                result = eval(code, module.__dict__)  # the page is our own
                if inspect.isawaitable(result):
                    await result

    asyncio.run(read())


def test_the_readmes_first_program_prints_what_stands_below_it(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    program, printed = list(blocks(ROOT / "README.md"))[:2]
    assert (program.kind, printed.kind) == ("python", "text")
    (tmp_path / "first.py").write_text(program.text)
    done = subprocess.run(
        [sys.executable, "first.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == printed.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist_with_the_options_shown(page: Path) -> None:
    for block in blocks(page):
        if block.kind in ("console", "shell", "bash", "sh"):
            joined = block.text.replace("\\\n", " ")
            for line in joined.splitlines():
                if line.startswith("$ "):
                    check_command(shlex.split(line[2:], comments=True))


def check_command(words: list[str]) -> None:
    """Its --help must answer, and know every long option of the command."""
    if words[:1] == ["python3"]:
        script = words[1:3] if words[1] == "-m" else words[1:2]
        assert words[1] == "-m" or (ROOT / words[1]).is_file(), f"{words[1]} is not in the tree"
        program, rest = [sys.executable, *script], words[1 + len(script) :]
    elif words[:1] == ["cachelayer"]:
        program, rest = [sys.executable, "-m", "cachelayer"], words[1:]
    else:
        assert words[0] in ("pip", "git", "docker", "curl", "cd"), f"unknown command {words[0]}"
        return
    command = list(takewhile(lambda word: not word.startswith("-"), rest))
    done = subprocess.run(
        [*program, *command, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    for option in (word.partition("=")[0] for word in rest if word.startswith("--")):
        assert option in done.stdout, f"{' '.join(words)}: --help does not know {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    broken = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    broken += [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(page: Path) -> None:
    lost = []
    for path, anchor in ANCHOR.findall(page.read_text("utf-8")):
        target = page.parent / path if path else page
        if target.suffix == ".md" and anchor not in headings(target):
            lost.append(f"{path}#{anchor}")
    assert not lost


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    text = FENCE.sub("", page.read_text("utf-8"))
    named = (re.sub(r"[^\w\- ]", "", line.lower()) for line in re.findall(r"^#+ (.+)$", text, re.M))
    return {name.replace(" ", "-") for name in named}


def test_the_index_of_decisions_holds_each_once_under_its_title() -> None:
    text = (ROOT / "docs" / "decisions.md").read_text("utf-8")
    titles = [(int(number), title) for number, title in re.findall(r"^## (\d+)\. (.+)$", text, re.M)]
    listed = [
        (int(number), title) for number, title in re.findall(r"^\* \[(\d+)\]\(#\S+\) (.+)$", text, re.M)
    ]
    assert sorted(listed) == titles and [number for number, _ in titles] == list(range(1, len(titles) + 1))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_the_package_exist(page: Path) -> None:
    unknown = [name for name in set(NAME.findall(page.read_text("utf-8"))) if not resolves(name)]
    assert not unknown


def resolves(name: str) -> bool:
    """Whether a dotted name leads to a module or to something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            annotated = part in getattr(found, "__annotations__", {})
            if not hasattr(found, part) and not annotated:
                return False
            found = getattr(found, part, None)
        return True
    return False


def test_every_benchmark_result_names_command_machine_and_date() -> None:
    """A page may leave that to the data of the same name beside it."""
    mute = []
    for result in sorted((ROOT / "benchmarks" / "results").glob("**/*.*")):
        if result.suffix == ".json" or (result.suffix == ".md" and not result.with_suffix(".json").exists()):
            absent = {"command", "machine", "date"} - set(
                re.findall(r"[a-z]+", result.read_text("utf-8").lower())
            )
            mute += [f"{result.name} lacks {word}" for word in absent]
    assert not mute, "\n".join(mute)
