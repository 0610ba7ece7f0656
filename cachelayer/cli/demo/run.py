"""The demo, put together: corpus, traffic, backend, cache, screen and report."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ... import Budgets, CacheLayer, Policy
from ...errors import MissingExtra
from ...exact.redis.url import redacted
from ...semantic.embed.onnx import OnnxEmbedder
from .. import report
from ..terminal import say
from ..traces.intervals import limit
from . import words
from .corpus import Article, Corpus, load
from .desk import Desk, Write, quote
from .drive import Drive
from .httpx_chat import Chat
from .page import Facts, page
from .screen import screen_for
from .stream import Asked, census, traffic
from .tally import Price, Tally

PATIENT = Budgets(store=0.05, embed=0.05, search=0.02, verify=0.02)
"""Desk and cache share the machine here, and a call takes hundreds of milliseconds: waiting longer pays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says; see `cachelayer demo --help`."""

    requests: int = 2000
    concurrency: int = 16
    seed: int = 1
    think: float = 0.3
    max_error_rate: float = 0.01
    semantic: bool = True
    redis: str | None = None
    backend: str | None = None
    model: str | None = None
    report: Path | None = None
    budgets: Budgets = PATIENT

    def __str__(self) -> str:
        backend = (
            f"{self.model} at {redacted(self.backend)}"
            if self.backend
            else f"simulated, {self.think * 1000:.0f} ms a call"
        )
        tiers = ["in process", *(["Redis"] if self.redis else []), *(["similar"] if self.semantic else [])]
        return (
            f"{self.requests:,} requests, {self.concurrency} at a time, seed {self.seed}; "
            f"tiers: {', '.join(tiers)}; error budget {limit(self.max_error_rate)} of similar answers; "
            f"backend: {backend}."
        )


def run(options: Options, out: TextIO = sys.stdout) -> int:
    """Run the demo; the exit status."""
    asyncio.run(demo(options, out))
    return 0


async def demo(options: Options, out: TextIO) -> Tally:
    """Ask the stream, show it, write the report."""
    corpus = load()
    stream = traffic(corpus, options.requests, options.seed)
    chat = Chat(options.backend, options.model or "") if options.backend else None
    try:
        return await _demo(options, out, corpus, stream, chat.write if chat else None)
    finally:
        if chat is not None:
            await chat.aclose()


async def _demo(
    options: Options, out: TextIO, corpus: Corpus, stream: list[Asked], write: Write | None
) -> Tally:
    embedder = await _embedder(options, out)
    desk = Desk(corpus, embedder, think=options.think, write=write)
    counted = census(stream)
    say(f"The help desk of Wickley, {len(corpus.articles)} articles.\n{words.traffic(counted)}.", out)
    await desk.prepare()
    if write is not None:
        await desk.answer(stream[0].text)
        desk.worked.clear()
    layer = CacheLayer(
        policy=Policy(
            semantic=options.semantic, max_error_rate=options.max_error_rate, budgets=options.budgets
        ),
        store=options.redis,
    )

    @layer.cached(name="wickley.ask", version=options.model or "quote")
    async def ask(question: str) -> str:
        return await desk.answer(question)

    price = Price()
    tally = Tally(len(stream))
    tally.cost_per_call = _cost_per_call(corpus, price)
    async with layer:
        with screen_for(tally, out) as screen:
            drive = Drive(ask, desk, stream, tally, contrasts=corpus.contrasts, show=screen.show)
            await drive.run(options.concurrency)
            await layer.flush()
            tally.backend_calls = len(desk.worked)
    _close(options, out, tally, page(tally, Facts(str(options), counted, price, options.semantic), corpus))
    return tally


async def _embedder(options: Options, out: TextIO) -> OnnxEmbedder | None:
    """The desk's own search takes one too; where nothing is compared by meaning it does without."""
    embedder = OnnxEmbedder()
    try:
        await embedder.start()
    except MissingExtra as missing:
        if options.semantic:
            feature = "comparing by meaning (--no-semantic goes without)"
            raise MissingExtra(feature, str(missing.value), missing.extra, missing.broken) from None
        say(f"The desk searches its articles by spelling alone: {missing}.", out)
        return None
    return embedder


def _close(options: Options, out: TextIO, tally: Tally, document: str) -> None:
    if tally.failed:
        print(f"{tally.failed:,} requests failed at the backend and are not counted", file=out)
    if options.report is not None:
        report.write(options.report, document)
        print(f"\nReport: {options.report}", file=out)


def _cost_per_call(corpus: Corpus, price: Price) -> float:
    """The mean over all articles of a prompt with the article and a short question, and the answer to it."""

    def of(article: Article) -> float:
        return price.of(len(article.title) + len(article.body) + _QUESTION, len(quote(article)))

    return sum(map(of, corpus.articles.values())) / len(corpus.articles)


_QUESTION = 60
"""Characters of a usual question."""
