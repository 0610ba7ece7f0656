"""`import cachelayer` with nothing but its core dependencies works and does nothing."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CORE = ("numpy", "orjson", "xxhash")

WATCH = """
import sys, json
sys.path.insert(0, sys.argv[1])
import numpy, orjson, xxhash, asyncio, threading, logging.handlers  # what is there before
seen = []
def watch(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    topic = event.split(".")[0] in ("socket", "subprocess", "urllib", "ctypes", "sqlite3", "tempfile")
    if writes or topic or event in ("os.system", "os.fork", "os.mkdir", "os.remove", "os.rename", "os.putenv",
                                    "os.exec", "os.posix_spawn"):
        seen.append([event, repr(arguments)[:200]])
starts = "_start_new_thread" if sys.version_info < (3, 13) else "_start_joinable_thread"
def start_thread(*arguments, plain=getattr(threading, starts), **options):  # Python 3.11 has no audit event for it
    seen.append(["thread", repr(arguments)[:200]])
    return plain(*arguments, **options)
setattr(threading, starts, start_thread)
before = set(sys.modules)
sys.dont_write_bytecode = True
sys.addaudithook(watch)
import cachelayer
from cachelayer import *
for name in sys.argv[2:]:
    __import__(name)
new = sorted({name.split(".")[0] for name in set(sys.modules) - before})
print(json.dumps({
    "file": cachelayer.__file__, "events": seen, "modules": new,
    "names": sorted(vars(cachelayer)), "all": list(cachelayer.__all__),
}))
"""


@pytest.fixture(scope="session")
def bare(built: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site directory with the built wheel and the core dependencies, and no other package."""
    site = tmp_path_factory.mktemp("bare")
    for child in built.site.iterdir():
        (site / child.name).symlink_to(child)
    for package in CORE:
        distribution = importlib.metadata.distribution(package)
        tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            (site / top).symlink_to(Path(str(distribution.locate_file(top))))
    return site


def python(site: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that sees the standard library and `site` alone."""
    command = [sys.executable, "-I", "-S", "-c", program, str(site), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": ""})


def imported(site: Path, *modules: str) -> dict[str, Any]:
    done = python(site, WATCH, *modules)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_importing_does_nothing(bare: Path) -> None:
    report = imported(bare)
    assert report["file"].startswith(str(bare))
    assert report["events"] == []


def test_importing_brings_no_package_but_the_core_dependencies(bare: Path) -> None:
    report = imported(bare)
    foreign = {name for name in report["modules"] if name not in sys.stdlib_module_names}
    foreign -= {name for name in foreign if name.startswith("_sysconfigdata")}  # named after the platform
    assert foreign <= {"cachelayer", *CORE}


def test_every_core_module_can_be_imported_bare(bare: Path, sources: list[Any]) -> None:
    core = [source.name for source in sources if not source.name.startswith("cachelayer.adapters")]
    core.remove("cachelayer.semantic.index.kernels")  # kernels, compiled as it is imported
    report = imported(bare, *(name for name in core if not name.endswith("__main__")))
    assert report["events"] == []


def test_the_door_has_at_most_25_names_and_all_of_them_exist(bare: Path) -> None:
    report = imported(bare)
    assert len(report["all"]) <= 25
    assert set(report["all"]) <= set(report["names"])


def test_what_is_found_when_it_is_asked_for_is_there(bare: Path) -> None:
    """The door opens slowly, and nobody can tell."""
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import cachelayer
assert set(cachelayer.__all__) < set(dir(cachelayer)) and "numpy" not in sys.modules
assert cachelayer.errors.MissingExtra is cachelayer.MissingExtra and not hasattr(cachelayer, "Missing")
assert all(getattr(cachelayer, name).__name__ == name for name in cachelayer.__all__)
"""
    done = python(bare, program)
    assert done.returncode == 0, done.stderr


def test_a_missing_extra_is_named_in_one_sentence(bare: Path) -> None:
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import cachelayer
try:
    cachelayer.CacheLayer(semantic=True)
except cachelayer.MissingExtra as fault:
    print(fault)
"""
    done = python(bare, program)
    assert done.returncode == 0, done.stderr
    assert "pip install 'cachelayer[" in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("adapter", ["langchain", "openai"])
def test_an_adapter_without_its_package_names_the_extra(bare: Path, adapter: str) -> None:
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import cachelayer
try:
    __import__("cachelayer.adapters." + sys.argv[2])
except cachelayer.MissingExtra as fault:
    print(fault)
"""
    done = python(bare, program, adapter)
    assert f"pip install 'cachelayer[{adapter}]'" in done.stdout, done.stderr


FEATURES = {
    "aiohttp": "from cachelayer.adapters.tensorrt_llm import *; TensorRTLLM.connect('http://127.0.0.1:1')",
    "grpc": "from cachelayer.adapters.tensorrt_llm import *; TensorRTLLM.connect('triton://127.0.0.1:1')",
    "prometheus_client": "CacheLayer().metrics()",
    "opentelemetry": "CacheLayer().trace()",
    "httpx": "from cachelayer.cli.bench.targets import *; Endpoint('http://a', headers={}, stream=True, timeout=1)",
}


@pytest.mark.parametrize("package", FEATURES)
def test_a_package_that_is_there_and_broken_is_not_told_as_missing(
    bare: Path, tmp_path: Path, package: str
) -> None:
    program = f"""
import sys
sys.path[:0] = sys.argv[1:]
from cachelayer import CacheLayer, MissingExtra
try:
    {FEATURES[package]}
except MissingExtra as fault:
    print(fault)
"""
    absent = python(bare, program)
    assert "which is not installed: pip install 'cachelayer[" in absent.stdout, absent.stderr
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("raise ImportError('libz.so.9: cannot open it')")
    broken = python(bare, program, str(tmp_path))
    assert "which is installed and cannot be imported (libz.so.9: cannot open it)" in broken.stdout, (
        broken.stderr
    )
    assert "trtllm://" not in absent.stdout + broken.stdout  # the address was http://


def test_a_wheel_works_from_where_it_lies(built: Any, bare: Path) -> None:
    """As in a zipped application: what it carries is read through the importer."""
    program = """
import sys
sys.path[:0] = [sys.argv[2], sys.argv[1]]
import cachelayer
from cachelayer.observe.cost import Prices
from cachelayer.cli.report import page
print(cachelayer.__file__, "gpt-4o" in Prices.bundled().models, "<style>" in page("", "", []))
"""
    done = python(bare, program, str(built.wheel))
    assert f"{built.wheel}/cachelayer/__init__.py True True" in done.stdout, done.stderr


def test_a_layer_caches_bare(bare: Path) -> None:
    program = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from cachelayer import CacheLayer
calls = []
async def main():
    layer = CacheLayer()
    @layer.cached
    async def ask(question: str) -> str:
        calls.append(question)
        return question.upper()
    print(await ask("how?"), await ask("how?"), len(calls))
    await layer.aclose()
asyncio.run(main())
"""
    done = python(bare, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "HOW? HOW? 1\n"
