"""What a trace's rows ask: recorded traffic, questions with answers or labels, chat bodies, labelled pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...keep.recorder import SHADOW
from ...observe.traffic import digest
from ...semantic.answers import is_prose, normalize
from .fields import ANSWERS, LABELS, answer_of, arrival, asked_of, chat_of, first, number
from .rows import NONE, LineError, Skipped, TraceError, Where, has, rows, strict, unasked

PAIRS = (("q1", "q2"), ("question1", "question2"), ("text1", "text2"), ("a", "b"))
SAME = ("same", "is_duplicate", "duplicate", "label")


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
    """Seconds that the backend took; None if it was not asked, or nobody knows."""
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
    skipped: Skipped = field(default_factory=Skipped)
    """The lines that were left out since they could not be used."""


def read(
    paths: list[Path],
    *,
    limit: int | None = None,
    named: Mapping[str, str] = NONE,
    skipped: Skipped | None = None,
) -> Trace:
    """The requests of files (`.gz` too) or directories of recorded traffic. Raises TraceError.

    `named` tells where a row holds a field that is called otherwise there: name -> path. `skipped` takes the lines that
    cannot be used; without it the first one is an error.
    """
    odd = strict if skipped is None else skipped
    asked: list[Asked] = []
    unknown: list[Asked] = []
    checks: dict[Any, str] = {}
    pairs = False
    for path in paths:
        for where, row in rows(path, named, odd):
            pair = next((names for names in PAIRS if names[0] in row and names[1] in row), None)
            try:
                if pair is not None:
                    asked += _pair(row, pair, where, len(asked))
                    pairs = True
                    continue
                one = _asked(row, where)
            except LineError as fault:
                odd(fault)
                continue
            if row.get("tier") == SHADOW:
                checks |= {one.key: one.answer} if one.truth else {}
            else:
                (asked if one.truth else unknown).append(one)
    found = _settled(asked, unknown, checks)
    if not found:
        left_out = f" ({skipped})" if skipped is not None and skipped.count else ""
        raise TraceError(
            f"{', '.join(map(str, paths))}: no request in it{left_out}; see the formats in --help"
        )
    unlabelled = len(asked) + len(unknown) - len(found)
    if limit is not None:
        found = found[: 2 * limit if pairs else limit]
    return Trace(paths[0].name, found, pairs, unlabelled, _prose(found), skipped or Skipped())


def _asked(row: dict[str, Any], where: Where) -> Asked:
    text, turns, scope, said = _request(row, where)
    label = first(row, LABELS)
    label = "" if label is None else str(label)  # 0 and false are names of classes, too
    answer = answer_of(row)
    answer = said if answer is None else answer
    if answer is None and isinstance(row.get("answer_digest"), str):
        answer = row["answer_digest"]
    recorded = "v" in row and "tier" in row
    if not label and answer is None and not recorded:
        names = f"give one of {', '.join(ANSWERS)}, or of {', '.join(LABELS)}"
        raise where.fault("answer", "missing", f"{has(row)}; {names}, or say --field answer=NAME")
    if recorded and not label and (row.get("match") == "similar" or answer is None):
        truth = ""
    else:
        truth = normalize(label or answer or "")
    return Asked(
        text=text, truth=truth, answer=answer or label, scope=scope, turns=turns,
        at=arrival(row, where.fault),
        latency=number(row, "latency", where.fault) if row.get("tier", "backend") == "backend" else None,
        tokens=int(number(row, "tokens", where.fault) or 0),
    )  # fmt: skip


def _request(row: dict[str, Any], where: Where) -> tuple[str, tuple[tuple[str, str], ...], str, str | None]:
    """(text, earlier turns, scope, answer where a chat ends with it)."""
    scope = row.get("scope")
    scope = "" if scope is None else scope if isinstance(scope, str) else json.dumps(scope, sort_keys=True)
    chat = chat_of(row, where.fault)
    if chat is not None:
        *turns, (_, text) = chat.turns
        return text, tuple(turns), digest(f"{scope}\0{chat.rest}".encode()), chat.said
    text, rest = asked_of(row)
    if not isinstance(text, str) or not text.strip():
        what = "missing" if text is None else "not a text" if not isinstance(text, str) else "empty"
        raise where.fault("question", what, unasked(row))
    scope = digest(f"{scope}\0{rest}".encode()) if rest else scope
    turns = row.get("turns") or []
    if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns):
        raise where.fault("turns", "not a list of [role, text]", "give the earlier messages, oldest first")
    return text, tuple((role, said) for role, said in turns), scope, None


def _is_turn(turn: object) -> bool:
    return isinstance(turn, list) and len(turn) == 2 and all(isinstance(part, str) for part in turn)


def _pair(row: dict[str, Any], names: tuple[str, str], where: Where, number: int) -> list[Asked]:
    """A pair as two requests in a scope of their own: one fills the cache, the other is judged."""
    for name in names:
        if not isinstance(row[name], str) or not row[name].strip():
            raise where.fault(name, "not a text", "give both questions of the pair")
    same = first(row, SAME)
    if str(same).lower() not in ("0", "1", "true", "false"):
        raise where.fault("same", f"{same!r}", "give true or false: whether both take the same answer")
    scope, other = f"pair {number}", f"answer {number}"
    second = other if str(same).lower() in ("1", "true") else f"{other}, the other one"
    return [
        Asked(row[names[0]], other, other, scope, counted=False),
        Asked(row[names[1]], second, second, scope),
    ]


def _prose(asked: list[Asked]) -> float:
    return sum(is_prose(one.truth) for one in asked) / max(len(asked), 1)


def _settled(asked: list[Asked], unknown: list[Asked], checks: dict[Any, str]) -> list[Asked]:
    """Requests by arrival; one that the cache had served takes the answer of its check, or of an equal request."""
    answers = {one.key: one.answer for one in reversed(asked)} | checks
    known = [
        replace(one, truth=normalize(answers[one.key]), answer=answers[one.key])
        for one in unknown
        if one.key in answers
    ]
    found = [*asked, *known]
    if found and all(one.at is not None for one in found):
        found.sort(key=lambda one: one.at or 0.0)
    return found
