"""The owner's vectors for arguments that are not text: images, sound, rows of a table."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import ConfigurationError
from ...flow.background import offload
from ...policy import is_coroutine_function
from ...types import Embedded, Vectors
from .checks import BadVectors, normalized


class OwnEmbedder:
    """An `Embedder` whose texts are arguments of any kind.

    `vector` takes one argument and returns its vector (d,); it may be async, and otherwise runs in a thread. The first
    vector settles d. Raises ConfigurationError if `vector` is not callable; `embed` raises BadVectors for a vector
    that is zero, not finite or of another dimension.
    """

    def __init__(self, vector: object, identity: str) -> None:
        if not callable(vector):
            raise ConfigurationError("vector", vector, "give a function of the argument that is compared")
        self._vector, self._waits = vector, is_coroutine_function(vector)
        self.identity, self.dimension = identity, 0

    async def start(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[Any]) -> Embedded:
        rows = [await self._row(one) for one in texts]
        return Embedded(np.concatenate(rows), np.ones(len(rows), np.bool_))

    async def _row(self, argument: Any) -> Vectors:
        """A vector as one row, (1, d)."""
        made = self._vector(argument) if self._waits else await offload(partial(self._vector, argument))
        if inspect.isawaitable(made):
            made = await made
        by = f"vector= of {self.identity}"
        try:
            row = np.asarray(made, dtype=np.float32).reshape(1, -1)
        except (TypeError, ValueError):
            raise BadVectors(f"{by} returned no vector, but {type(made).__qualname__}") from None
        row = normalized(row, 1, self.dimension or None, by)
        self.dimension = row.shape[1]
        return row

    async def aclose(self) -> None:
        """Nothing to release."""
