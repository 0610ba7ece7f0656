"""An entry in memory, and what it weighs."""

from __future__ import annotations

from typing import Any


class Slot:
    """One answer in the in-process tier. Times are monotonic seconds, `cost` is seconds to regenerate.

    The caller fills what the constructor takes and may use `meta` freely. A hit may read the slot and add to
    `hits` without any lock: nothing is moved on a hit, the count is folded in when eviction comes by.
    Once the slot left the memory, `fresh_until` is -inf; `answer` and `canonical` stay, so that a hit that
    raced with the removal still reads a whole answer. The other fields belong to `Memory` and its policy.
    """

    __slots__ = (
        "answer",
        "canonical",
        "cost",
        "created",
        "digest",
        "due",
        "freq",
        "fresh_until",
        "hits",
        "home",
        "id",
        "links",
        "meta",
        "next",
        "place",
        "prev",
        "scope",
        "seat",
        "seen",
        "stale_until",
        "tags",
        "weight",
    )

    answer: Any
    meta: Any
    # Memory's: raw forms that lead here (dict, digest, dict, digest ...), when the slot is swept and its index
    # in that bucket, its index in the scope's list.
    links: tuple[Any, ...]
    due: float
    place: int
    seat: int
    # The policy's: segment (0: in no memory), neighbours, uses counted, hits folded into them.
    home: int
    prev: Slot
    next: Slot
    freq: int
    seen: int

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
        self.fresh_until = fresh_until
        self.stale_until = stale_until
        self.tags = tags
        self.scope = scope
        self.id = id
        self.meta = meta
        self.hits = 0
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
    + 5 * _FLOAT + 5 * _INT  # times and cost; id, weight, hits, place and seat
    + 2 * 10  # its cells in the expiry bucket and the scope's list (lists over-allocate by 1/8)
    + _BYTES  # header of the canonical bytes
)  # fmt: skip
GROUP_OVERHEAD = DICT_SHARE + 216 + 49
"""A tag or scope that has members: its entry, the container when nearly empty, the key's header."""
BUCKET_OVERHEAD = DICT_SHARE + 88 + _FLOAT + 8
"""A bucket of expiry times: its entry, list, key and place in the heap."""
LINK_OVERHEAD = DICT_SHARE + _INT + _TUPLE + _BYTES + 16 + _TUPLE
"""A raw form: entry and key in the caller's dict, the pair, the raw bytes' header, the link back."""


def weight_of(canonical: bytes, answer_bytes: int, tags: tuple[str, ...] = ()) -> int:
    """Bytes that a slot holds, all overhead counted, as tracemalloc sees it.

    `answer_bytes` is what the answer object holds: `sys.getsizeof` for str and bytes. Tags and scopes are
    counted once by the memory, raw forms when they are linked.
    """
    weight = SLOT_OVERHEAD + len(canonical) + answer_bytes
    return weight + _TUPLE + (8 + SET_SHARE) * len(tags) if tags else weight
