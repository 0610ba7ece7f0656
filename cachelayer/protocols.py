"""The doors: what a part must offer to be plugged into the path. Each has a contract suite in `tests/contracts`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .types import Candidate, Decision, Embedded, Findable, Query, Record, Vectors


@runtime_checkable
class Clock(Protocol):
    """Time, handed in. Both in seconds."""

    def monotonic(self) -> float: ...
    def time(self) -> float: ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors, off the event loop. Constructing one does no I/O; `start` loads."""

    @property
    def identity(self) -> str:
        """Model, revision, pooling and quantization. Vectors of two identities never meet."""

    @property
    def dimension(self) -> int: ...

    async def start(self) -> None: ...
    async def embed(self, texts: Sequence[str]) -> Embedded: ...
    async def aclose(self) -> None: ...


@runtime_checkable
class VectorIndex(Protocol):
    """Partitioned inner-product search over normalized vectors. Synchronous, thread-safe.

    Search never crosses partitions.
    """

    dimension: int

    def add(self, partition: bytes, ids: NDArray[np.int64], vectors: Vectors) -> None:
        """Add rows under unique ids. Raises ValueError for a wrong dimension, NaN, zero or unnormalized rows."""

    def remove(self, ids: NDArray[np.int64]) -> int:
        """Remove what is known of `ids`; returns how many were."""

    def search(
        self, partition: bytes, queries: Vectors, k: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Scores (q, k), descending, and ids (q, k); rows short of k are padded with -inf and -1."""

    def size(self, partition: bytes) -> int:
        """Live vectors in one partition."""

    def __len__(self) -> int: ...


@runtime_checkable
class Verifier(Protocol):
    """The probability that two requests take the same answer."""

    identity: str

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> Sequence[tuple[float, str]]:
        """One (probability in [0, 1], name of the guard that spoke or '') per candidate. Pure; microseconds."""


@runtime_checkable
class Decider(Protocol):
    """Chooses among candidates so that the share of wrong answers served stays under the bound."""

    def decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        """The entry to serve, or why none. What is served is accounted."""

    def preview(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        """What `decide` would say now; nothing is accounted."""

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None:
        """Learn from a true answer to a query whose candidates were known: a miss answered by the backend
        (served=None) or a shadow check of a hit (served=its entry)."""

    def stored(self, entry: int, function: str, scope: bytes, query: Query, answer: str) -> None:
        """A new entry was kept."""

    def forget(self, entry: int) -> None:
        """An entry is gone."""

    def report_wrong(self, entry: int) -> None:
        """The owner says that what this entry answered was wrong."""

    def stats(self) -> dict[str, Any]: ...


@runtime_checkable
class Leaving(Protocol):
    """A decider that finds out which entries must not be served again."""

    def leaving(self) -> Sequence[int]:
        """Entries found wrong since last asked, for the index to drop."""


@runtime_checkable
class Hearing(Protocol):
    """A decider that compares prose answers by meaning."""

    def heard(self, answer: str, vector: NDArray[np.float32]) -> None:
        """The (d,) vector of a prose answer, told before `observe` and `stored`."""


@runtime_checkable
class Retyping(Protocol):
    """A decider that knows by its words a request which was only typed otherwise than an earlier one."""

    def again(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision | None:
        """The entry to serve, of candidates that share the query's words, its vector unknown; None where that must be
        asked. What is served is accounted."""


@runtime_checkable
class Judged(Protocol):
    """A decider that knows which answers say the same, and takes in what people found."""

    def agrees(self, function: str, scope: bytes, entry: int, answer: str) -> bool | None:
        """Whether an entry's answer says the same as another that was learned; None where it cannot tell."""

    def verdict(self, function: str, confidence: float, right: bool, detail: str) -> None:
        """A person judged a hit that was picked for being doubtful; `detail` as in its decision."""


@runtime_checkable
class Lease(Protocol):
    """The right to call the backend for one key, across processes."""

    async def release(self) -> None: ...


@runtime_checkable
class Store(Protocol):
    """A shared tier outside the process. Every method may be slow or raise; the engine budgets and breaks.

    One whose attribute `bounded` is true keeps to the budget of `get` by itself, which is cheaper than a timeout.
    """

    name: str

    async def start(self) -> None: ...

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        """The record under `key` whose canonical bytes are equal, fresh or stale, else None.

        One that is `bounded` raises StoreFault with reason BUDGET after `budget` seconds.
        """

    async def put(self, records: Sequence[Record], leases: Sequence[Lease] = ()) -> object:
        """Store records. Of a key whose lease is among `leases`, an entry by a later holder of it stays."""

    async def delete(self, keys: Sequence[bytes]) -> int: ...

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        """Declare everything under these tags and scopes invalid, in O(number given)."""

    async def acquire(self, key: bytes, ttl: float) -> Lease | None:
        """The lease for `key`, renewed until released, or None where another holds it."""

    async def wait(self, key: bytes, timeout: float) -> None:
        """Return when the holder of the lease for `key` released it or died, or after `timeout` seconds."""

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[Change]]:
        """Invalidations made by other processes; a lost connection yields a Change with `everything` set."""

    async def aclose(self) -> None: ...


@runtime_checkable
class Feed(Protocol):
    """A store that also tells every process what became findable by meaning, whoever stored it."""

    async def publish(self, findable: Sequence[Findable]) -> None:
        """Tell of entries that were stored a moment ago."""

    async def published(self, after: bytes, limit: int) -> tuple[Sequence[Findable], bytes, bool]:
        """What was published after a position (b"" for the beginning), oldest first, where to go on, and
        whether that is all for now. Bounded: the oldest are forgotten."""


class Change(Protocol):
    """What another process invalidated: keys, tags or scopes; or everything that may be stale."""

    keys: Sequence[bytes]
    tags: Sequence[str]
    scopes: Sequence[bytes]
    everything: bool
