"""What is asked and when: recorded files, Azure's and Mooncake's traces, or a rate."""

from __future__ import annotations

import csv
import gzip
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import CacheLayerError
from ..traces.fields import BODIES, arrival, first
from ..traces.read import QUESTIONS, files

_BLOCK = 512
"""Tokens of one of Mooncake's blocks."""
_WORDS = "time year people way day man thing woman life child world school state family student group country".split()


class TrafficError(CacheLayerError):
    """Traffic that cannot be read; the message names file, line and remedy."""


@dataclass(frozen=True, slots=True)
class Item:
    """One request: seconds after the first, the text, and the body of an OpenAI-style chat request."""

    at: float | None
    text: str
    body: dict[str, Any]


def load(path: Path, *, limit: int | None, model: str, shrink: float) -> list[Item]:
    """The requests of a file (`.gz` too) or of a directory of recorded ones, in order.

    `shrink` multiplies lengths of traces that hold no texts.
    """
    items: list[Item] = []
    try:
        for file in files(path):
            with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8-sig") as lines:
                rows = (_azure if ".csv" in file.name else _objects)(lines, file, shrink)
                more = islice(rows, None if limit is None else limit - len(items))
                items += [_item(at, body, model) for at, body in more]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as fault:
        raise TrafficError(f"{path}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    if not items:
        raise TrafficError(f"{path}: no request in it; see the formats in --help")
    if any(item.at is None for item in items):
        return [Item(None, item.text, item.body) for item in items]
    start = min(item.at or 0.0 for item in items)
    return sorted((Item((i.at or 0.0) - start, i.text, i.body) for i in items), key=lambda i: i.at or 0.0)


def at_rate(items: list[Item], rate: float, seed: int) -> list[Item]:
    """The same requests, arriving by chance (Poisson) at `rate` a second."""
    rng, at, timed = random.Random(seed), 0.0, []
    for item in items:
        timed.append(Item(at, item.text, item.body))
        at += rng.expovariate(rate)
    return timed


def faster(items: list[Item], speed: float) -> list[Item]:
    """The same requests, `speed` times as fast."""
    return [Item(None if item.at is None else item.at / speed, item.text, item.body) for item in items]


def _item(at: float | None, body: dict[str, Any], model: str) -> Item:
    last = body["messages"][-1].get("content")
    text = last if isinstance(last, str) else json.dumps(last)
    return Item(at, text, {**({"model": model} if model else {}), **body})


def _objects(lines: Any, path: Path, shrink: float) -> Iterator[tuple[float | None, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield _mooncake(row, shrink) if "hash_ids" in row else _request(row, path, number)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise TrafficError(f"{path}, line {number}: {fault}; see the formats in --help") from None


def _request(row: dict[str, Any], path: Path, number: int) -> tuple[float | None, dict[str, Any]]:
    def fault(field: str, what: str, remedy: str) -> Exception:
        return TrafficError(f"{path}, line {number}, field {field!r}: {what}; {remedy}")

    at = arrival(row, fault)
    body = first(row, BODIES) or (row if "messages" in row else None)
    if isinstance(body, dict) and (messages := body.get("messages")):
        if not isinstance(messages, list) or not isinstance(messages[-1], dict):
            raise fault("messages", "not a list of messages", "give role and content of each")
        kept = {
            k: v
            for k, v in body.items()
            if k not in ("at", "time", "timestamp", "arrived", "answer", "label")
        }
        return at, kept
    text = first(row, QUESTIONS)
    if not isinstance(text, str):
        raise fault("question", "missing", f"give a text under one of {', '.join(QUESTIONS)}, or messages")
    turns = [{"role": role, "content": said} for role, said in row.get("turns") or []]
    return at, {"messages": [*turns, {"role": "user", "content": text}]}


def _azure(lines: Any, path: Path, shrink: float) -> Iterator[tuple[float | None, dict[str, Any]]]:
    """Azure's LLM inference traces: arrival, tokens in and out. Every prompt is made, and none comes twice."""
    for number, row in enumerate(csv.DictReader(lines)):
        try:
            at = datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
            size, tokens = int(row["ContextTokens"]), int(row["GeneratedTokens"])
        except (ValueError, TypeError, KeyError) as fault:
            told = f"not a line of Azure's trace ({fault}); see the formats in --help"
            raise TrafficError(f"{path}, line {number + 2}: {told}") from None
        text = f"request {number} " + _words(number, max(int(size * shrink) - 2, 1))
        yield at, _asked(text, tokens, shrink)


def _mooncake(row: dict[str, Any], shrink: float) -> tuple[float | None, dict[str, Any]]:
    """Mooncake's traces: equal block ids make equal text, so that prefixes and whole prompts repeat as they did."""
    size = max(int(_BLOCK * shrink), 1)
    text = " ".join(_words(block, size) for block in row["hash_ids"])
    words = text.split(" ")[: max(int(row["input_length"] * shrink), 1)]
    return row["timestamp"] / 1e3, _asked(" ".join(words), int(row["output_length"]), shrink)


def _asked(text: str, tokens: int, shrink: float) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_tokens": max(int(tokens * shrink), 1)}


def _words(seed: int, n: int) -> str:
    return " ".join(random.Random(seed).choices(_WORDS, k=n))
