"""The interfaces of pluggable parts. Each has a contract suite in `tests/contracts`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .types import Candidate, Decision, Embedded, Findable, Query, Record, Vectors


@runtime_checkable
class Clock(Protocol):
    """The time, in seconds. Passed in, so that tests can set it."""

    def monotonic(self) -> float:
        """Never goes backwards; TTLs in process count by it."""

    def time(self) -> float:
        """Unix time; what leaves the process is stamped with it."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, off the event loop. Constructing one does no I/O; `start` loads the model."""

    @property
    def identity(self) -> str:
        """Model, revision, pooling and quantization. Vectors of different identities are never compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while it is unknown."""

    async def start(self) -> None:
        """Load the model. Until then lookups miss with reason WARMING; if it raises, with reason FAULT."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One vector per text, in order. What it raises is a miss of these texts."""

    async def aclose(self) -> None:
        """Release the model."""


@runtime_checkable
class VectorIndex(Protocol):
    """Inner-product search over normalized vectors, in partitions that a search never crosses.

    Synchronous and thread-safe.
    """

    dimension: int

    def add(self, partition: bytes, ids: NDArray[np.int64], vectors: Vectors) -> None:
        """Add n vectors (n, d) under n unique ids.

        Raises ValueError for a wrong dimension, NaN, zero or unnormalized vectors.
        """

    def remove(self, ids: NDArray[np.int64]) -> int:
        """Remove those of `ids` that are known; returns how many were."""

    def search(
        self, partition: bytes, queries: Vectors, k: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """For queries (q, d) the scores (q, k), descending, and ids (q, k), padded with -inf and -1."""

    def size(self, partition: bytes) -> int:
        """Number of vectors in one partition."""

    def __len__(self) -> int: ...


@runtime_checkable
class Verifier(Protocol):
    """Estimates the probability that two requests have the same answer."""

    identity: str

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> Sequence[tuple[float, str]]:
        """Per candidate a probability in [0, 1] and the name of the guard that objects, or ''.

        Has no effects, and takes microseconds: it runs on the event loop.
        """


@runtime_checkable
class Decider(Protocol):
    """Chooses among candidates so that the share of wrong answers among those served stays under the bound."""

    def decide(self, function: str, scope: bytes, query: Query, candidates: Sequence[Candidate],
               max_error_rate: float) -> Decision:  # fmt: skip
        """The entry to serve, or why none. A hit counts against the error budget."""

    def preview(self, function: str, scope: bytes, query: Query, candidates: Sequence[Candidate],
                max_error_rate: float) -> Decision:  # fmt: skip
        """What `decide` would return now; nothing is counted."""

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None:
        """Learn from the true answer to a query, given the candidates it had.

        `served` is None for a miss that the backend answered, and the served entry for a shadow check of a hit.
        """

    def stored(self, entry: int, function: str, scope: bytes, query: Query, answer: str) -> None:
        """A new entry became findable."""

    def forget(self, entry: int) -> None:
        """An entry is gone."""

    def report_wrong(self, entry: int) -> None:
        """Somebody reported that this entry's answer is wrong."""

    def stats(self) -> dict[str, Any]:
        """What is known of each function, by name, for `layer.stats()`."""


@runtime_checkable
class Leaving(Protocol):
    """A decider that notices entries which must not be served again."""

    def leaving(self) -> Sequence[int]:
        """Entries found wrong since the last call, for the index to drop."""


@runtime_checkable
class Hearing(Protocol):
    """A decider that compares prose answers by meaning."""

    def hearing(self) -> Callable[[str, NDArray[np.float32]], None]:
        """Called before a prose answer is embedded; what it returns is told its vector (d,), before `observe` and
        `stored`."""


@runtime_checkable
class Retyping(Protocol):
    """A decider that recognizes, by words alone, a request that differs from an earlier one only in how it is typed."""

    def again(self, function: str, scope: bytes, query: Query, candidates: Sequence[Candidate],
              max_error_rate: float) -> Decision | None:  # fmt: skip
        """`decide` among candidates with the query's words, without its vector; None if the vector is needed."""


@runtime_checkable
class Glancing(Protocol):
    """A decider that may decide by a guess at a query's vector, before the model makes it."""

    def glances(self, function: str, scope: bytes, max_error_rate: float, *, counted: bool) -> bool:
        """Whether `glance` is worth while there for a request that is asked, or only looked at unless `counted`."""

    def glance(self, function: str, scope: bytes, query: Query, candidates: Sequence[Candidate],
               max_error_rate: float, *, counted: bool) -> Decision | None:  # fmt: skip
        """`decide` for a query whose vector is a guess, or `preview` unless `counted`; None if the vector is needed."""


@runtime_checkable
class Judged(Protocol):
    """A decider that knows which answers say the same, and that learns from people's verdicts."""

    def agrees(self, function: str, scope: bytes, entry: int, answer: str) -> bool | None:
        """Whether an entry's answer says the same as `answer`; None if that cannot be decided."""

    def verdict(self, function: str, confidence: float, right: bool, detail: str) -> None:
        """A person's verdict on a hit, chosen because it was doubtful; `detail` is that of its decision."""


@runtime_checkable
class Sampling(Protocol):
    """A decider that draws the hits to check at random, so that each check stands for others."""

    def unchecked(self, function: str, scope: bytes, query: Query, served: int) -> None:
        """A check of this hit is over. Unless `observe` was told of it, it came to nothing: the backend failed, or gave
        no text."""


@runtime_checkable
class Supposing(Protocol):
    """A decider that judges a call in flight as the entry that it will be."""

    def supposing(
        self, function: str, scope: bytes, query: Query, flights: Sequence[tuple[int, Query]]
    ) -> AbstractContextManager[None]:
        """Meanwhile the requests `flights` are entries, each of its own answer, under these ids; but for this query
        alone, and nothing of it stays."""


@runtime_checkable
class Lease(Protocol):
    """The right to call the backend for one key, across processes."""

    async def release(self) -> None:
        """Give the lease up: `Store.wait` of other processes returns. A lease that is not released expires."""


@runtime_checkable
class Store(Protocol):
    """A shared tier outside the process.

    Every method may be slow or raise: callers bound the time, and a circuit breaker leaves a failing store alone.
    A store with `bounded = True` enforces the budget of `get` itself, which is cheaper than a timeout. A store with
    `checks = True` refuses in `put` whatever was invalidated since its computation began, so it may also be given
    answers made while nobody in this process listened to `changes`.
    """

    name: str

    async def start(self) -> None:
        """Connect, on the running loop. If it raises, that is counted, and the store is used all the same."""

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        """The record under `key`, fresh or stale, if its canonical bytes are equal; else None.

        A `bounded` store raises StoreFault with reason BUDGET after `budget` seconds.
        """

    async def put(self, records: Sequence[Record], leases: Sequence[Lease] = ()) -> object:
        """Store records. If a lease in `leases` has since passed to another holder, that holder's record is kept.

        If some may not be stored, return of how many they or newer ones are there: what the rest replaces goes.
        """

    async def delete(self, keys: Sequence[bytes]) -> int:
        """Delete entries, also those being written at the moment; returns how many there were."""

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        """Invalidate everything under these tags and scopes, in O(number of tags and scopes)."""

    async def acquire(self, key: bytes, ttl: float) -> Lease | None:
        """The lease for `key`, which lasts `ttl` seconds and is renewed until released; None if another holds it."""

    async def wait(self, key: bytes, timeout: float) -> None:
        """Return when the lease for `key` is released or its holder has died, or after `timeout` seconds."""

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[Change]]:
        """Invalidations made by other processes; after a lost connection, a Change with `everything` set."""

    async def aclose(self) -> None: ...


@runtime_checkable
class Feed(Protocol):
    """A store that also announces to every process which entries became findable by meaning."""

    async def publish(self, findable: Sequence[Findable]) -> None:
        """Announce entries that were just stored."""

    async def published(self, after: bytes, limit: int) -> tuple[Sequence[Findable], bytes, bool]:
        """At most `limit` announcements after a position (b"" for the beginning), oldest first.

        Also returns the position to continue from, and whether that is all for now. The oldest announcements may have
        been forgotten.
        """


@runtime_checkable
class Reports(Protocol):
    """A store that also tells every process which requests are kept apart, because an answer was wrong for one of them.

    A pair is a digest that begins with its owner's; it is enough to keep the latest few thousand.
    """

    async def report(self, pairs: Sequence[bytes]) -> None:
        """Store these pairs."""

    async def reported(self, after: bytes, limit: int) -> tuple[Sequence[bytes], bytes, bool]:
        """At most `limit` pairs after a position, as `Feed.published` gives announcements."""

    async def unreport(self, beginnings: Collection[bytes] | None) -> None:
        """Forget the pairs with these beginnings, or all (None): their owners are being erased."""


class Change(Protocol):
    """What another process invalidated: keys, tags or scopes; or everything that may be stale.

    A store may also tell the keys under which an answer was `replaced` by one whose making began later.
    """

    keys: Sequence[bytes]
    tags: Sequence[str]
    scopes: Sequence[bytes]
    everything: bool
