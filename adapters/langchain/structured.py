"""Chains of structured output: a model's own, with the cached one in its place."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import (
    Runnable,
    RunnableBinding,
    RunnableConfig,
    RunnableParallel,
    RunnableSequence,
)

from .cache import CacheLayerCache


class Structured(RunnableBinding[Any, Any]):
    """A chain that forgets an answer which its parser or its validators refuse: who tries again asks again."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        fits = True
        try:
            made = super().invoke(input, config, **kwargs)
            fits = _fits(made)
            return made
        except ValueError:
            fits = False
            raise
        finally:
            for store, asked in () if fits else _asking(self.bound):
                store.forget(asked, input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        fits = True
        try:
            made = await super().ainvoke(input, config, **kwargs)
            fits = _fits(made)
            return made
        except ValueError:
            fits = False
            raise
        finally:
            for store, asked in () if fits else _asking(self.bound):
                await store.aforget(asked, input)

    def with_retry(self, **kwargs: Any) -> Runnable[Any, Any]:
        """Around this, where a binding's own would be within."""
        return Runnable.with_retry(self, **kwargs)


def _fits(made: Any) -> bool:
    """Whether the parser took the answer; where the raw answer is wanted, too, its fault stands beside that."""
    return not (isinstance(made, dict) and made.get("parsing_error"))


def _asking(chain: Any) -> list[tuple[CacheLayerCache, Runnable[Any, Any]]]:
    """What of a chain asks a model about the chain's own input, and in which cache that is answered."""
    if isinstance(chain, RunnableParallel):
        return [found for one in chain.steps__.values() for found in _asking(one)]
    asked = chain.first if isinstance(chain, RunnableSequence) else chain
    model = asked
    while isinstance(model, RunnableBinding):
        model = model.bound
    if not isinstance(model, BaseChatModel):
        return _asking(asked) if asked is not chain else []
    store = model._store() if hasattr(model, "_store") else None
    return [(store, asked)] if store else []


def replaced(made: Any, model: BaseChatModel, cached: BaseChatModel) -> Any:
    """A chain with `cached` wherever it asks `model`; itself where it does not."""
    if made is model:
        return cached
    if isinstance(made, RunnableBinding):
        bound = replaced(made.bound, model, cached)
        return made if bound is made.bound else made.model_copy(update={"bound": bound})
    if isinstance(made, RunnableSequence | RunnableParallel):
        of = dict(enumerate(made.steps)) if isinstance(made, RunnableSequence) else made.steps__
        steps: dict[Any, Any] = {name: replaced(one, model, cached) for name, one in of.items()}
        if any(one is not of[name] for name, one in steps.items()):
            in_order = isinstance(made, RunnableSequence)
            return RunnableSequence(*steps.values(), name=made.name) if in_order else RunnableParallel(steps)
    return made
