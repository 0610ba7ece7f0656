"""`CachedRetriever`: a LangChain retriever with `layer.retrieval` before it."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import VectorStoreRetriever
from pydantic import PrivateAttr

from cachelayer import CacheLayer
from cachelayer.checks import unquoted, whole
from cachelayer.durations import Duration
from cachelayer.errors import ConfigurationError
from cachelayer.exact.keys.canonical import NotKeyable, argument
from cachelayer.flow.background import offload
from cachelayer.partial.documents import Getter
from cachelayer.partial.retrieval import Retrieval
from cachelayer.policy import strings

from .configs import check_named
from .serial import LangChainCodec

_How = tuple[Any, bool, bool]
"""Below which run a retriever is asked, whether from plain code, and whether the call says how many are wanted."""
_OTHERS = "give a BaseRetriever; CachedRunnable takes others, with what is configurable in the key"


class CachedRetriever(BaseRetriever):
    """`CachedRetriever(retriever, layer, corpus="kb")`: `invoke` and `ainvoke` with everything of `layer.retrieval`.

    `id`: what names a document: "id", a key of its metadata, or a function. `k`: the argument of `invoke` that says how
    many are wanted (the field of that name of the inner retriever counts where it is not given). Other arguments are
    scope. `retrieval` is what `layer.retrieval` returned: `await retriever.retrieval.added(documents)`. Raises
    ConfigurationError for what is no BaseRetriever, and for a filter that cannot be compared (a function, say) where no
    `name=` sets the retriever apart.
    """

    _inner: BaseRetriever = PrivateAttr()
    _layer: CacheLayer = PrivateAttr()
    _k: int | None = PrivateAttr(default=None)
    _retrieval: Retrieval = PrivateAttr()

    def __init__(
        self,
        retriever: BaseRetriever,
        layer: CacheLayer,
        *,
        corpus: str = "default",
        k: int | None = None,
        id: Getter = "id",
        version: Getter = "version",
        negative_ttl: Duration = "1m",
        **options: Any,
    ) -> None:
        if not isinstance(
            retriever, BaseRetriever
        ):  # `configurable_fields` of one would lose what is configured
            raise ConfigurationError("retriever", retriever, _OTHERS)
        check_named(layer, corpus, "corpus")
        if k is not None:
            whole("k", k, 0)
        super().__init__(tags=retriever.tags, metadata=retriever.metadata)
        self._inner, self._layer = retriever, layer
        self._k = k
        named = {"name": f"retriever:{corpus}:{type(retriever).__name__}", "codec": LangChainCodec()}
        ignored = ["how", *strings("ignore", options.get("ignore", ()))]
        self._retrieval = layer.retrieval(
            self._fetch, corpus=corpus, id=id, version=version, content="page_content", negative_ttl=negative_ttl,
            **{**named, "share_self": True, **_varied(retriever, options), "ignore": ignored},
        )  # fmt: skip

    @property
    def retrieval(self) -> Retrieval:
        """What `layer.retrieval` made of it."""
        return self._retrieval

    def _wanted(self) -> int | None:
        """How many documents are wanted where a call does not say."""
        own = self._k if self._k is not None else getattr(self._inner, "k", None)
        return own if isinstance(own, int) else None

    async def _fetch(self, query: str, k: int | None, kwargs: dict[str, Any], how: _How) -> list[Document]:
        run, plain, takes_k = how
        asked = {**kwargs, "k": k} if takes_k else kwargs
        if plain or type(self._inner)._aget_relevant_documents is BaseRetriever._aget_relevant_documents:
            below = RunnableConfig(callbacks=(run if plain else run.get_sync()).get_child())
            return await offload(
                partial(self._inner.invoke, query, below, **asked)
            )  # ainvoke would drop the arguments
        return await self._inner.ainvoke(query, RunnableConfig(callbacks=run.get_child()), **asked)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        how = (run_manager, False, "k" in kwargs)
        return await self._retrieval(query, kwargs.pop("k", self._wanted()), kwargs, how)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        how = (run_manager, True, "k" in kwargs)
        return self._retrieval.now(query, kwargs.pop("k", self._wanted()), kwargs, how)


def _varied(retriever: BaseRetriever, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with what `retriever` searches by in the key; unless that cannot be compared and a name says all."""
    searches = partial(_searches, retriever)
    try:
        argument(searches())
    except NotKeyable as fault:
        if "name" in options:
            return options
        why = f"it holds a {fault}, which cannot be compared: give a name= that no retriever with another filter has"
        raise ConfigurationError("retriever", unquoted(retriever), why) from None
    return {**options, "vary": [*options.get("vary", ()), searches]}


def _searches(retriever: BaseRetriever) -> list[Any]:
    """How the vector stores' retrievers in `retriever`, or it itself, search."""
    held = [getattr(retriever, name) for name in type(retriever).model_fields]
    inner = [one for value in held for one in (value if isinstance(value, list) else [value])]
    found: list[Any] = [_searches(one) for one in inner if isinstance(one, BaseRetriever)]
    if isinstance(retriever, VectorStoreRetriever):
        found += [retriever.search_type, retriever.search_kwargs]
    return found
