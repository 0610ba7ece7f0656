"""The rows of a trace's files: JSON objects, one a line or in a list, and tables with a header (.csv, .tsv).

Every fault names file, line, field and remedy.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from ...errors import CacheLayerError
from .fields import ANSWERS, BODIES, QUESTIONS, TIMES, messages_of

NONE: Mapping[str, str] = MappingProxyType({})
_DELIMITERS = ",;\t|"
_NUMBERS = (*TIMES, "latency", "tokens")
_NESTED = (*BODIES, *ANSWERS, "messages", "turns", "input")
"""Cells of a table that may hold JSON."""
_FOREIGN = {
    ".parquet": "read_parquet",
    ".feather": "read_feather",
    ".xlsx": "read_excel",
    ".xls": "read_excel",
}
_PACKED = (".zst", ".bz2", ".xz", ".zip", ".lz4", ".br")
_CELL = 2**30
"""Characters of a cell, of which Python's own limit is 2**17: a prompt with what was retrieved for it has more."""
_BYTES = re.compile("[\udc80-\udcff]")
_JSONL = "write one JSON object per line, or remove the broken line"


class TraceError(CacheLayerError):
    """A trace that cannot be read; the message names file, line, field and remedy."""


class LineError(TraceError):
    """A line that cannot be used, of a file that can."""


Odd = Callable[[LineError], None]
"""What to do about such a line; it returns where the line is to be left out."""


def strict(fault: LineError) -> None:
    """One odd line is one too many."""
    raise LineError(f"{fault}; or leave lines like it out with --skip") from None


class Skipped:
    """Leaves odd lines out, and remembers how many and what was odd about the first."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def __call__(self, fault: LineError) -> None:
        self.count += 1
        self.first = self.first or str(fault)

    def __str__(self) -> str:
        return f"{self.count:,} lines left out; the first: {self.first}" if self.count else ""


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file."""

    path: Path
    line: int
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.path}, {self.unit} {self.line}"

    def fault(self, field: str, what: str, remedy: str) -> LineError:
        """The error for a field in this place."""
        return LineError(f"{self}, field {field!r}: {what}; {remedy}")

    def broken(self, what: str, remedy: str = _JSONL) -> LineError:
        """The error for a line as a whole."""
        return LineError(f"{self}: {what}; {remedy}")


def files(path: Path) -> list[Path]:
    """The file, or those of a directory that traffic was recorded to. Raises TraceError if none is there."""
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl")) or sorted(path.glob("*.jsonl.gz"))
    if not found:
        raise TraceError(
            f"{path}: no .jsonl file in this directory; name the one that traffic was recorded to"
        )
    return found


def rows(
    path: Path, named: Mapping[str, str] = NONE, odd: Odd = strict
) -> Iterator[tuple[Where, dict[str, Any]]]:
    """The rows of a file (`.gz` too) or of a directory's. `named` tells where a row holds a field: name -> path.

    `odd` is told of each line that is no row.
    """
    for file in files(path):
        for where, row in _file(file, odd):
            try:
                found = _renamed(row, named, where) if named else row
            except LineError as fault:
                odd(fault)
            else:
                yield where, found


def _file(path: Path, odd: Odd) -> Iterator[tuple[Where, dict[str, Any]]]:
    if path.suffix in _PACKED:
        raise TraceError(f"{path}: {path.suffix} files are not read; unpack it, or pack it with gzip (.gz)")
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix in _FOREIGN:
        remedy = f"pandas.{_FOREIGN[suffix]}({path.name!r}).to_csv('trace.csv', index=False)"
        raise TraceError(f"{path}: {suffix} files are not read; write it as a table: {remedy}")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(
            path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as lines:
            yield from (_table if suffix in (".csv", ".tsv") else _objects)(lines, path, odd)
    except (OSError, EOFError, zlib.error) as fault:
        raise TraceError(f"{path}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None


def _objects(lines: Iterator[str], path: Path, odd: Odd) -> Iterator[tuple[Where, dict[str, Any]]]:
    """JSON objects: one a line, or all in one list."""
    first = True
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = Where(path, at)
        if first and line.lstrip()[0] == "[":
            text = line + "".join(lines)
            cut = _undecodable(text, where) is not None
            for number, row in enumerate(_parsed(text, where), 1):
                entry = Where(path, number, "entry")
                fault = _undecodable(json.dumps(row, ensure_ascii=False), entry) if cut else None
                if fault is None and isinstance(row, dict):
                    yield entry, row
                else:
                    odd(fault or _no_object(row, entry))
            return
        first = False
        try:
            if (undecodable := _undecodable(line, where)) is not None:
                raise undecodable
            row = _parsed(line, where)
            if not isinstance(row, dict):
                raise _no_object(row, where)
        except LineError as fault:
            odd(fault)
        else:
            yield where, row


def _parsed(text: str, where: Where) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        at = Where(where.path, where.line + fault.lineno - 1)
        remedy = (
            _JSONL
            if at.line > 1
            else f"{_JSONL}; a table with a header is read where its name ends in .csv or .tsv"
        )
        raise at.broken(f"not JSON ({fault.msg}, column {fault.colno})", remedy) from None
    except (ValueError, RecursionError) as fault:
        raise where.broken(f"cannot be read ({fault})") from None


def _undecodable(text: str, where: Where) -> LineError | None:
    """The error for bytes that are not UTF-8, which were read as halves of surrogate pairs."""
    found = None if text.isascii() else _BYTES.search(text)
    if found is None:
        return None
    byte, at = ord(found[0]) - 0xDC00, len(text[: found.start()].encode(errors="replace"))
    return where.broken(f"not UTF-8 (0x{byte:02X}, its byte {at + 1})", "write the file as UTF-8")


def _no_object(row: Any, where: Where) -> LineError:
    return where.broken(f"{type(row).__name__}, not an object", "write one JSON object per line")


def _table(lines: TextIO, path: Path, odd: Odd) -> Iterator[tuple[Where, dict[str, Any]]]:
    csv.field_size_limit(_CELL)
    head = lines.readline()
    delimiter = max(_DELIMITERS, key=head.count)
    names = [name.strip() for name in next(csv.reader([head], delimiter=delimiter), [])]
    table = csv.DictReader(lines, names, delimiter=delimiter)
    try:
        for row in table:
            where = Where(path, table.line_num + 1)
            if None in row:
                odd(
                    where.broken(
                        "more cells than the header has names", f"quote texts that hold {delimiter!r}"
                    )
                )
                continue
            if fault := _undecodable("".join(text for text in row.values() if text), where):
                odd(fault)
                continue
            yield where, {name: _cell(name, text) for name, text in row.items()}
    except csv.Error as fault:
        raise Where(path, table.line_num + 1).broken(f"cannot be read ({fault})", "mend the line") from None


def _cell(name: str, text: str | None) -> Any:
    """What a cell holds: nothing, a number or JSON where the column may hold that, else its text."""
    if name in _NUMBERS and text:
        with suppress(ValueError):
            return float(text)
    if name in _NESTED and text:
        return None if text == "null" else _nested(text)
    return text or None


def _nested(text: str) -> Any:
    """JSON where the text is an object or a list, else the text."""
    if text[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _renamed(row: dict[str, Any], named: Mapping[str, str], where: Where) -> dict[str, Any]:
    """The row with its fields under the names that are read; a question that is named is asked in place of a chat."""
    chats = (*BODIES, "messages", "input") if "question" in named else ()
    rest = {name: value for name, value in row.items() if name not in chats}
    found = {name: _at(row, name, path, where) for name, path in named.items()}
    asked = found.get("question")
    asked = _nested(asked) if isinstance(asked, str) else asked
    body = asked if isinstance(asked, dict) else {"input": asked}
    if messages_of(body) is not None:  # a chat, or its messages
        found |= {"question": None, "body": body}
    return {**rest, **found}


def _at(row: dict[str, Any], name: str, path: str, where: Where) -> Any:
    """What 'outputs.generations.0.text' names: keys of objects, and places in lists (-1 is the last)."""
    value: Any = row
    for step in [path] if path in row else path.split("."):
        value = _nested(value) if isinstance(value, str) else value
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, ValueError, TypeError):
            remedy = f"--field {name}={path} names it; {has(row)}"
            raise where.fault(path, f"no {step!r} there", remedy) from None
    return _cell(name, value) if isinstance(value, str) else value


def unasked(row: Mapping[str, Any]) -> str:
    """The remedy for a row without a question."""
    return f"{has(row)}; give a text under one of {', '.join(QUESTIONS)}, or messages, or say --field question=NAME"


def has(row: Mapping[str, Any]) -> str:
    """What a row has, for whoever looks for a field."""
    names = list(row)
    return "the row has " + (", ".join(names[:12]) or "nothing") + (", ..." if len(names) > 12 else "")
