"""An entry in memory, and what it weighs."""

from __future__ import annotations

from typing import Any


class Slot:
    """One answer in the in-process tier. Times are monotonic seconds, `cost` is seconds to regenerate.

    The caller fills what the constructor takes, and `tokens` and `meta` as needed. A hit may read the slot, add one
    to `hits` and set `used` to its time without any lock: nothing is moved on a hit, both are looked at when
    eviction comes by (`used` left alone is taken for that moment, which makes a coarser order).
    Once the slot left the memory, `fresh_until` is -inf; `answer`, `canonical` and `ends` stay, so that a hit that
    raced with the removal still reads a whole answer. The other fields belong to `Memory` and its policy.
    """

    __slots__ = (
        "answer",
        "canonical",
        "cost",
        "created",
        "digest",
        "due",
        "ends",
        "fresh_until",
        "hits",
        "home",
        "id",
        "links",
        "meta",
        "origin",
        "place",
        "rank",
        "scope",
        "seat",
        "seen",
        "spare",
        "stale_until",
        "tags",
        "tokens",
        "turn",
        "used",
        "weight",
        "worth",
    )

    answer: Any
    ends: float
    """The true end of freshness; `fresh_until` may be set earlier, for a look at refreshing ahead."""
    tokens: int | None
    """None until somebody asks."""
    meta: Any
    origin: int
    """The number in outcomes' ids: its id in the process that made it."""
    # Memory's: raw forms that lead here (dict, digest, dict, digest ...), when the slot is swept and its index
    # in that bucket, its index in the scope's list.
    links: tuple[Any, ...]
    due: float
    place: int
    seat: int
    used: float
    """Monotonic seconds of the latest hit; 0 if there was none since the policy came by."""
    # The policy's: queue (0: none), time of its turn and index in that bucket, hits it has seen, whether it has a
    # second round, cost per byte relative to the mean.
    home: int
    turn: float
    rank: int
    seen: int
    spare: bool
    worth: float

    def __init__(
        self,
        digest: int,
        canonical: bytes,
        answer: object,
        weight: int,
        cost: float = 0.0,
        created: float = 0.0,
        fresh_until: float = float("inf"),
        stale_until: float = float("inf"),
        tags: tuple[str, ...] = (),
        scope: bytes = b"",
        id: int = 0,
        meta: object = None,
    ) -> None:
        self.digest = digest
        self.canonical = canonical
        self.answer = answer
        self.weight = weight
        self.cost = cost
        self.created = created
        self.ends = self.fresh_until = fresh_until
        self.stale_until = stale_until
        self.tags = tags
        self.scope = scope
        self.id = self.origin = id
        self.tokens = None
        self.meta = meta
        self.hits = 0
        self.used = 0.0
        self.home = 0

    @property
    def resident(self) -> bool:
        """Whether the slot is in a memory now."""
        return self.home != 0


# What CPython 3.11+ allocates on a 64-bit machine, by sys.getsizeof, beside the payload itself.
_INT, _FLOAT, _BYTES, _TUPLE = 32, 24, 33, 56
DICT_SHARE = 120
"""One entry's share of a dict at its sparsest: (24 * 2/3 + 4) bytes a table row, at most 6 rows an entry."""
SET_SHARE = 128
"""One member's share of a set at its sparsest: 16 bytes a row, at most 8 rows a member."""
SLOT_OVERHEAD = (
    16 + 16 + 8 * len(Slot.__slots__)  # the object with its GC header
    + DICT_SHARE + 44  # the entry in the table and its 128-bit key
    + 8 * _FLOAT + 7 * _INT  # times, cost and worth; id, origin, weight, hits, place, seat and rank
    + 3 * 10  # its cells in the expiry bucket, the scope's list and the queue (lists over-allocate by 1/8)
    + 48  # ghosts: at most 6 cells a slot
    + _BYTES  # header of the canonical bytes
)  # fmt: skip
GROUP_OVERHEAD = DICT_SHARE + 216 + 49
"""A tag or scope that has members: its entry, the container when nearly empty, the key's header."""
BUCKET_OVERHEAD = DICT_SHARE + 88 + _FLOAT + 8
"""A bucket of expiry times: its entry, list, key and place in the heap."""
LINK_OVERHEAD = DICT_SHARE + _INT + _TUPLE + 57 + 16 + _TUPLE
"""A raw form: entry and key in the caller's dict, the pair, the raw form's header, the link back."""


def weight_of(canonical: bytes, answer_bytes: int, tags: tuple[str, ...] = ()) -> int:
    """Bytes that a slot holds, all overhead counted, as tracemalloc sees it.

    `answer_bytes` is what the answer object holds: `sys.getsizeof` for str and bytes. Tags and scopes are
    counted once by the memory, raw forms when they are linked.
    """
    weight = SLOT_OVERHEAD + len(canonical) + answer_bytes
    return weight + _TUPLE + (8 + SET_SHARE) * len(tags) if tags else weight


def weight_of_raw(raw: bytes | str) -> int:
    """Bytes that a raw form adds to its slot. A str beyond ASCII is taken at its widest, with its UTF-8 kept."""
    return LINK_OVERHEAD + len(raw) * (1 if isinstance(raw, bytes) or raw.isascii() else 5)
