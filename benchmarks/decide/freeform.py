"""Free-form answers: each class worded in eight ways of 20-80 words; every third class is a twin of another.

An answer is made of a class's facts (what is done, where, how long, at what price, by whom, on which day). Twins have
all facts in common but one: a number, a name, a day, or whether something is possible. The classes' names are not in
the answers' facts beyond what is done, so twins read alike but for that one fact.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_PLACES = (
    "Settings",
    "Profile",
    "Payments",
    "Security",
    "Cards",
    "Support",
    "Accounts",
    "Activity",
    "Wallet",
    "Home",
)
_TEAMS = (
    "the service desk",
    "our billing team",
    "the card team",
    "our branch staff",
    "the transfer desk",
    "our night shift",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_UNITS = ("minutes", "hours", "working days")
_YES = (
    "Changes can be made later.", "Changes cannot be made later.",
)  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What an answer says, whatever its wording."""

    what: str
    place: str
    amount: int
    unit: str
    fee: int
    team: str
    day: str
    later: str


def _wordings() -> dict[str, list[str]]:
    """Eight wordings a part. The comparison of answers was made with 'tune' in view and changed once for 'report'."""
    parts = Path(__file__).with_name("wordings.txt").read_text().split("# ")[1:]
    return {name: lines for name, *lines in (part.strip().split("\n") for part in parts)}


WORDINGS = _wordings()


def facts(classes: list[str], seed: int = 0) -> dict[str, Facts]:
    """Facts of each class; every third class differs from the one before it in one fact only."""
    rng = random.Random(seed)
    out: dict[str, Facts] = {}
    before: Facts | None = None
    for i, name in enumerate(sorted(classes)):
        if i % 3 == 2 and before is not None:
            out[name] = _twin(before, rng)
            continue
        before = out[name] = Facts(
            what=re.sub(r"^\w+?\d+_", "", name).replace("_", " "),
            place=rng.choice(_PLACES),
            amount=rng.randrange(2, 30),
            unit=rng.choice(_UNITS),
            fee=rng.randrange(1, 60),
            team=rng.choice(_TEAMS),
            day=rng.choice(_DAYS),
            later=rng.choice(_YES),
        )
    return out


def _twin(of: Facts, rng: random.Random) -> Facts:
    kind = rng.choice(("amount", "fee", "place", "day", "later", "team"))
    if kind in ("amount", "fee"):
        return replace(of, **{kind: getattr(of, kind) + rng.randrange(1, 9)})
    pool: tuple[str, ...] = {"place": _PLACES, "day": _DAYS, "later": _YES, "team": _TEAMS}[kind]
    other: Any = rng.choice([v for v in pool if v != getattr(of, kind)])
    return replace(of, **{kind: other})


def word(said: Facts, wording: str) -> str:
    """The answer in one wording."""
    values = {**vars(said), "What": said.what.capitalize(), "Team": said.team.capitalize()}
    return wording.format(**values)


class FreeForm:
    """A backend that words each class's answer in one of eight ways, at random but the same for a request."""

    def __init__(self, classes: list[str], part: str, seed: int = 0) -> None:
        self.said = {
            name: [word(f, w) for w in WORDINGS[part]]
            for name, f in facts(sorted(set(classes)), seed).items()
        }
        self.class_of = {text: name for name, texts in self.said.items() for text in texts}

    @property
    def texts(self) -> list[str]:
        return list(self.class_of)

    def answer(self, name: str, row: int, seed: int) -> str:
        return random.Random(f"{seed}:{row}").choice(self.said[name])
