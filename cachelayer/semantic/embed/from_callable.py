"""Any async function of texts as an embedder."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigurationError
from ...types import Embedded
from .checks import check_texts, normalized


class CallableEmbedder:
    """Wraps `function(texts)`, a coroutine function that returns one vector per text, (n, dimension).

    Rows are normalized here. `identity` names the model and everything that changes its vectors. `max_chars` is
    the length that the model reads in full: of longer texts the vector may cover a part only, and they are never
    compared by it.
    """

    def __init__(
        self,
        function: Callable[[Sequence[str]], Awaitable[ArrayLike]],
        *,
        identity: str,
        dimension: int,
        max_chars: int,
    ) -> None:
        called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
        if not inspect.iscoroutinefunction(called):
            raise ConfigurationError(
                "embedder",
                function,
                "is not async: wrap it, async def f(texts): await asyncio.to_thread(...)",
            )
        if not identity:
            raise ConfigurationError("identity", identity, "name the model: vectors of two models never meet")
        if dimension < 1 or max_chars < 1:
            raise ConfigurationError("dimension, max_chars", (dimension, max_chars), "both are at least 1")
        self.identity, self.dimension = identity, dimension
        self._function, self._max_chars = function, max_chars

    async def start(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        check_texts(texts)
        rows = normalized(await self._function(texts), len(texts), self.dimension)
        return Embedded(rows, np.array([len(text) <= self._max_chars for text in texts]))

    async def aclose(self) -> None:
        """Nothing to release."""
