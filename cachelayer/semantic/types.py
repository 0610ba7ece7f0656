"""The data of the similar tier: a request (`Ask`), a findable answer (`Entry`), the tier's state."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..types import Candidate, Decision, Query, Reason, Turn
from .inflight import Flight
from .text.characters import plain_characters


class State(StrEnum):
    """Whether the tier serves: only READY does."""

    COLD = "cold"
    WARMING = "warming"
    READY = "ready"
    FAILED = "failed"


Same = Callable[[str, str], Awaitable[bool]]
"""Whether two answers, as text, say the same."""


@dataclass(slots=True)
class Ask:
    """One request, filled in by the lookup with what it found, so that the true answer can teach something later."""

    function: str
    partition: bytes
    """The scope, as a key of the index partition: only entries of the same one are candidates."""
    text: str
    turns: tuple[Turn, ...]
    """Earlier turns of the chat, oldest first."""
    max_error_rate: float
    principal: str = ""
    quarantine: int = 0
    write_quota: int = 0
    checkable: bool = True
    """Whether a hit may be checked by a call of the backend."""
    preview: bool = False
    """Only to explain: nothing is counted or learned."""
    fits: Callable[[Any], bool] = lambda value: True
    """Whether an entry's value may be served to it now: not if it has expired, or is older than the request allows."""
    boards: bool = False
    """Whether it may wait for a near-duplicate in flight, and others for it."""
    flight: Flight | None = None
    """Its own flight, which near-duplicates may wait for."""
    generation: int = 0
    """Which of the tier's models made the query's vector; see `Lookup.generation`."""
    query: Query | None = None
    candidates: list[Candidate] = field(default_factory=list)
    withheld: list[Candidate] = field(default_factory=list)
    """Candidates that must not be served to this principal: quarantined, or hubs."""
    decision: Decision | None = None
    served: Entry | None = None
    """The entry that answers it."""
    judge: Same | None = None
    """The owner's comparison of answers; None for the built-in one."""
    tenant: str | None = None
    """Whose request it is."""
    arrived: float = math.inf
    """When it arrived, by the layer's clock."""
    argument: Any = None
    """The input of the owner's embedder, if what is compared is not text."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds by stage: embed, search, verify."""

    @property
    def subject(self) -> Any:
        """What is embedded: of text, the letters that every model knows."""
        return plain_characters(self.text) if self.argument is None else self.argument


@dataclass(slots=True)
class Entry:
    """A kept answer that can be found by meaning."""

    function: str
    partition: bytes
    text: str
    turns: tuple[Turn, ...]
    answer: str | None
    value: Any
    """What the tier hands back on a hit: the engine's slot."""
    words: int = 0
    """The hash under which it is found by its words alone; 0 if it is not."""


@dataclass(slots=True)
class Explained:
    """What the similar tier would answer; no reason means a hit."""

    reason: Reason | None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    detail: str = ""
