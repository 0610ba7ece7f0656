"""Reading traces: recorded traffic, any jsonl stream of questions and answers or labels, chat bodies, labelled pairs.

Every fault names file, line, field and remedy.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import CacheLayerError
from ...keep.recorder import SHADOW
from ...observe.traffic import digest
from ...semantic.answers import is_prose, normalize
from .fields import answer_of, arrival, chat_of, first, number

PAIRS = (("q1", "q2"), ("question1", "question2"), ("text1", "text2"), ("a", "b"))
SAME = ("same", "is_duplicate", "duplicate", "label")
QUESTIONS = ("question", "text", "query", "prompt", "input", "q")
LABELS = ("label", "cls", "class", "intent")


class TraceError(CacheLayerError):
    """A trace that cannot be read; the message names file, line, field and remedy."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a trace. Two requests take the same answer where `scope` and `truth` are equal."""

    text: str
    truth: str
    """A label, or the answer in one spelling."""
    answer: str
    """What the backend says."""
    scope: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    at: float | None = None
    """Unix seconds."""
    latency: float | None = None
    """Seconds that the backend took; None where it was not asked, or nobody knows."""
    tokens: int = 0
    counted: bool = True
    """False for the first of a labelled pair, which only fills the cache."""

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...], str]:
        """Equal for equal requests."""
        return self.scope, self.turns, self.text


@dataclass(frozen=True, slots=True)
class Trace:
    """A stream in order of arrival."""

    name: str
    asked: list[Asked]
    pairs: bool = False
    """Whether it was made of labelled pairs, each in a scope of its own."""
    unlabelled: int = 0
    """Requests left out because nobody knows their true answer: the cache served them, and nobody checked."""
    prose: float = 0.0
    """Share of requests whose truth is an answer in prose: other words count as another answer."""


def read(paths: list[Path], *, limit: int | None = None) -> Trace:
    """The requests of files (`.gz` too) or directories of recorded traffic. Raises TraceError."""
    asked: list[Asked] = []
    unknown: list[Asked] = []
    checks: dict[Any, str] = {}
    pairs = False
    for path in paths:
        for at, row in _rows(path):
            where = Where(path, at)
            pair = next((names for names in PAIRS if names[0] in row and names[1] in row), None)
            if pair is not None:
                pairs = True
                asked += _pair(row, pair, where, len(asked))
                continue
            one = _asked(row, where)
            if row.get("tier") == SHADOW:
                checks[one.key] = one.answer
            else:
                (asked if one.truth else unknown).append(one)
    found = _settled(asked, unknown, checks)
    if not found:
        raise TraceError(f"{', '.join(map(str, paths))}: no request in it; see the formats in --help")
    left_out = len(asked) + len(unknown) - len(found)
    if limit is not None:
        found = found[: 2 * limit if pairs else limit]
    return Trace(paths[0].name, found, pairs, left_out, _prose(found))


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file."""

    path: Path
    line: int

    def fault(self, field: str, what: str, remedy: str) -> TraceError:
        """The error for a field in this place."""
        return TraceError(f"{self.path}, line {self.line}, field {field!r}: {what}; {remedy}")

    def broken(self, what: str) -> TraceError:
        """The error for a line as a whole."""
        remedy = "write one JSON object per line, or remove the broken line"
        return TraceError(f"{self.path}, line {self.line}: {what}; {remedy}")


def files(path: Path) -> list[Path]:
    """The file, or those of a directory that traffic was recorded to. Raises TraceError where none is there."""
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl")) or sorted(path.glob("*.jsonl.gz"))
    if not found:
        raise TraceError(
            f"{path}: no .jsonl file in this directory; name the one that traffic was recorded to"
        )
    return found


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.is_dir():
        for file in files(path):
            yield from _rows(file)
        return
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig") as lines:
            for at, line in enumerate(lines, 1):
                if line.strip():
                    yield at, _object(line, Where(path, at))
    except (OSError, EOFError, zlib.error) as fault:
        raise TraceError(f"{path}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    except UnicodeDecodeError as fault:
        raise TraceError(f"{path}: not UTF-8 at byte {fault.start}; write it as UTF-8") from None


def _object(line: str, where: Where) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as fault:
        raise where.broken(f"not JSON ({fault.msg}, column {fault.colno})") from None
    except (ValueError, RecursionError) as fault:
        raise where.broken(f"cannot be read ({fault})") from None
    if not isinstance(row, dict):
        raise TraceError(
            f"{where.path}, line {where.line}: {type(row).__name__}, not an object; write one JSON object per line"
        )
    return row


def _asked(row: dict[str, Any], where: Where) -> Asked:
    text, turns, scope = _request(row, where)
    label = first(row, LABELS)
    answer = answer_of(row)
    if answer is None and isinstance(row.get("answer_digest"), str):
        answer = row["answer_digest"]
    recorded = "v" in row and "tier" in row
    if label is None and answer is None and not recorded:
        raise where.fault("answer", "missing", f"give an answer, or a label under one of {', '.join(LABELS)}")
    if recorded and label is None and (row.get("match") == "similar" or answer is None):
        truth = ""
    else:
        truth = normalize(str(label)) if label is not None else normalize(answer or "")
    return Asked(
        text=text, truth=truth, answer=answer or str(label or ""), scope=scope, turns=turns,
        at=arrival(row, where.fault),
        latency=number(row, "latency", where.fault) if row.get("tier", "backend") == "backend" else None,
        tokens=int(number(row, "tokens", where.fault) or 0),
    )  # fmt: skip


def _request(row: dict[str, Any], where: Where) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """(text, earlier turns, scope)."""
    scope = row.get("scope")
    scope = "" if scope is None else scope if isinstance(scope, str) else json.dumps(scope, sort_keys=True)
    chat = chat_of(row, where.fault)
    if chat is not None:
        *turns, (_, text) = chat.turns
        return text, tuple(turns), digest(f"{scope}\0{chat.rest}".encode())
    text = first(row, QUESTIONS)
    if not isinstance(text, str) or not text.strip():
        what = "missing" if text is None else "not a text" if not isinstance(text, str) else "empty"
        raise where.fault("question", what, f"give a text under one of {', '.join(QUESTIONS)}, or messages")
    turns = row.get("turns", [])
    if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns):
        raise where.fault("turns", "not a list of [role, text]", "give the earlier messages, oldest first")
    return text, tuple((role, said) for role, said in turns), scope


def _is_turn(turn: object) -> bool:
    return isinstance(turn, list) and len(turn) == 2 and all(isinstance(part, str) for part in turn)


def _pair(row: dict[str, Any], names: tuple[str, str], where: Where, number: int) -> list[Asked]:
    """A pair as two requests in a scope of their own: one fills the cache, the other is judged."""
    for name in names:
        if not isinstance(row[name], str) or not row[name].strip():
            raise where.fault(name, "not a text", "give both questions of the pair")
    same = first(row, SAME)
    if same not in (0, 1, True, False, "0", "1"):
        raise where.fault("same", f"{same!r}", "give true or false: whether both take the same answer")
    scope, other = f"pair {number}", f"answer {number}"
    second = other if str(same) in ("1", "True") else f"{other}, the other one"
    return [
        Asked(row[names[0]], other, other, scope, counted=False),
        Asked(row[names[1]], second, second, scope),
    ]


def _prose(asked: list[Asked]) -> float:
    return sum(is_prose(one.truth) for one in asked) / max(len(asked), 1)


def _settled(asked: list[Asked], unknown: list[Asked], checks: dict[Any, str]) -> list[Asked]:
    """In order of arrival; what the cache had served takes the answer of its check, or of an equal request."""
    told = {one.key: one.answer for one in reversed(asked)} | checks
    known = [
        replace(one, truth=normalize(told[one.key]), answer=told[one.key])
        for one in unknown
        if one.key in told
    ]
    found = [*asked, *known]
    if found and all(one.at is not None for one in found):
        found.sort(key=lambda one: one.at or 0.0)
    return found
