"""What the similar tier is asked, what it knows of an entry, and whether it serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..types import Candidate, Decision, Query, Reason, Turn
from .inflight import Flight


class State(StrEnum):
    """Whether the tier serves."""

    COLD = "cold"
    WARMING = "warming"
    READY = "ready"
    FAILED = "failed"


Same = Callable[[str, str], Awaitable[bool]]
"""Whether two answers, as text, say the same."""


@dataclass(slots=True)
class Ask:
    """One request as the tier sees it, and what it found, for learning from the true answer."""

    function: str
    partition: bytes
    text: str
    turns: tuple[Turn, ...]
    max_error_rate: float
    principal: str = ""
    quarantine: int = 0
    write_quota: int = 0
    checkable: bool = True
    """Whether a hit may be asked again behind the caller's back."""
    preview: bool = False
    """Only to explain: nothing is accounted."""
    boards: bool = False
    """Whether it may wait for a near-duplicate in flight, and be waited for."""
    flight: Flight | None = None
    """Its own, which near-duplicates may wait for."""
    generation: int = 0
    """Of the model that made the query's vector."""
    query: Query | None = None
    candidates: list[Candidate] = field(default_factory=list)
    withheld: list[Candidate] = field(default_factory=list)
    """Candidates that this asker may not be served: in quarantine, or hubs."""
    decision: Decision | None = None
    judge: Same | None = None
    """The owner's, of answers; None where they are compared here."""
    argument: Any = None
    """What is compared where that is no text: the owner's embedder reads it."""
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def subject(self) -> Any:
        """What is embedded."""
        return self.text if self.argument is None else self.argument


@dataclass(slots=True)
class Entry:
    """What the tier knows of a kept answer."""

    function: str
    partition: bytes
    text: str
    turns: tuple[Turn, ...]
    answer: str | None
    value: Any
    """The engine's own: the slot."""
    words: int = 0
    """The key under which it is found by its words; 0 for none."""


@dataclass(slots=True)
class Explained:
    """What the similar tier would say: no reason means a hit."""

    reason: Reason | None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    detail: str = ""
