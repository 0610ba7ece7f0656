"""Retrieval-augmented answers with citations, and an edit that reaches exactly what it changes. Runs offline:

python examples/rag_citations.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from cachelayer import CacheLayer

layer = CacheLayer(semantic=False)
LIBRARY: dict[str, dict[str, Any]] = {
    "returns": {"version": 1, "text": "Parcels may be returned within 30 days."},
    "delivery": {"version": 1, "text": "Parcels take two working days."},
    "lights": {"version": 1, "text": "Lamps have a warranty of two years."},
}


async def search(query: str, k: int = 2) -> list[dict[str, Any]]:
    """Stands in for a vector store: documents that share words with the query, best first."""
    words = set(query.lower().split())
    scored = sorted((-len(words & set(one["text"].lower().split())), id) for id, one in LIBRARY.items())
    return [{"id": id, **LIBRARY[id]} for score, id in scored if score][:k]


retrieve = layer.retrieval(search, corpus="help")
prompt = layer.prompts.template("answer", "Sources:\n{sources}\n\nQuestion: {question}", version="1")


@layer.cached
async def answer(question: str) -> str:
    """Stands in for a model: half a second, then the first source with citations."""
    found = await retrieve(question)
    sources = "\n".join(f"[{one['id']}] {one['text']}" for one in retrieve.in_order(found))
    text = prompt(sources=sources, question=question)  # what a model would be asked
    await asyncio.sleep(0.5)
    cited = " ".join(f"[{one['id']} v{one['version']}]" for one in found if one["text"] in text)
    return f"{found[0]['text']} {cited}"


async def main() -> None:
    """Ask twice, edit one document, ask again."""
    async with layer:
        questions = ("are parcels returned", "lamps warranty")
        for question in questions * 2:
            outcome = await answer.outcome(question)
            print(f"{outcome.source:8} {question}: {outcome.answer}")
        print(f"\n{layer.explain(await answer.outcome(questions[0]))}\n")
        LIBRARY["returns"] = {"version": 2, "text": "Parcels may be returned within 60 days."}
        gone = await layer.invalidate(corpus="help", documents=["returns"])
        print(f"'returns' was edited: {gone} entries were built on it")
        for question in questions:
            outcome = await answer.outcome(question)
            print(f"{outcome.source:8} {question}: {outcome.answer}")


if __name__ == "__main__":
    asyncio.run(main())
