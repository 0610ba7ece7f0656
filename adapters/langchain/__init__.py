"""LangChain on a cache layer: LLM cache, streaming model, retriever, embeddings, tools and runnables.

cache           `CacheLayerCache`
model           `CachedChatModel`
pieces          what streams, as a whole answer, and back
structured      chains of structured output
retriever       `CachedRetriever`
embeddings      `CachedEmbeddings`
tools           `cached_tool`
runnable        `CachedRunnable`
configs         what of a run's config changes an answer
serial          LangChain's objects outside the process, and its serialized prompts
"""

from __future__ import annotations

from importlib.util import find_spec

from cachelayer.errors import MissingExtra

if find_spec("langchain_core") is None:
    raise MissingExtra("cachelayer.adapters.langchain", "langchain-core", "langchain")

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
