"""Shared data types: where an answer came from, why a tier missed, what is kept with an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # every checker knows it, and its default lets `Outcome` stand alone
    from typing_extensions import TypeVar

    Answer = TypeVar("Answer", covariant=True, default=Any)
else:
    from typing import TypeVar

    Answer = TypeVar("Answer")

Vectors = NDArray[np.float32]
"""Row vectors of shape (n, d), float32, L2-normalized."""


class Undivided:
    """Shared by deep copies: frameworks copy models and tools, and the copies must hold the same layer."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Source(StrEnum):
    """Who produced the answer that the caller got."""

    MEMORY = "memory"
    REDIS = "redis"
    INDEX = "index"
    COALESCED = "coalesced"
    STALE = "stale"
    BACKEND = "backend"
    BYPASS = "bypass"


class Reason(StrEnum):
    """Why a tier did not answer, or why an answer was not kept. Every miss carries one."""

    # lookups
    ABSENT = "absent"
    EXPIRED = "expired"
    INVALIDATED = "invalidated"
    # the request itself
    BYPASS = "bypass"
    NO_CACHE = "no_cache"
    NO_STORE = "no_store"
    NO_TENANT = "no_tenant"
    NOT_KEYABLE = "not_keyable"
    CHANGED = "changed"  # somebody changed its arguments while it waited for its turn
    RECURSIVE = "recursive"  # the function called itself with the same arguments
    SAMPLED = "sampled"  # temperature > 0 and Policy(sampled=False)
    ONLY_IF_CACHED = "only_if_cached"  # its caller wanted what is kept, and nothing else
    # similar tier
    OFF = "off"
    WARMING = "warming"
    NOT_TEXT = "not_text"
    TOO_LONG = "too_long"
    UNKNOWN_WORD = "unknown_word"  # one that the embedder's vocabulary cannot spell
    EMPTY_TEXT = "empty_text"
    NO_CANDIDATE = "no_candidate"
    GUARD = "guard"
    UNSURE = "unsure"  # the calibrated confidence does not fit the error budget
    STOPPED = "stopped"  # the error budget was broken and the similar tier is off
    QUARANTINED = "quarantined"
    TIME_SENSITIVE = "time_sensitive"  # Policy(fresh="bypass")
    BAD_VECTOR = "bad_vector"
    # faults and limits
    BUDGET = "budget"
    BREAKER_OPEN = "breaker_open"
    OVERLOAD = "overload"
    FAULT = "fault"
    CORRUPT = "corrupt"
    SCHEMA = "schema"
    UNTRUSTED = "untrusted"  # its signature is missing, wrong, made with an unknown key or for another entry
    RELOADED = "reloaded"  # the server read it back from disk: a later invalidation may be missing
    FOREIGN_CLASS = "foreign_class"  # the answer's class is not on the layer's allow-list
    # admission: why an answer was not stored
    ERROR = "error"
    INCOMPLETE = "incomplete"
    EMPTY_ANSWER = "empty_answer"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    REFUSED = "refused"
    VETOED = "vetoed"
    OVERSIZE = "oversize"
    NOT_KEEPABLE = "not_keepable"
    TTL_ZERO = "ttl_zero"


Match = Literal["exact", "similar"]


@dataclass(frozen=True, slots=True)
class Saved:
    """What a hit saved: backend seconds, tokens, and money where a price is known."""

    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0


@dataclass(slots=True)
class Outcome(Generic[Answer]):
    """An answer and how it came to be.

    To type checkers, `Outcome[str]` is one whose answer is a str. `misses` maps a tier's name to the reason
    why it did not answer; `timings` maps a stage's name to seconds. For a stream `answer` is the iterator.
    """

    answer: Answer
    id: str
    source: Source
    match: Match | None = None
    similarity: float | None = None
    confidence: float | None = None
    age: float | None = None
    misses: Mapping[str, Reason] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    saved: Saved = field(default_factory=Saved)
    stored: Reason | None = None
    """None if the answer was kept or came from a tier, else why it was not kept."""


PART = "\x01"
"""How a tag begins that says what an answer was built on."""


@dataclass(frozen=True, slots=True)
class Record:
    """An entry as it travels outside the process (Redis, snapshots). Times are Unix seconds."""

    key: bytes
    """xxh3-128 digest of `canonical`, seeded per deployment; 16 bytes."""
    canonical: bytes
    """The full canonical request; compared on every read."""
    payload: bytes
    """The answer as the codec wrote it."""
    created: float
    fresh_until: float
    stale_until: float
    tags: tuple[str, ...] = ()
    scope: bytes = b""
    """Canonical bytes of the scope: the index partition."""
    text: str | None = None
    """What is compared by meaning; None if the entry is exact-only."""
    function: str = ""
    seconds: float = 0.0
    tokens: int = 0
    principal: str = ""
    id: int = 0
    """The number in outcomes' ids, the same in every process; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What an embedder made of n texts."""

    vectors: Vectors
    """(n, d) float32, L2-normalized rows."""
    complete: NDArray[np.bool_]
    """(n,): False if the text exceeded the model's window, so that the vector covers only a part."""


class Turn(NamedTuple):
    """One message of a conversation: role ('system', 'user', 'assistant', 'tool') and its text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A request as the similar tier sees it."""

    text: str
    vector: NDArray[np.float32]
    """(d,) float32, L2-normalized."""
    turns: tuple[Turn, ...] = ()
    """Earlier turns, oldest first; empty outside conversations."""
    principal: str = ""
    """Who asks, where callers are named."""
    checkable: bool = True
    """Whether a hit may be checked by a backend call; hits that may not are left out of all estimates."""
    readable: bool = False
    """Whether a candidate may still be read closely (token by token) beside this request before it is served."""
    close: tuple[int, tuple[float, ...]] | None = None
    """The entry of the candidate that was read closely beside this request, and the measures from that reading."""
    before: Query | None = None
    """This request before that reading."""

    @property
    def first(self) -> Query:
        """The request as it was before any closer reading."""
        return self if self.before is None else self.before


@dataclass(frozen=True, slots=True)
class Findable:
    """What makes a stored entry findable by meaning elsewhere: in another process, or after a restart."""

    key: bytes
    """The key of its record; 16 bytes."""
    canonical: bytes
    partition: bytes
    function: str
    text: str
    until: float
    """When it expires, in Unix seconds."""
    tenant: str | None = None
    turns: tuple[Turn, ...] = ()
    identity: str = ""
    """Identity of the embedder that made the vector."""
    vector: NDArray[np.float32] | None = None
    """(d,) float32, L2-normalized; None if it is kept elsewhere."""


class Candidate(NamedTuple):
    """A neighbour that the index found, with what its entry knows."""

    entry: int
    similarity: float
    text: str
    answer: str | None
    """The stored answer as text, for comparison of answers; None if it has none."""
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a decider made of the candidates: the entry to serve, or why none."""

    entry: int | None
    confidence: float
    """Calibrated probability that the served answer is right; of the best candidate where none is served."""
    similarity: float
    reason: Reason | None = None
    detail: str = ""
    """The guard or rule that decided, for `explain`."""
    shadow: bool = False
    """True if this hit is to be checked by a backend call in the background."""
    doubted: int | None = None
    """If none is served yet: the entry about which a closer reading of both texts is to decide."""
