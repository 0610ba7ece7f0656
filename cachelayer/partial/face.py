"""What a layer offers for the steps of a pipeline; `CacheLayer` inherits it."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Unpack, overload

import numpy as np

from .. import checks
from ..durations import Duration
from ..errors import ConfigurationError
from ..keep.part_names import DEFAULT, Parts, tags_for
from ..keep.parts import corpus_tag
from ..operate.upkeep import Upkeep
from ..path.engine import Engine
from ..policy import Policy, strings
from ..semantic.tier import SimilarTier
from ..types import Outcome, Vectors
from ..wrap.decorator import OfClass
from ..wrap.options import policy_fields
from ..wrap.registry import Registry
from ..wrap.wrapped import Decorator
from .documents import Getter
from .graph import Node, Versions, tree
from .prompts import Prompts
from .retrieval import K, Retrieval
from .sameness import RetrievalDecider, Routed
from .tools import Tools


class Partial:
    """Steps whose results are worth keeping where the whole answer is new, and what answers were built from."""

    policy: Policy
    _registry: Registry
    _engine: Engine
    _upkeep: Upkeep
    _similar: SimilarTier | None
    _why_off: str

    @cached_property
    def _versions(self) -> Versions:
        return Versions()

    @cached_property
    def _retrievals(self) -> RetrievalDecider | None:
        """Decides which retrievals want the same documents; None if the layer is exact only."""
        if self._similar is None:
            return None
        decider = RetrievalDecider(random.random)
        self._similar.decider = Routed(self._similar.decider, decider)
        return decider

    def known(self, name: str) -> Any:
        """The cached function of that name; None if there is none yet."""
        return self._registry.wrapped.get(name)

    @overload
    def step(self, name: str, fn: Callable[..., Any], *, version: str = "", **options: Any) -> Any: ...
    @overload
    def step(self, name: str, fn: None = None, **options: Any) -> Decorator: ...
    def step(self, name: str, fn: Any = None, *, version: str = "", **options: Any) -> Any:
        """Any step (a reranker, a rewriting of queries) under the same policy; without `fn`, a decorator.

        `options` are those of `layer.cached`. Steps are compared exactly unless `semantic=` or `text=` says otherwise.
        A new `version` is a new identity. Raises ConfigurationError naming option, value and remedy.
        """
        checks.named("name", name)
        if fn is None:
            return functools.partial(self.step, name, version=version, **options)
        if "text" not in options:
            options = {"semantic": False, **options}
        return self._registry.wrap(fn, options={**options, "name": name, "version": version}, wire=False)

    @overload
    def retrieval(
        self,
        fn: Callable[..., Any],
        *,
        corpus: str = DEFAULT,
        k: str = K,
        id: Getter = "id",
        version: Getter = "version",
        content: Getter = "text",
        negative_ttl: Duration = "1m",
        wide: int = 4,
        **options: Any,
    ) -> Retrieval: ...
    @overload
    def retrieval(self, fn: None = None, **options: Any) -> Callable[[Callable[..., Any]], Retrieval]: ...
    def retrieval(
        self,
        fn: Any = None,
        *,
        corpus: str = DEFAULT,
        k: str = K,
        id: Getter = "id",
        version: Getter = "version",
        content: Getter = "text",
        negative_ttl: Duration = "1m",
        wide: int = 4,
        **options: Any,
    ) -> Any:
        """A retriever, sync or async: a query and filters to documents with ids, best first; see `Retrieval`.

        `k`: the parameter that says how many. `id`, `version`, `content`: fields of the documents, or functions of one.
        `ttl`: how long any other is kept, or a function of the documents; the layer's unless given. `negative_ttl`: how
        long an empty result is kept. `wide`: where queries are compared by meaning, `k`
        times as many documents are fetched, so that a similar query finds its own best among them; 1 fetches what was
        asked for. `options` are those of `layer.cached`;
        `max_error_rate` (0.02) bounds the share of a result that similar queries may miss. A decorator as well, with
        options or without. Raises ConfigurationError.
        """
        policy_fields(options, ("corpus", "k", "id", "version", "content", "negative_ttl", "wide"))
        again = functools.partial(
            self.retrieval, corpus=corpus, k=k, id=id, version=version, content=content, negative_ttl=negative_ttl,
            wide=wide, **options,
        )  # fmt: skip
        if fn is None:
            return again
        if isinstance(fn, classmethod | staticmethod):
            return (OfClass if isinstance(fn, classmethod) else staticmethod)(again(fn.__func__))
        checks.function(fn)
        made = Retrieval(
            fn, registry=self._registry, engine=self._engine, upkeep=self._upkeep, versions=self._versions,
            corpus=corpus, k=k, fields=(id, version, content), negative_ttl=negative_ttl, wide=wide,
            options={"ttl": self.policy.ttl, "cache_if": self.policy.cache_if, **options},
        )  # fmt: skip
        if self._retrievals is not None:
            self._retrievals.enlist(made.handle.function.name, made.wide.ranking)
        return made

    @cached_property
    def tools(self) -> Tools:
        """Wraps tools and tool decisions; see `Tools`."""
        return Tools(self._registry, self._engine)

    @cached_property
    def prompts(self) -> Prompts:
        """Rendered prompts, token ids and counts; see `Prompts`."""
        return Prompts(self._registry, self._engine)

    async def embeddings(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, L2-normalized: one row a text, each text embedded once; the array is the caller's own.

        The model and its memory are those of the similar tier: what a request was embedded for is not embedded again.
        Raises ConfigurationError for a lone text and where the layer is exact only, and whatever the model raises.
        """
        texts = list(strings("texts", texts))
        if self._similar is None:
            remedy = f"embeddings need a layer that compares by meaning; this one does not: {self._why_off}"
            raise ConfigurationError("texts", texts[:1], remedy)
        await self._similar.start()
        if not texts:
            return np.zeros((0, self._similar.embedder.dimension), np.float32)
        return (await self._similar.vectors(texts, self._engine.noting.tenant)).vectors.copy()

    def used(self, **parts: Unpack[Parts]) -> None:
        """Declare what the answer being made depends on, named as for `invalidate`: for steps not wrapped here."""
        corpus = [] if parts.get("documents") is None else [corpus_tag(parts.get("corpus") or DEFAULT)]
        self._engine.noting.note([*tags_for(parts), *corpus], self._engine.keeper.epoch)

    def explain(self, outcome: Outcome | str) -> Node | None:
        """The tree of what a stored answer was built from, by its outcome or id; None if it is no longer stored."""
        found = self._engine.keeper.by_id(checks.entry_of(outcome))
        if found is None:
            return None
        slot = found[1]
        version = functools.partial(self._versions.get, tenant=self._engine.keeper.tenant_of(slot.scope))
        return tree(self._named(slot.scope), slot.tags, self._held, version)

    def _held(self, digest: int) -> tuple[str, Iterable[str]] | None:
        for memory in self._engine.keeper.memories:
            slot = memory.at(digest)
            if slot is not None:
                return self._named(slot.scope), slot.tags
        return None

    def _named(self, scope: bytes) -> str:
        return self._engine.keeper.function_of(scope)

    async def invalidate(
        self,
        *,
        tags: Sequence[str] = (),
        scope: dict[str, str] | None = None,
        dry_run: bool = False,
        **parts: Unpack[Parts],
    ) -> int:
        """Drop answers by tag, scope (`{"tenant": ..., "function": ...}`) or what they were built from; how many went.

        Given several of these, it drops what any of them names. A scope of tenant and function is what both name.
        Parts: `documents` (ids of `corpus`, "default" unless named), a whole `corpus`, `tools`, `prompts`. Whatever
        depends on them is dropped, too. When it returns, nothing older is served, and no answer that was being made
        meanwhile is stored. `dry_run=True` only counts.
        """
        tags, named = strings("tags", tags), tags_for(parts, "tags", "scope", "dry_run")
        if not tags and not named and any(given is not None for given in parts.values()):
            return 0  # lists of nothing: what changed since yesterday, say
        if not dry_run:
            self._versions.forget(named)
        return await self._upkeep.invalidate([*tags, *named], scope, dry_run)
