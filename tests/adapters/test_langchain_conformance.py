"""LangChain's own suites: what its cache, embeddings and tools promise holds for ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedEmbeddings, CachedRetriever, CacheLayerCache, cached_tool
from langchain_core.caches import BaseCache
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool
from langchain_tests.integration_tests.cache import AsyncCacheTestSuite, SyncCacheTestSuite
from langchain_tests.integration_tests.embeddings import EmbeddingsIntegrationTests
from langchain_tests.integration_tests.retrievers import RetrieversIntegrationTests
from langchain_tests.integration_tests.tools import ToolsIntegrationTests
from langchain_tests.unit_tests.embeddings import EmbeddingsUnitTests
from langchain_tests.unit_tests.tools import ToolsUnitTests

from cachelayer import CacheLayer


class TestSyncCache(SyncCacheTestSuite):
    @pytest.fixture
    async def cache(self) -> AsyncIterator[BaseCache]:
        async with CacheLayer(semantic=False) as layer:
            yield CacheLayerCache(layer)


class TestAsyncCache(AsyncCacheTestSuite):
    @pytest.fixture
    async def cache(self) -> AsyncIterator[BaseCache]:
        async with CacheLayer(semantic=False) as layer:
            yield CacheLayerCache(layer)


class TestEmbeddings(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[CachedEmbeddings]:
        return CachedEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        model = DeterministicFakeEmbedding(size=8)
        return {"embeddings": model, "layer": CacheLayer(semantic=False), "name": "fake-8"}


class TestEmbeddingsUnit(EmbeddingsUnitTests):
    embeddings_class = TestEmbeddings.embeddings_class
    embedding_model_params = TestEmbeddings.embedding_model_params


@tool
def parrot_multiply(a: int, b: int) -> int:
    """Multiply two numbers and add eighty."""
    return a * b + 80


class TestTool(ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return cached_tool(parrot_multiply, CacheLayer(semantic=False), keep="1h")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"a": 2, "b": 3}


class TestToolUnit(ToolsUnitTests):
    tool_constructor = TestTool.tool_constructor
    tool_invoke_params_example = TestTool.tool_invoke_params_example


class Numbered(BaseRetriever):
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None
    ) -> list[Document]:
        return [Document(f"{query} {n}", id=str(n)) for n in range(k or self.k)]


class Wrapped(CachedRetriever):
    """As the suite makes retrievers: by keywords alone."""

    def __init__(self, k: int = 4) -> None:
        super().__init__(Numbered(k=k), CacheLayer(semantic=False))


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return Wrapped

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"k": 3}

    @property
    def retriever_query_example(self) -> str:
        return "hub"
