"""What a layer offers for the steps of a pipeline; `CacheLayer` inherits it."""

from __future__ import annotations

from typing import Any

from ..registry import Registry


class Partial:
    """Steps whose results are worth keeping where the whole answer is new."""

    _registry: Registry

    def known(self, name: str) -> Any:
        """The cached function of that name; None where there is none yet."""
        return self._registry.wrapped.get(name)

    def step(self, name: str, fn: Any, *, version: str = "", **options: Any) -> Any:
        """Any step (a reranker, a rewriting of queries) under the same policy; `options` are those of `layer.cached`.

        Steps are compared exactly unless `semantic=` or `text=` says otherwise. A new `version` is a new identity. Raises
        ConfigurationError naming option, value and remedy.
        """
        if "text" not in options:
            options = {"semantic": False, **options}
        return self._registry.wrap(fn, options={**options, "name": name, "version": version}, wire=False)
