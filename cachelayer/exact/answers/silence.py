"""Whether an answer in a provider's own form says anything: text, a call of a tool, an image."""

from __future__ import annotations

from typing import Any

from .fields import Fields, fields
from .finish_reasons import BESIDE, FEEDBACK

_CONTENT = ("content", "tool_calls", "search_queries", *BESIDE)
_NO_WORD = frozenset({"role", "type", "index", "thinking"})


def unanswered(of: Fields) -> bool:
    """Whether this is an answer of Gemini's without a candidate."""
    return "candidates" in of and not of["candidates"] and any(name in of for name, _ in FEEDBACK)


def silent(of: Fields) -> bool:
    """Whether an answer in a provider's own form has a place for what it says, and nothing is there."""
    candidates = of.get("candidates")
    places = [of, *map(fields, candidates)] if isinstance(candidates, list) else [of]
    held = [place[name] for place in places for name in _CONTENT if name in place]
    return bool(held or len(places) > 1 or unanswered(of)) and not any(map(_says, held))


def _says(value: Any, depth: int = 8) -> bool:
    """Whether anything is in there but blank text and what only goes with text."""
    if value is None or isinstance(value, str | bool):
        return isinstance(value, str) and bool(value.strip())
    parts = value
    if not isinstance(value, list | tuple):
        of = fields(value)
        if not of:
            return not isinstance(value, dict)
        parts = [held for name, held in of.items() if name not in _NO_WORD]
    return depth == 0 or any(_says(part, depth - 1) for part in parts)
