"""Prompts whose beginnings stay equal, and a lint that says what makes them differ. Pure.

KV reuse is by exact token prefix: everything after the first difference is computed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Count = Callable[[str], int]
Message = dict[str, Any]

MOVING = {
    "time": r"\b\d{1,2}:\d{2}(?::\d{2})?\b",
    "date": r"\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b",
    "weekday date": r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? .{0,20}\d",
    "uuid": r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "epoch": r"\b1[6-9]\d{8}(?:\d{3})?\b",
    "hex id": r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b",
}
_MOVING = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, pattern in enumerate(MOVING.values())))
_KINDS = list(MOVING)


def estimate(text: str) -> int:
    """Tokens at four characters each; give the model's tokenizer for real figures."""
    return -(-len(text) // 4)


@dataclass(frozen=True, slots=True)
class Document:
    """A retrieved passage. `id` orders it: the same set of documents then gives the same bytes."""

    id: str
    text: str


def arrange(
    *,
    system: str,
    question: str,
    examples: Sequence[tuple[str, str]] = (),
    documents: Sequence[Document] = (),
    history: Sequence[Mapping[str, Any]] = (),
    variables: Mapping[str, str] | None = None,
    order: Callable[[Document], Any] | None = None,
) -> list[Message]:
    """Messages from what changes least to what changes most.

    System, examples, documents by id (or `order`) and without repeats, append-only history, and last the
    variables (date, user, request id) and the question. Roles alternate, as strict chat templates demand: the
    documents open the first user turn.
    """
    messages: list[Message] = [{"role": "system", "content": system}]
    for ask, answer in examples:
        messages += [{"role": "user", "content": ask}, {"role": "assistant", "content": answer}]
    unique = {document.id: document for document in documents}.values()
    ordered = sorted(unique, key=order or (lambda d: d.id))
    passages = "".join(f'<document id="{d.id}">\n{d.text}\n</document>\n' for d in ordered)
    tail = "".join(f"{name}: {value}\n" for name, value in sorted((variables or {}).items()))
    turns = [dict(turn) for turn in history] + [{"role": "user", "content": tail + question}]
    first = next(turn for turn in turns if turn["role"] == "user")
    first["content"] = f"{passages}{first['content']}"
    return messages + turns


def stable_tools(tools: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Tool schemas ordered by name, with sorted keys throughout: the template then writes the same bytes."""
    ordered = sorted(tools, key=lambda tool: str(tool.get("function", tool).get("name", "")))
    stable: list[Any] = orjson.loads(orjson.dumps(ordered, option=orjson.OPT_SORT_KEYS))
    return stable


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that moves in the part that should stand still. `tokens` is what each request recomputes for
    it."""

    kind: str
    message: int
    """Index of the message; -1 for the tools."""
    offset: int
    """Character offset within the message."""
    tokens: int
    remedy: str


def lint(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), *, count: Count = estimate
) -> list[Finding]:
    """What in one prompt is likely to differ from request to request before its last message, dearest first.

    The last message is the place for what moves. Costs are the tokens between the finding and the last
    message."""
    stable = [str(message.get("content") or "") for message in messages[:-1]]
    sizes = [count(text) for text in stable]
    findings = []
    for index, text in enumerate(stable):
        if messages[index].get("role") not in ("system", "developer", "tool"):
            continue
        found = next(_MOVING.finditer(text), None)
        if found is not None:
            kind = _KINDS[int((found.lastgroup or "k0")[1:])]
            lost = count(text[found.start() :]) + sum(sizes[index + 1 :])
            findings.append(
                Finding(kind, index, found.start(), lost, f"move the {kind} into the last message")
            )
    if tools and list(tools) != stable_tools(tools):
        lost = count(orjson.dumps(list(tools)).decode()) + sum(sizes)
        findings.append(Finding("tool order", -1, 0, lost, "pass stable_tools(tools)"))
    elif tools and orjson.dumps(list(tools)) != orjson.dumps(stable_tools(tools)):
        lost = count(orjson.dumps(list(tools)).decode()) + sum(sizes)
        findings.append(Finding("key order", -1, 0, lost, "pass stable_tools(tools)"))
    return sorted(findings, key=lambda finding: -finding.tokens)


def differences(samples: Sequence[Sequence[Mapping[str, Any]]], *, count: Count = estimate) -> list[Finding]:
    """Where prompts that were meant to share a beginning part for the first time, with the tokens it costs
    each.

    Compares every sample with the first and names the earliest parting before the last message."""
    findings: dict[tuple[int, int], Finding] = {}
    first = samples[0]
    for other in samples[1:]:
        for index, (a, b) in enumerate(zip(first[:-1], other[:-1], strict=False)):
            left, right = str(a.get("content") or ""), str(b.get("content") or "")
            if left == right and a.get("role") == b.get("role"):
                continue
            offset = _common(left, right)
            after = [str(m.get("content") or "") for m in other[index + 1 : -1]]
            lost = count(right[offset:]) + sum(count(text) for text in after)
            same = sorted(left.split("\n")) == sorted(right.split("\n"))
            kind, remedy = (
                ("order", "sort the parts") if same else ("content", "move what differs to the end")
            )
            findings.setdefault((index, offset), Finding(kind, index, offset, lost, remedy))
            break
    return sorted(findings.values(), key=lambda finding: -finding.tokens)


def _common(left: str, right: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
