"""What a layer offers for the steps of a pipeline; `CacheLayer` inherits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ConfigurationError
from ..registry import Registry
from ..semantic.tier import SimilarTier
from ..types import Vectors


class Partial:
    """Steps whose results are worth keeping where the whole answer is new."""

    _registry: Registry
    _similar: SimilarTier | None
    _why_off: str

    def known(self, name: str) -> Any:
        """The cached function of that name; None where there is none yet."""
        return self._registry.wrapped.get(name)

    def step(self, name: str, fn: Any, *, version: str = "", **options: Any) -> Any:
        """Any step (a reranker, a rewriting of queries) under the same policy.

        `options` are those of `layer.cached`. Steps are compared exactly unless `semantic=` or `text=` says otherwise.
        A new `version` is a new identity. Raises ConfigurationError naming option, value and remedy.
        """
        if "text" not in options:
            options = {"semantic": False, **options}
        return self._registry.wrap(fn, options={**options, "name": name, "version": version}, wire=False)

    async def embeddings(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, L2-normalized: one row a text, each text embedded once.

        The model and its memory are those of the similar tier: what a request was embedded for is not embedded again.
        Raises ConfigurationError where the layer is exact only, and whatever the model raises.
        """
        if self._similar is None:
            raise ConfigurationError(
                "semantic", self._why_off, "embeddings need a layer that compares by meaning"
            )
        await self._similar.start()
        return (await self._similar.embedder.embed(list(texts))).vectors
