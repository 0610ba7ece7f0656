"""Retrievals of similar queries on the demo's questions, for `partial.py`: how many, and what a fresh search finds."""

from __future__ import annotations

from typing import Any

from partial_rag import Library, questions

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder


def reworded(question: str) -> str:
    """The same wish in another form."""
    return question.rstrip("?.").lower() + " please"


async def measure() -> list[dict[str, Any]]:
    """Each distinct question once (paraphrases and typos among them), then each reworded; documents stay."""
    embedder = CachedEmbedder(OnnxEmbedder())
    await embedder.start()
    library = Library(embedder)
    await library.prepare()
    asked = list(dict.fromkeys(questions(2000)))
    policy = Policy(ttl="10h", budgets=Budgets(embed=5, search=5, verify=5))
    async with CacheLayer(policy=policy, embedder=embedder) as layer:

        async def retrieve(query: str, k: int = 5) -> list[dict[str, Any]]:
            return await library.search(query, k)

        search = layer.retrieval(retrieve, name="search")
        await layer.start()
        rounds = {"questions as they are": asked, "reworded": [reworded(question) for question in asked]}
        rows = [await _round(layer, search, library, name, queries) for name, queries in rounds.items()]
    await embedder.aclose()
    return rows


async def _round(layer: Any, search: Any, library: Library, name: str, queries: list[str]) -> dict[str, Any]:
    recalls: list[float] = []
    for query in queries:
        with layer.scope():
            outcome = await search.outcome(query)
        if outcome.match == "similar":
            fresh = {one["id"] for one in await library.search(query)}
            recalls.append(len(fresh & {one["id"] for one in outcome.answer}) / len(fresh))
        await layer.flush()
    return {
        "queries": name,
        "asked": len(queries),
        "similar hits": len(recalls),
        "recall of these": round(sum(recalls) / len(recalls), 4) if recalls else "",
        "wrong lists": sum(recall < 1 for recall in recalls),
    }
