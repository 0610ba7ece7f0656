"""What every record of a measurement is made of: what ran where and when, tables, the files that it is kept in."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

HEADING = ("command", "machine", "date", "load")
"""What a page tells of its measurement."""


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows a benchmark's docstring as it stands."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def command_of(commands: Any, name: str, help: str, doc: str | None) -> argparse.ArgumentParser:
    """The parser of a command among others, likewise."""
    form = argparse.RawDescriptionHelpFormatter
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=doc, formatter_class=form
    )
    return made


def word_of(parts: Iterable[str]) -> Callable[[str], str]:
    """A type of arguments: a word that the name of one of `parts` contains."""
    names = list(parts)

    def word(given: str) -> str:
        if not any(given in name for name in names):
            raise argparse.ArgumentTypeError(f"{given!r} is in no part's name; parts: {'; '.join(names)}")
        return given

    return word


def machine() -> str:
    """Cores that this process may use, the processor's name, the system and Python, as '2 cores of Intel Xeon, ...'."""
    name = platform.processor() or platform.machine()
    about = Path("/proc/cpuinfo")
    if about.exists():
        told = (line.partition(":") for line in about.read_text().splitlines())
        name = next((value.strip() for key, _, value in told if key.strip() == "model name"), name)
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    return f"{len(os.sched_getaffinity(0))} cores of {name}, {system}, Python {platform.python_version()}"


def heading(command: str) -> dict[str, Any]:
    """What a record begins with. Ask for it before the measurement, which is a load itself."""
    return {
        "command": command,
        "machine": machine(),
        "date": str(date.today()),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def page(title: str, told: Mapping[str, Any], *parts: str, also: Sequence[str] = ()) -> str:
    """Markdown: the title, the heading's lines and those named in `also`, then `parts`, a blank line between them."""
    facts = "\n".join(f"* {name}: {told[name]}" for name in (*HEADING, *also))
    return "\n\n".join([f"# {title}", facts, *parts]).rstrip("\n") + "\n"


def table(rows: Sequence[Mapping[str, Any]], cell: Callable[[Any], str] | None = None) -> str:
    """A markdown table; the keys of the first row are the columns. `cell` writes a value; else three digits do."""
    cell = cell or _three_digits
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(cell(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def keep(out: Path | None, told: Mapping[str, Any], text: str | None = None) -> None:
    """Write OUT.json, and OUT.md where there is a page; nothing where no OUT was named."""
    if out is None:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if text is not None:
        out.with_suffix(".md").write_text(text, "utf-8")


def _three_digits(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
