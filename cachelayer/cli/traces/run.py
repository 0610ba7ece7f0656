"""A trace through a real `CacheLayer`, one request after the other, with the trace's own clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...layer import CacheLayer
from ...policy import Budgets
from ...protocols import Embedder
from ...semantic.answers import normalize
from ...semantic.embed.checks import guessed, shows_tokens
from ...testing import ManualClock
from ...types import Embedded, Outcome, Vectors
from .read import Asked
from .settings import Config
from .tally import EXACT, FILLED, MISS, RIGHT, WRONG, Mistake, Tally

BLOCK = 64
PATIENT = Budgets(store=60, embed=60, search=60, verify=60)
"""Where none are given: nobody waits in a replay, and a busy machine must not turn hits into misses."""
READ = 4096
"""Texts of which what was read token by token is remembered: some 80 MB of questions."""
Progress = Callable[[int], None]
"""Called with the number of requests done."""


class Remembered:
    """An embedder that has seen all texts of a trace before: each is embedded once for all runs.

    What else is asked of it, the started embedder behind it does.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, int] = {}
        self._vectors: Vectors = np.zeros((0, 0), np.float32)
        self._complete = np.zeros(0, bool)
        self._tokens: dict[str, Any] = {}

    @property
    def identity(self) -> str:
        """The embedder's own."""
        return self._embedder.identity

    @property
    def dimension(self) -> int:
        """The embedder's own."""
        return self._embedder.dimension

    async def learn(self, texts: Sequence[str], progress: Progress) -> None:
        """Embed all texts, block by block."""
        distinct = list(dict.fromkeys(texts))
        made = []
        for start in range(0, len(distinct), BLOCK):
            made.append(await self._embedder.embed(distinct[start : start + BLOCK]))
            progress(min(start + BLOCK, len(distinct)))
        self._rows = {text: i for i, text in enumerate(distinct)}
        self._vectors = np.concatenate([e.vectors for e in made])
        self._complete = np.concatenate([e.complete for e in made])

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32; rows of length 1."""
        return self._vectors[[self._rows[text] for text in texts]]

    async def start(self) -> None:
        """Nothing to load: everything was embedded before."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """What was made of these texts; others are embedded now."""
        rows = [self._rows.get(text, -1) for text in texts]
        if -1 in rows:
            return await self._embedder.embed(texts)
        return Embedded(self._vectors[rows], self._complete[rows])

    @property
    def shows_tokens(self) -> bool:
        """Whether the embedder reads texts token by token."""
        return shows_tokens(self._embedder)

    async def read_tokens(self, texts: Sequence[str]) -> list[Any]:
        """What the embedder reads; of the texts read last, once for all runs."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        known = {text: self._tokens[text] for text in texts if text in self._tokens}
        if missing:
            read = await self._embedder.read_tokens(missing)  # type: ignore[attr-defined]
            known |= zip(missing, read, strict=True)
        self._tokens |= known
        while len(self._tokens) > READ:
            del self._tokens[next(iter(self._tokens))]
        return [known[text] for text in texts]

    def guess(self, text: str) -> Any:
        """The embedder's guess, if it makes any."""
        return guessed(self._embedder, text)

    async def aclose(self) -> None:
        """The embedder serves other runs yet."""


class Run:
    """One configuration over one trace, from an empty cache."""

    def __init__(self, asked: Sequence[Asked], config: Config, embedder: Embedder | None) -> None:
        self._asked, self._clock = asked, ManualClock(asked[0].at or 0.0)
        self._now: ContextVar[int] = ContextVar("place")
        policy = config.policy
        if "budgets" not in config.given:
            policy = policy.override(budgets=PATIENT)
        self._layer = CacheLayer(
            policy=policy, clock=self._clock, embedder=embedder,
            semantic=policy.semantic if embedder is not None else False,
        )  # fmt: skip
        self._truths = truths(asked)
        self._served = 0
        self.tally = Tally(config.name, "layer", policy.max_error_rate)
        wrap = self._layer.wrap
        self._ask = wrap(self._answer, name="replay")
        self._chat = wrap(self._reply, name="replay_chat")

    async def _answer(self, question: str, scope: str) -> str:
        return self._backend()

    async def _reply(self, messages: list[dict[str, str]], scope: str) -> str:
        return self._backend()

    def _backend(self) -> str:
        """The answer to the request that is under way, or, for a check, to the one it was made for."""
        self._served += 1
        return self._asked[self._now.get()].answer

    async def run(self, progress: Progress) -> Tally:
        """Ask everything; what is written behind is waited for after each request."""
        async with self._layer as layer:
            for place, one in enumerate(self._asked):
                if one.at is not None and one.at > self._clock.now:
                    self._clock.advance(one.at - self._clock.now)
                self._now.set(place)
                before = self._served
                outcome = await self._request(one)
                await layer.flush()
                if outcome.match is not None and self._served > before:
                    self.tally.checked.append(place)
                self._count(place, one, outcome)
                progress(place + 1)
            self.tally.state = _state(layer.stats())
        return self.tally

    async def _request(self, one: Asked) -> Outcome:
        if not one.turns:
            return await self._ask.outcome(one.text, one.scope)
        said = [*one.turns, ("user", one.text)]
        return await self._chat.outcome([{"role": role, "content": text} for role, text in said], one.scope)

    def _count(self, place: int, one: Asked, outcome: Outcome) -> None:
        tally, right = self.tally, one.truth in self._truths[outcome.answer]
        if not one.counted:
            tally.path.append(FILLED)
        elif outcome.match == "similar":
            tally.path.append(RIGHT if right else WRONG)
            tally.confidences.append((place, outcome.confidence or 0.0, right))
            if not right:
                tally.mistakes.append(Mistake(place, outcome.answer, outcome.similarity, outcome.confidence))
        elif outcome.match == "exact":
            tally.path.append(EXACT)
            tally.changed += [] if right else [place]
        else:
            tally.path.append(MISS)
            if "similar" in outcome.misses:
                tally.reasons[str(outcome.misses["similar"])] += 1


def truths(asked: Sequence[Asked]) -> dict[str, set[str]]:
    """For each answer that a backend gave, the truths it stands for."""
    said = {one.answer: normalize(one.answer) for one in asked}
    found: dict[str, set[str]] = defaultdict(set)
    for one in asked:
        found[said[one.answer]].update((one.truth, said[one.answer]))
    return {answer: found[text] for answer, text in said.items()}


def _state(stats: dict[str, Any]) -> dict[str, Any]:
    """What the layer says of its error budget: state, estimate and interval of the function."""
    decided = stats["similar"].get("decider", {})
    return {name: bounds for name, bounds in decided.items() if isinstance(bounds, dict)}
