"""Pages in place of answers: what a proxy said, and a client handed on as text. Pure."""

from __future__ import annotations

from functools import partial
from typing import Any

_RESOURCES = frozenset({"SyncAPIResource", "AsyncAPIResource"})
"""What holds the methods of clients that are made by one generator: openai's, anthropic's, groq's, together's."""


def is_page(fn: Any, answer: Any) -> bool:
    """Whether `answer` of `fn` is markup where a client would have made an object of JSON."""
    if type(answer) is not str or not answer.lstrip().startswith("<"):
        return False
    while isinstance(fn, partial):
        fn = fn.func
    behind = type(getattr(fn, "__self__", None))
    return not _RESOURCES.isdisjoint(cls.__name__ for cls in behind.__mro__)
