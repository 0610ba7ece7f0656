"""Prose and tables for people: they fit the terminal; what is piped keeps its lines as they are."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO


class Verbatim(str):
    """What is copied, such as code: wrapped it would not work."""


def say(text: str, out: TextIO | None = None, *, hang: int = 0) -> None:
    """Print `text`, its prose wrapped where `out` is a terminal; rows of tables and indented lines stay whole.

    `hang`: no row of a table but prose, whose further lines begin so far to the right.
    """
    file = sys.stdout if out is None else out
    width = 0 if isinstance(text, Verbatim) else _columns(file)
    for line in text.split("\n"):
        if width and (hang or (not line.startswith(" ") and "  " not in line)):
            line = "\n".join(_filled(line, width, "", " " * hang))
        print(line, file=file)
    file.flush()


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    """Aligned columns, the first to the left, the others to the right; below each other where a terminal is narrow."""
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head))]
    width = _columns(sys.stdout)
    if width and sum(widths) + 2 * (len(widths) - 1) > width:
        for row in body:
            yield f"{head[0]}: {row[0]}"
            named = [f"{name} {cell}".strip() for name, cell in zip(head[1:], row[1:], strict=True) if cell]
            cells = ", ".join(part.replace(" ", "\0") for part in named)
            yield from (line.replace("\0", " ") for line in _filled(cells, width, "  ", "  "))
        return

    def line(row: Sequence[str]) -> str:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        return "  ".join([row[0].ljust(widths[0]), *cells])

    yield from (line(head), "  ".join("-" * width for width in widths), *map(line, body))


def _columns(file: TextIO) -> int:
    """The width of a terminal; 0 for what is none."""
    return shutil.get_terminal_size().columns if file.isatty() else 0


def _filled(text: str, width: int, first: str, further: str) -> list[str]:
    """At least one line; none is broken within a word."""
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=further, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return lines or [text]
