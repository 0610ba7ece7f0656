"""A guess at a text's vector from its words alone: microseconds, where the model takes a millisecond or more.

The vectors that the model makes of single tokens, kept in an eighth of their bytes (product quantization: Jegou, Douze
& Schmid 2011), are summed with a weight each, and a small network makes of the sum what the model is likely to make of
the whole text. As with static vectors distilled from a model (Tissier, Gravier & Habrard 2019) the order of words is
lost; but the guess lies in the model's own space, and finds its neighbours in the index of the model's vectors.
Distilled by benchmarks/decide/train_guess.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..weights import load_arrays
from .session import Tokenized

Vector = NDArray[np.float32]


class Guess:
    """Token ids of all-MiniLM-L6-v2 to a vector (d,) near the model's."""

    def __init__(self) -> None:
        arrays = load_arrays("guess.npz")
        self._codes: NDArray[np.uint8] = arrays.pop("codes")
        """(n, p): which centroid stands for each part of a token's vector."""
        floats = {name: array.astype(np.float32) for name, array in arrays.items()}
        self._weights: list[float] = floats["weights"].tolist()
        """Of each token; 0 if no guess can be made with it."""
        parts, size, _ = floats["centroids"].shape
        self._centroids: Vector = floats["centroids"].reshape(parts * size, -1)
        self._firsts = np.arange(parts, dtype=np.int64) * size
        self._inner, self._bias, self._outer, self._shift = (
            floats[name] for name in ("inner", "bias", "outer", "shift")
        )
        """(d, h), (h,), (d + h, d), (d,)."""

    def __call__(self, ids: Sequence[int]) -> Vector | None:
        """(d,), L2-normalized; None where a token is no English word, piece of one, number or sign. `ids`: those of a
        text without the special ones, one or more."""
        weights = [self._weights[token] for token in ids]
        if not all(weights):
            return None
        parts = self._centroids[self._codes[ids] + self._firsts]
        total: Vector = np.array(weights, np.float32).dot(parts.reshape(len(weights), -1))
        total /= np.sqrt(total.dot(total))
        hidden = total.dot(self._inner) + self._bias
        np.maximum(hidden, 0.0, out=hidden)
        vector: Vector = np.concatenate((total, hidden)).dot(self._outer) + self._shift
        vector /= np.sqrt(vector.dot(vector))
        return vector


class WordsGuess:
    """Texts to vectors near the model's."""

    def __init__(self, tokens: Tokenized) -> None:
        self._tokens, self._tables = tokens, load_guess()

    def __call__(self, text: str) -> Vector | None:
        """(d,), L2-normalized; None for a text without words, or beyond the window, or with others than English words,
        numbers and signs."""
        ids, complete = self._tokens(text)
        return self._tables(ids[1:-1]) if complete and len(ids) > 2 else None


@cache
def load_guess() -> Guess:
    """The tables that ship with the package; read once, at the first call."""
    return Guess()
