"""A RAG pipeline with documents edited under it, for `partial.py`: calls made and stale answers served."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.cli.demo.corpus import load
from cachelayer.semantic.embed.cache import CachedEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.index.faiss_cpu import FaissIndex

ROOT = Path(__file__).resolve().parents[1]
K = 5
EDIT_EVERY = 20
WAYS = (
    "no cache",
    "answers, nothing invalidated",
    "answers, all forgotten at each edit",
    "steps and documents",
    "steps and documents, nothing edited",
)


class Library:
    """The project's pages, section by section, and the demo's articles; each with a version, in a FAISS index."""

    def __init__(self, embedder: Any) -> None:
        self.embedder = embedder
        self.texts: dict[str, str] = {a.id: f"{a.title}. {a.body}" for a in load().articles.values()}
        for page in sorted((ROOT / "docs").glob("*.md")):
            for place, part in enumerate(re.split(r"^## ", page.read_text("utf-8"), flags=re.M)):
                self.texts[f"{page.stem}#{place}"] = part[:900]
        self.versions = dict.fromkeys(self.texts, 1)
        self.names = list(self.texts)

    async def prepare(self) -> None:
        self.index = FaissIndex(self.embedder.dimension)
        for name in self.names:
            await self._put(name)

    async def _put(self, name: str) -> None:
        vector = (await self.embedder.embed([self.texts[name]])).vectors
        place = np.array([self.names.index(name)], np.int64)
        self.index.remove(place)
        self.index.add(b"", place, vector)

    async def edit(self, name: str) -> None:
        """The document says something more from now on."""
        self.versions[name] += 1
        self.texts[name] += f" Changed: {self.versions[name]}."
        await self._put(name)

    async def search(self, query: str, k: int = K) -> list[dict[str, Any]]:
        vector = (await self.embedder.embed([query])).vectors
        places = self.index.search(b"", vector, k)[1][0]
        names = [self.names[place] for place in places if place >= 0]
        return [{"id": n, "version": self.versions[n], "text": self.texts[n]} for n in names]


def questions(count: int) -> list[str]:
    """Zipf over the demo's questions, paraphrases and typos among them, and over headings of the pages."""
    rng = random.Random(5)
    texts = [question.text for question in load().questions]
    rng.shuffle(texts)
    return rng.choices(texts, [1 / (place + 1) for place in range(len(texts))], k=count)


async def measure(count: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """One row a way of caching, over the same questions and edits."""
    embedder = CachedEmbedder(OnnxEmbedder())
    await embedder.start()
    rows = []
    for way in WAYS:
        say(f"  {way}")
        rows.append(await _run(way, count, embedder))
    await embedder.aclose()
    return rows


async def _run(way: str, count: int, embedder: Any) -> dict[str, Any]:
    library, rng, ran = Library(embedder), random.Random(9), Counter[str]()
    await library.prepare()
    policy = Policy(ttl="10h", budgets=Budgets(embed=5, search=5, verify=5))
    recalls: list[tuple[bool, float]] = []
    async with CacheLayer(
        policy=policy, embedder=OnnxEmbedder(), semantic=way != WAYS[0] and "auto"
    ) as layer:
        answer, search = _pipeline(layer, library, ran, way)
        stale = 0
        for place, question in enumerate(questions(count)):
            if place % EDIT_EVERY == EDIT_EVERY - 1 and way != WAYS[4]:
                edited = rng.choice(library.names)
                await library.edit(edited)
                if way == WAYS[2]:
                    await layer.erase()
                elif way == WAYS[3]:
                    await layer.invalidate(documents=[edited])
                    await search.added([{"id": edited, "text": library.texts[edited]}])
            with layer.scope():
                told = await answer(question)
            stale += any(library.versions[name] != version for name, version in told)
            if way in WAYS[3:]:
                await _compare(layer, search, library, question, recalls)
            await layer.flush()
    row = {"way": way, "retriever": ran["retriever"], "reranker": ran["reranker"], "model": ran["model"],
           "stale answers": stale}  # fmt: skip
    if recalls:
        similar = [recall for near, recall in recalls if near]
        row["hits of retrieval"], row["recall"] = (
            len(recalls),
            float(np.mean([recall for _, recall in recalls])),
        )
        row["similar ones"], row["their recall"] = len(similar), float(np.mean(similar or [1.0]))
    return row


async def _compare(
    layer: CacheLayer, search: Any, library: Library, question: str, recalls: list[tuple[bool, float]]
) -> None:
    """What the retrieval would serve now beside a fresh search, where it serves from the cache."""
    with layer.scope():
        outcome = await search.outcome(question)
    if outcome.source.value != "backend":
        fresh = {one["id"] for one in await library.search(question)}
        held = {one["id"] for one in outcome.answer}
        recalls.append((outcome.match == "similar", len(fresh & held) / len(fresh)))


def _pipeline(layer: CacheLayer, library: Library, ran: Counter[str], way: str) -> Any:
    async def retrieve(query: str, k: int = K) -> list[dict[str, Any]]:
        ran["retriever"] += 1
        return await library.search(query, k)

    def rerank(query: str, texts: list[str]) -> list[int]:
        ran["reranker"] += 1
        words = set(query.lower().split())
        return sorted(range(len(texts)), key=lambda n: -len(words & set(texts[n].lower().split())))

    steps = way in WAYS[3:]
    search = layer.retrieval(retrieve, corpus="default", name="search") if steps else retrieve
    ranked = layer.step("rerank", rerank) if steps else rerank

    async def answer(question: str) -> list[list[Any]]:
        found = await search(question)
        order = ranked(question, [one["text"] for one in found])
        ran["model"] += 1
        return [[found[place]["id"], found[place]["version"]] for place in order[:2]]

    return (answer if way == WAYS[0] else layer.wrap(answer, name="answer")), search
