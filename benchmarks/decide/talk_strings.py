"""Conversations strung together from single requests: wider in words than the scripts, looser in sense.

A user asks one thing after another, the assistant answers in a stock phrase that takes the request up and offers
something. The same ones are reworded turn by turn or hold small talk; different ones hold a one-edit trap in one turn,
another offer at the end, lack a turn or have one exchanged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from cachelayer.types import Turn

from .rewordings import Reworder
from .sources import texts
from .talks import Talker, TalkPair, replied
from .traps import Trapper
from .wordnet import WordNet

REPLIES = (
    "I looked into it: {x}.", "Regarding {x}, here is what I found.", "Sure, about {x}:", "I can help with {x}.",
    "Let me see... {x}. There are two options, the first is cheaper.", "That is done: {x}.", "{x}? Yes, that works.",
    "For {x} I need a little more information.", "All right, {x}. It takes about a day.", "Noted: {x}.",
    "Good question. As for {x}, it depends on where you live and on what you have agreed so far.",
)  # fmt: skip
OFFERS = (
    ("Shall I go ahead?", "Do you want me to proceed?", "Should I do it now?"),
    ("Shall I send it by mail?", "Do you want it in your inbox?"),
    ("Shall I cancel it?", "Do you want it cancelled?"),
    ("Shall I explain it?", "Would you like an explanation?"),
    ("Shall I compare prices?", "Do you want to see what others charge?"),
    ("Which date suits you?", "When would it be good for you?"),
    ("Is there anything I should mind?", "Any special wishes?"),
    ("Do you want the short version?", "Shall I keep it brief?"),
)
LAST = ("yes", "yes please", "ok", "sure", "no", "why?", "how much is it?", "and how long does it take?",
"tell me more",
        "what about the other one?", "can you do it now?", "what would you do?", "is that safe?")  # fmt: skip


class Stringer:
    """Draws pairs of one part."""

    def __init__(self, part: str, rng: random.Random, data: Path, net: WordNet) -> None:
        self._rng, self.part = rng, part
        self._texts = [t.text for t in texts(data) if t.part == part and 4 <= len(t.text.split()) <= 20]
        self._reword, self._trap = Reworder(part, net), Trapper(part, net)
        self._talker = Talker(part, rng)

    def pair(self) -> TalkPair:
        rng = self._rng
        asked = [rng.choice(self._texts) for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6, 12, 25)))]
        offer = rng.randrange(len(OFFERS))
        a = self._tell(asked, offer)
        kind = rng.choice(
            (
                "reworded",
                "small-talk",
                "both",
                "reworded-all",
                "value",
                "value",
                "act",
                "missing",
                "refusal",
                "other",
            )
        )
        made: dict[str, Callable[[], list[Turn]]] = {
            "reworded": lambda: self._other_words(a, 0.4), "reworded-all": lambda: self._other_words(a, 1.0),
            "small-talk": lambda: self._talker.with_small_talk(a, rng.choice((1, 2, 3))),
            "both": lambda: self._talker.with_small_talk(self._other_words(a, 0.6), rng.choice((1, 2))),
            "refusal": lambda: self._other_words(a, 0.3),
            "value": lambda: self._value(a), "missing": lambda: self._missing(a),
            "act": lambda: [*a[:-1], self._offer((offer + 1 + rng.randrange(len(OFFERS) - 1)) % len(OFFERS), a[-1])],
            "other": lambda: self._tell([*asked[:-1], rng.choice(self._texts)], offer),
        }  # fmt: skip
        a, b = replied(rng, a, made[kind](), flip=kind == "refusal")
        same = kind in ("reworded", "reworded-all", "small-talk", "both")
        return TalkPair(tuple(a), tuple(b), rng.choice(LAST), same, kind, self.part)

    def _tell(self, asked: list[str], offer: int) -> list[Turn]:
        out = []
        for text in asked:
            reply = self._rng.choice(REPLIES).format(x=text.rstrip("?.! ").lower())
            out += [Turn("user", text), Turn("assistant", reply)]
        return [*out[:-1], self._offer(offer, out[-1])]

    def _offer(self, offer: int, before: Turn) -> Turn:
        plain = before.text
        for wordings in OFFERS:
            for wording in wordings:
                plain = plain.replace(" " + wording, "")
        return Turn("assistant", f"{plain} {self._rng.choice(OFFERS[offer])}")

    def _other_words(self, a: list[Turn], share: float) -> list[Turn]:
        out = []
        for turn in a:
            text = turn.text
            if self._rng.random() < share:
                text = self._reword(text, self._rng) if turn.role == "user" else self._again(text)
            out.append(Turn(turn.role, text))
        return out

    def _again(self, text: str) -> str:
        """Another stock phrase around the same request, another wording of the same offer."""
        for phrase in REPLIES:
            head, _, tail = phrase.partition("{x}")
            found = re.fullmatch(re.escape(head) + r"(.+?)" + re.escape(tail) + r"(| .*)", text)
            if found:
                text = self._rng.choice(REPLIES).format(x=found[1]) + found[2]
                break
        for wordings in OFFERS:
            for wording in wordings:
                if text.endswith(wording):
                    return text.removesuffix(wording) + self._rng.choice(wordings)
        return text

    def _value(self, a: list[Turn]) -> list[Turn]:
        """One request trapped, in the user's words and in the assistant's."""
        at = self._rng.randrange(0, len(a), 2)
        edited = self._trap(a[at].text, self._rng)
        changed = edited[0] if edited else self._rng.choice(self._texts)
        out = list(a)
        out[at] = Turn("user", changed)
        old = a[at].text.rstrip("?.! ").lower()
        out[at + 1] = Turn("assistant", a[at + 1].text.replace(old, changed.rstrip("?.! ").lower()))
        return self._other_words(out, 0.4) if self._rng.random() < 0.4 else out

    def _missing(self, a: list[Turn]) -> list[Turn]:
        if len(a) < 4:
            return self._tell([self._rng.choice(self._texts)], 0)
        at = self._rng.randrange(0, len(a) - 2, 2)
        return [*a[:at], *a[at + 2 :]]


def strings(part: str, count: int, data: Path, wordnet: Path, seed: int = 0) -> list[TalkPair]:
    """`count` pairs of one part."""
    stringer = Stringer(part, random.Random(f"strings:{seed}:{part}"), data, WordNet(wordnet))
    return [p for p in (stringer.pair() for _ in range(count)) if p.same or p.a != p.b]
