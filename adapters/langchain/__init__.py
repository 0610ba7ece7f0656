"""LangChain on a cache layer: LLM cache, streaming model, retriever, embeddings, tools and runnables."""

from __future__ import annotations

from .cache import CacheLayerCache
from .embeddings import CachedEmbeddings
from .model import CachedChatModel
from .retriever import CachedRetriever
from .runnable import CachedRunnable
from .tools import cached_tool

__all__ = [
    "CacheLayerCache",
    "CachedChatModel",
    "CachedEmbeddings",
    "CachedRetriever",
    "CachedRunnable",
    "cached_tool",
]
