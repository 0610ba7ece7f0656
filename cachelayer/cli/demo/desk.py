"""The inference callable of the demo: embed the question, find the article, compose the answer."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import xxhash

from ...protocols import Embedder
from .corpus import Article, Corpus, label
from .retrieval import Retriever

Write = Callable[[str, Article], Awaitable[str]]
"""Writes an answer to a question from an article: a language model, or `quote`."""

SOURCE = "\n\nHelp article: "
_ORDER = re.compile(r"\bwk-\d{5}\b", re.IGNORECASE)
_INVOICE = re.compile(r"\b(invoice|bill)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?]) +")
_QUOTED_WORDS = 45
_SPREAD = 0.35
"""Standard deviation of the logarithm of the simulated generation time."""
_STATES = (
    "is being packed and leaves our warehouse today",
    "was handed to the carrier yesterday and arrives in 2 working days",
    "is out for delivery and arrives today before 18:00",
    "waits at the pick-up point you chose",
    "was delivered and signed for",
)


@dataclass(frozen=True, slots=True)
class Worked:
    """One call of the backend: the question and the label of the answer it gave."""

    question: str
    label: str


class Desk:
    """A help desk with a search of its own. `answer` is what gets cached.

    `think` is the median time in seconds that generating an answer is made to take, on top of what the search
    takes; it varies from question to question, the same each time. With `write` a real model answers instead.
    Without an embedder the search goes by spelling alone.
    """

    def __init__(
        self, corpus: Corpus, embedder: Embedder | None, *, think: float, write: Write | None = None
    ) -> None:
        self._corpus, self._embedder, self._think, self._write = corpus, embedder, think, write
        self._retriever = Retriever(corpus.articles)
        self.worked: list[Worked] = []

    async def prepare(self) -> None:
        """Load the embedder and index the articles."""
        if self._embedder is not None:
            await self._embedder.start()
            await self._retriever.prepare(self._embedder)

    async def answer(self, question: str) -> str:
        """Answer from the best article; the last line names it, and the order where one is asked about."""
        found, order = await self._search(question)
        named = label(found.id, order)
        if self._write is not None:
            text = await self._write(question, found)
        else:
            text = _of_order(found, order) if order else quote(found)
            await asyncio.sleep(self._think * math.exp(_SPREAD * _normal(question)))
        self.worked.append(Worked(question, named))
        return text + SOURCE + named

    async def label_of(self, question: str) -> str:
        """What `answer` would name, without generating and without being counted."""
        found, order = await self._search(question)
        return label(found.id, order)

    async def nearest(self, question: str, others: Sequence[str], similarity: float | None) -> str:
        """Which of `others` is that similar to `question`: the nearest to it where no similarity is given."""
        if not others or self._embedder is None:
            return ""
        vectors = (await self._embedder.embed([question, *others])).vectors
        distance = np.abs(vectors[1:] @ vectors[0] - (1.0 if similarity is None else similarity))
        return others[int(np.argmin(distance))]

    async def _search(self, question: str) -> tuple[Article, str]:
        question = self._retriever.mend(question)
        order = _ORDER.search(question)
        if order is not None:
            about = "order-invoice" if _INVOICE.search(question) else "order-status"
            return self._corpus.articles[about], order.group().upper()
        vector = None if self._embedder is None else (await self._embedder.embed([question])).vectors[0]
        return self._corpus.articles[self._retriever.best(question, vector)], ""


def label_in(answer: str) -> str:
    """The label that an answer of `Desk.answer` ends with; empty if there is none."""
    return answer.rpartition(SOURCE)[2] if SOURCE in answer else ""


def quote(article: Article) -> str:
    """The article's title and its first sentences."""
    kept: list[str] = []
    for sentence in _SENTENCE.split(article.body):
        kept.append(sentence)
        if len(" ".join(kept).split()) >= _QUOTED_WORDS:
            break
    return f"{article.title}. " + " ".join(kept)


def _of_order(article: Article, order: str) -> str:
    if article.id == "order-invoice":
        return f"Here is the invoice of order {order} as a PDF. It is kept under Orders, {order}, Invoice."
    state = _STATES[_digest(order) % len(_STATES)]
    return f"Order {order} {state}. Follow it at shop.wickley.example/track with its number."


def _normal(text: str) -> float:
    """A standard normal number that belongs to the text."""
    return NormalDist().inv_cdf(((_digest(text) >> 12) + 0.5) / 2**52)


def _digest(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())
