"""What is asked and when: recorded files, Azure's and Mooncake's traces, or a rate."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ..traces.fields import ANSWERS, LABELS, TIMES, answered, arrival, asked_of, body_of, messages_of
from ..traces.rows import NONE, LineError, Odd, TraceError, Where, rows, strict, unasked

_LOGGED = {*TIMES, *ANSWERS, *LABELS, "input", "latency", "scope", "tokens", "turns"}
"""What stands beside the messages in a log, and is no part of a request."""
_BLOCK = 512
"""Tokens of one of Mooncake's blocks."""
_WORDS = "time year people way day man thing woman life child world school state family student group country".split()


@dataclass(frozen=True, slots=True)
class Item:
    """One request: seconds after the first, the text, and the body of an OpenAI-style chat request."""

    at: float | None
    text: str
    body: dict[str, Any]


def load(
    path: Path,
    *,
    limit: int | None,
    model: str,
    shrink: float,
    named: Mapping[str, str] = NONE,
    odd: Odd = strict,
) -> list[Item]:
    """The requests of a file (`.gz` too) or of a directory of recorded ones, in order. Raises TraceError.

    `shrink` multiplies lengths of traces that hold no texts; `named` tells where a row holds a field; `odd` is told of
    lines that cannot be used.
    """
    items = list(islice(_items(path, model, shrink, named, odd), limit))
    if not items:
        raise TraceError(f"{path}: no request in it; see the formats in --help")
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


def _items(path: Path, model: str, shrink: float, named: Mapping[str, str], odd: Odd) -> Iterator[Item]:
    for where, row in rows(path, named, odd):
        try:
            item = _item(*_request(row, where, shrink), model)
        except LineError as fault:
            odd(fault)
        else:
            yield item


def _item(at: float | None, body: dict[str, Any], model: str) -> Item:
    last = body["messages"][-1].get("content")
    text = last if isinstance(last, str) else json.dumps(last)
    return Item(at, text, {**({"model": model} if model else {}), **body})


def _request(row: dict[str, Any], where: Where, shrink: float) -> tuple[float | None, dict[str, Any]]:
    try:
        if "hash_ids" in row:
            return _mooncake(row, shrink)
        return _azure(row, where.line, shrink) if "ContextTokens" in row else _recorded(row, where)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as fault:
        raise where.broken(f"cannot be read ({fault!r})", "see the formats in --help") from None


def _recorded(row: dict[str, Any], where: Where) -> tuple[float | None, dict[str, Any]]:
    """A request of a log, without what the log says of its answer."""
    at = arrival(row, where.fault)
    body = body_of(row)
    if messages := messages_of(body):
        whole = isinstance(messages, list)
        asked = messages[:-1] if whole and answered(messages, row) else messages
        if not whole or not asked or not isinstance(asked[-1], dict):
            raise where.fault("messages", "not a list of messages", "give role and content of each")
        kept = {k: v for k, v in body.items() if k not in (_LOGGED if body is row else ("input",))}
        return at, {**kept, "messages": asked}
    text, _ = asked_of(row)
    if not isinstance(text, str):
        raise where.fault("question", "missing" if text is None else "not a text", unasked(row))
    turns = [{"role": role, "content": said} for role, said in row.get("turns") or []]
    return at, {"messages": [*turns, {"role": "user", "content": text}]}


def _azure(row: dict[str, Any], number: int, shrink: float) -> tuple[float | None, dict[str, Any]]:
    """Azure's LLM inference traces: arrival, tokens in and out. Every prompt is made, and none comes twice."""
    at = datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
    size, tokens = int(row["ContextTokens"]), int(row["GeneratedTokens"])
    text = f"request {number} " + _words(number, max(int(size * shrink) - 2, 1))
    return at, _asked(text, tokens, shrink)


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
