"""Any async function of texts as an embedder."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...checks import whole
from ...errors import ConfigurationError
from ...types import Embedded
from .checks import check_texts, normalized

_MAX_CHARS = 1000
"""About 250 tokens of English: the smallest window among common models is 256."""


class CallableEmbedder:
    """Wraps `function(texts)`, a coroutine function that returns one vector per text, (n, dimension).

    Rows are normalized here. `identity` names the model and everything that changes its vectors; by default it is
    the function's name. `dimension` is learnt by `start` from one vector where it is not given. `max_chars` is the
    length that the model reads in full: of longer texts the vector may cover a part only, and they are never
    compared by it.
    """

    def __init__(
        self,
        function: Callable[[Sequence[str]], Awaitable[ArrayLike]],
        *,
        identity: str | None = None,
        dimension: int | None = None,
        max_chars: int = _MAX_CHARS,
    ) -> None:
        called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
        if not inspect.iscoroutinefunction(called):
            raise ConfigurationError(
                "embedder",
                function,
                "give an async function, such as async def f(texts): return await asyncio.to_thread(encode, texts)",
            )
        if identity == "":
            raise ConfigurationError("identity", identity, "name the model: vectors of two models never meet")
        whole("max_chars", max_chars, 1)
        if dimension is not None:
            whole("dimension", dimension, 1, ", or None to ask the function")
        named = function if inspect.isroutine(function) else type(function)
        self.identity = identity or f"{named.__module__}.{named.__qualname__}"
        self.dimension = dimension or 0
        self._function, self._max_chars = function, max_chars

    async def start(self) -> None:
        """Learn the dimension, where it was not given. Raises what the function raises."""
        if not self.dimension:
            self.dimension = normalized(await self._function(["probe"]), 1, None).shape[1]

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """ValueError for a bad batch or bad vectors, RuntimeError where the dimension is not known yet."""
        check_texts(texts)
        if not self.dimension:
            raise RuntimeError("the embedder is not started: await embedder.start() first")
        rows = normalized(await self._function(texts), len(texts), self.dimension)
        return Embedded(rows, np.array([len(text) <= self._max_chars for text in texts]))

    async def aclose(self) -> None:
        """Nothing to release."""
