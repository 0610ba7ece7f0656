"""Pairs and conversations written by hand on topics that nothing was fitted to: blind_*.txt, late_*.txt."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from cachelayer.types import Turn

from .talks import Talker, TalkPair, turn

TALKS = Path(__file__).with_name("blind_talks.txt")
LATE = Path(__file__).with_name("late_talks.txt")
TRUE = ("reworded", "reworded-all", "small-talk", "both")
TRAPS = ("changed", "changed", "missing", "other")


@dataclass
class Talk:
    """One conversation: per turn who speaks, wordings of one meaning, and turns of another meaning."""

    name: str
    part: str
    turns: list[tuple[str, list[str], list[str]]] = field(default_factory=list)
    last: list[str] = field(default_factory=list)


def read(path: Path = TALKS) -> list[Talk]:
    """The conversations of a file."""
    out: list[Talk] = []
    for line in path.read_text("utf-8").splitlines():
        head, _, rest = line.partition(" ")
        parts = [p.strip() for p in rest.split(" | ")]
        if head == "==":
            name, part = rest.split()
            out.append(Talk(name, part))
        elif head in ("U:", "A:"):
            out[-1].turns.append((head[0], parts, []))
        elif head == "!":
            out[-1].turns[-1][2].extend(parts)
        elif head == "L:":
            out[-1].last = parts
    return out


class Pairer:
    """Draws pairs of the conversations: true ones and traps alike often."""

    def __init__(self, rng: random.Random, found: list[Talk]) -> None:
        self._rng, self._talks, self._talker = rng, found, Talker("report", rng)

    def pair(self) -> TalkPair:
        """One pair; a third of them with whole other conversations before."""
        rng = self._rng
        talk, kind = rng.choice(self._talks), rng.choice([*TRUE, *TRAPS])
        before: list[Turn] = []
        for _ in range(rng.choice((0, 0, 0, 1, 2, 6))):
            before += self._told(rng.choice([t for t in self._talks if t is not talk]))
            before += [turn("U", "not now, something else"), turn("A", "Of course, what is it?")]
        first = [0] * len(talk.turns)
        a, b = self._lines(talk, first), self._lines(talk, first)
        if kind in ("reworded", "reworded-all", "both"):
            every = kind == "reworded-all"
            chosen = [i for i in range(len(b)) if every or rng.random() < 0.4] or [rng.randrange(len(b))]
            for i in chosen:
                b[i] = turn(talk.turns[i][0], rng.choice(talk.turns[i][1][1:]))
        if kind in ("small-talk", "both"):
            b = self._talker.with_small_talk(b, rng.choice((1, 2)))
        if kind == "changed":
            at = rng.choice([i for i, (_, _, other) in enumerate(talk.turns) if other])
            b[at] = turn(talk.turns[at][0], rng.choice(talk.turns[at][2]))
        elif kind == "missing":
            at = rng.choice(range(0, len(b) - 1, 2))
            b = [*b[:at], *b[at + 2 :]] if at else b[2:]
        elif kind == "other":
            b = self._told(rng.choice([t for t in self._talks if t is not talk]))
        last = rng.choice(talk.last)
        return TalkPair((*before, *a), (*before, *b), last, kind in TRUE, kind, talk.part)

    def _told(self, talk: Talk) -> list[Turn]:
        return self._lines(talk, [self._rng.randrange(len(w)) for _, w, _ in talk.turns])

    @staticmethod
    def _lines(talk: Talk, wording: list[int]) -> list[Turn]:
        return [turn(who, wordings[i]) for (who, wordings, _), i in zip(talk.turns, wording, strict=True)]


def blind_talks(part: str, count: int, seed: int = 0, path: Path = TALKS) -> list[TalkPair]:
    """`count` pairs of the conversations of one part of a file, half of them traps."""
    pairer = Pairer(random.Random(f"blind:{seed}"), [t for t in read(path) if t.part == part])
    return [pairer.pair() for _ in range(count)]
