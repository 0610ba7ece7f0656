"""What every embedder asks of its input and of the vectors it got."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...types import Embedded, Reason, Vectors

CHARS_PER_TOKEN = 16
"""A text of more characters per token of the window is cut before it is tokenized, which bounds the time."""


class BadVectors(ValueError):
    """An embedder returned what cannot be compared. The message, which quotes no text, may be logged."""

    reason = Reason.BAD_VECTOR


def readable(text: str) -> str:
    """The text as UTF-8 can carry it: lone surrogates become '?'."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def shows_tokens(embedder: Any) -> bool:
    """Whether its `read_tokens` may show a text token by token."""
    return callable(getattr(embedder, "read_tokens", None)) and bool(getattr(embedder, "shows_tokens", True))


def guessed(embedder: Any, text: str) -> Any:
    """Its guess at the vector (d,) of a text; None if it makes none."""
    return getattr(embedder, "guess", lambda text: None)(text)


async def incomplete(embedder: Any, text: str) -> Reason:
    """Why an embedder did not read all of a text."""
    lacks_words = getattr(getattr(embedder, "inner", embedder), "lacks_words", None)
    return Reason.UNKNOWN_WORD if lacks_words is not None and await lacks_words(text) else Reason.TOO_LONG


def check_texts(texts: Sequence[str]) -> None:
    """Raise ValueError for an empty batch, a bare string or an item that is no text."""
    if isinstance(texts, str):
        raise ValueError("texts is one string: pass a sequence of texts, [text]")
    if len(texts) == 0:
        raise ValueError("texts is empty: pass at least one text")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"texts[{position}] is {type(text).__name__}: pass str")


def checked(made: Embedded, count: int) -> Embedded:
    """What an embedder made of `count` texts, in float32; BadVectors unless there is one row for each.

    With a row too few or too many nobody can tell which text has whose vector.
    """
    vectors = np.asarray(made.vectors, np.float32)
    if vectors.ndim != 2 or len(vectors) != count or len(made.complete) != count:
        shapes = f"vectors of shape {vectors.shape} and {len(made.complete)} marks"
        raise BadVectors(f"the embedder returned {shapes} for {count} texts: one row and one mark per text")
    return Embedded(vectors, made.complete)


def normalized(rows: ArrayLike, count: int, dimension: int | None, by: str = "the embedder") -> Vectors:
    """L2-normalized float32 rows (count, dimension); BadVectors naming what a foreign embedder, `by`, got wrong."""
    try:
        out = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError):
        raise BadVectors(f"{by} returned no matrix of numbers") from None
    if not out.size and len(out) == count:
        raise BadVectors(f"{by} returned vectors that hold no number")
    wide = dimension if dimension is not None else out.shape[-1] if out.ndim else 0
    if out.shape != (count, wide) or not wide:
        raise BadVectors(f"{by} returned shape {out.shape}, not ({count}, {wide}): one row per text")
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        bad = int(np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))[0])
        raise BadVectors(f"{by} returned a zero or non-finite vector for text {bad}: it cannot be compared")
    return np.asarray(out / norms, dtype=np.float32)
