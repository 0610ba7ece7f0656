"""Pairs of conversations with the same last message: does the answer given in one also fit in the other?

Conversations are drawn from the scripts in talks.txt. The same ones are told in other words, with small talk added or
after another topic; different ones differ in one value that was agreed, in what the assistant asked last, in a turn
that is missing, or in everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cachelayer.types import Turn

SCRIPTS = Path(__file__).with_name("talks.txt")
ASKED = (
    ("Do you have an account with us?", "Are you a customer already?"), ("Is it urgent?", "Does it have to be fast?"),
    ("Did you try it before?", "Have you done this already?"), ("Is that all right for you?", "Does that suit you?"),
    ("Do you need an invoice?", "Shall there be an invoice?"), ("Are you over 65?", "Have you turned 65 yet?"),
    ("Would you share your location?", "May I see where you are?"), ("Is it a present?", "Is this for somebody else?"),
)  # fmt: skip
YES = (
    "yes",
    "yes please",
    "sure",
    "I do",
    "that's right",
    "correct",
    "yep",
    "of course",
    "yes it is",
    "right",
)
NO = (
    "no",
    "no thanks",
    "I don't",
    "not really",
    "nope",
    "no I don't",
    "rather not",
    "it's not",
    "no, not yet",
)
Lines = list[tuple[str, list[str]]]


@dataclass
class Script:
    """One kind of conversation. `part`: 'fit', 'tune' or 'report'."""

    name: str
    part: str
    slots: dict[str, list[str]] = field(default_factory=dict)
    turns: Lines = field(default_factory=list)
    acts: list[list[str]] = field(default_factory=list)
    last: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TalkPair:
    """Two histories and the last message of both."""

    a: tuple[Turn, ...]
    b: tuple[Turn, ...]
    last: str
    same: bool
    kind: str
    part: str


Small = list[tuple[list[str], list[str]]]


def scripts(path: Path = SCRIPTS) -> tuple[list[Script], dict[str, Small]]:
    """The scripts, and by part small talk as (user's wordings, assistant's wordings)."""
    out: list[Script] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("=="):
            name, part = line[2:].split()
            out.append(Script(name, part))
        elif line and not line.startswith("#"):
            head, _, rest = line.partition(": ")
            wordings = [w.strip() for w in rest.split(" | ")]
            if head in ("U", "A"):
                out[-1].turns.append((head, wordings))
            elif head == "ACT":
                out[-1].acts.append(wordings)
            elif head == "L":
                out[-1].last = wordings
            else:
                out[-1].slots[head] = [v.strip() for v in rest.split(",")]
    small = {s.part: [w for _, w in s.turns] for s in out if s.name == "small"}
    said = {part: list(zip(t[::2], t[1::2], strict=True)) for part, t in small.items()}
    return [s for s in out if s.name != "small"], said


class Talker:
    """Draws conversations of one part."""

    def __init__(self, part: str, rng: random.Random) -> None:
        every, small = scripts()
        self._small = [*small["talk"], *small[part]]
        self.scripts = [s for s in every if s.part == part]
        self._rng, self.part = rng, part

    def facts(self, script: Script) -> tuple[dict[str, str], int]:
        """Values of the slots, and which act comes last."""
        return {k: self._rng.choice(v) for k, v in script.slots.items()}, self._rng.randrange(
            len(script.acts)
        )

    def tell(self, script: Script, values: dict[str, str], act: int, skip: int = -1) -> list[Turn]:
        """One telling; the exchange that starts at turn `skip` is left out."""
        lines = [line for i, line in enumerate(script.turns) if not skip <= i < skip + 2 or skip < 0]
        lines = [*lines, ("A", script.acts[act])]
        return [turn(who, self._rng.choice(w).format(**values)) for who, w in lines]

    def with_small_talk(self, turns: list[Turn], times: int) -> list[Turn]:
        """Pleasantries between turns, never after the assistant's last words."""
        out = list(turns)
        for _ in range(times):
            at = self._rng.choice([i for i in range(len(out)) if out[i].role == "user"])
            user, assistant = self._rng.choice(self._small)
            out[at:at] = [turn("U", self._rng.choice(user)), turn("A", self._rng.choice(assistant))]
        return out

    def pair(self, kinds: list[str] | None = None) -> TalkPair:
        """One pair of a kind drawn from `kinds`."""
        kind = self._rng.choice(kinds or [*KINDS, "reworded", "small-talk", "both"])
        script = self._rng.choice(self.scripts)
        values, act = self.facts(script)
        before = self._earlier(script)
        a = [*before, *self.tell(script, values, act)]
        b, same = KINDS[kind](self, script, values, act, before, a)
        a, b = replied(self._rng, a, b, flip=kind == "refusal")
        return TalkPair(tuple(a), tuple(b), self._rng.choice(script.last), same, kind, self.part)

    def _earlier(self, script: Script) -> list[Turn]:
        """Whole other conversations before this one, so that lengths go up to 70 messages."""
        out: list[Turn] = []
        for _ in range(self._rng.choice((0, 0, 0, 0, 1, 1, 2, 4, 7))):
            other = self._rng.choice([s for s in self.scripts if s is not script])
            out += [*self.tell(other, *self.facts(other)), turn("U", "no thanks, something else")]
            out.append(turn("A", "Sure, what else?"))
        return out

    # kinds of pairs: (the other conversation, whether the answer is the same) --------------------------------------

    def reworded(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        b = [*before, *self.tell(script, values, act)]
        return [x if self._rng.random() < 0.4 else y for x, y in zip(a, b, strict=True)], True

    def reworded_all(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        return [*before, *self.tell(script, values, act)], True

    def small_talk(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        return self.with_small_talk(a, self._rng.choice((1, 1, 2, 3))), True

    def both(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        return self.with_small_talk(
            [*before, *self.tell(script, values, act)], self._rng.choice((1, 2))
        ), True

    def value(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        slot = self._rng.choice(sorted(values))
        other = self._rng.choice([v for v in script.slots[slot] if v != values[slot]])
        changed = {**values, slot: other}
        if self._rng.random() < 0.6:  # the same words but for the value
            state = self._rng.getstate()
            seed = self._rng.random()
            a[:] = [*before, *self._seeded(seed, script, values, act)]
            b = self._seeded(seed, script, changed, act)
            self._rng.setstate(state)
            self._rng.random()
        else:
            b = self.tell(script, changed, act)
        b = self.with_small_talk(b, 1) if self._rng.random() < 0.3 else b
        return [*before, *b], False

    def _seeded(self, seed: float, script: Script, values: dict[str, str], act: int) -> list[Turn]:
        self._rng.seed(seed)
        return self.tell(script, values, act)

    def act(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        other = self._rng.choice([i for i in range(len(script.acts)) if i != act])
        b = [*before, *self.tell(script, values, other)]
        keep = self._rng.random() < 0.6
        return [*a[:-1], b[-1]] if keep else b, False

    def refusal(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        """Told again in part; `replied` makes a no of a yes."""
        return self.reworded(script, values, act, before, a)[0], False

    def missing(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        at = self._rng.choice(range(1, len(script.turns) - 1, 2))
        return [*before, *self.tell(script, values, act, skip=at)], False

    def other(
        self, script: Script, values: dict[str, str], act: int, before: list[Turn], a: list[Turn]
    ) -> Made:
        if self._rng.random() < 0.5:
            return [*before, *self.tell(script, *self.facts(script))], False
        another = self._rng.choice([s for s in self.scripts if s is not script])
        return [*before, *self.tell(another, *self.facts(another))], False


Made = tuple[list[Turn], bool]
Making = Callable[[Talker, Script, dict[str, str], int, list[Turn], list[Turn]], Made]
KINDS: dict[str, Making] = {
    "reworded": Talker.reworded, "reworded-all": Talker.reworded_all, "small-talk": Talker.small_talk,
    "both": Talker.both, "value": Talker.value, "act": Talker.act, "missing": Talker.missing,
    "refusal": Talker.refusal, "other": Talker.other,
}  # fmt: skip


def turn(who: str, text: str) -> Turn:
    return Turn("user" if who == "U" else "assistant", text)


def replied(rng: random.Random, a: list[Turn], b: list[Turn], flip: bool) -> tuple[list[Turn], list[Turn]]:
    """Both with a question more, answered alike, or with yes and no where `flip`; often as they are where not."""
    if not flip and rng.random() < 0.5:
        return a, b
    asked, first = rng.choice(ASKED), rng.random() < 0.5
    second = first != flip
    out = []
    for turns, yes in ((a, first), (b, second)):
        more = [turn("A", rng.choice(asked)), turn("U", rng.choice(YES if yes else NO))]
        out.append([*turns[:-1], *more, turns[-1]])
    return out[0], out[1]


def talks(part: str, count: int, seed: int = 0) -> list[TalkPair]:
    """`count` pairs of one part; those that turn out equal word for word count as the same."""
    talker = Talker(part, random.Random(f"{seed}:{part}"))
    found = [talker.pair() for _ in range(count)]
    return [p for p in found if p.same or _words(p.a) != _words(p.b)]


def _words(turns: tuple[Turn, ...]) -> list[str]:
    return [t.text for t in turns]
