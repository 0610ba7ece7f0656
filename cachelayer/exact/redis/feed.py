"""What became findable by meaning, for every process: a bounded stream of keys, and beside each entry its vector.

The stream holds keys alone. Text and vector lie in a key of their own in the entry's slot, end with it, are erased
with it, and are signed or encrypted as it is. They are written only where the entry still is: a tenant that was erased
meanwhile leaves no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, error

import numpy as np
import orjson
from xxhash import xxh3_64_intdigest

from ...errors import Unusable
from ...types import Findable, Turn
from .calls import Request, answers, call, moving, other_type
from .names import Names
from .node import Role
from .pipe import pack
from .seal import PLAIN_ID, Seal
from .topology import Topology

_HEAD = Struct("<2sBB4sQ")
"""Magic, version, flags, key id, checksum of the body."""
_SIZES = Struct("<III")
"""Lengths of meta, canonical and partition; the vector follows, float16."""
_MAGIC, _VERSION = b"CN", 1
LASTS = 30 * 86400.0
"""Seconds for which the stream is kept after it was last written to, at least."""
BESIDE = (
    b"if redis.call('exists',KEYS[2])==0 then return 0 end "
    b"redis.call('set',KEYS[1],ARGV[1],'px',ARGV[2]) return 1"
)
"""Set what lies beside an entry, if that is there."""


class Feed:
    """One loop's access to the stream. `length`: about how many keys it keeps."""

    def __init__(self, names: Names, topology: Topology, seal: Seal, length: int) -> None:
        self._names, self._topology, self._seal, self._length = names, topology, seal, length

    async def publish(self, findable: Sequence[Findable], now: float) -> None:
        """Write what lies beside the entries, then their keys. Raises StoreFault."""
        lasting, feed = [item for item in findable if item.until > now], self._names.feed
        results = await call(self._topology, Role.WRITE, [self._set(item, now) for item in lasting])
        keys = [
            pack(b"XADD", feed, b"MAXLEN", b"~", self._length, b"*", b"k", item.key)
            for item, result in zip(lasting, results, strict=True)
            if not moving(result) and answers(result)[0]
        ]
        if keys:
            latest = max(item.until for item in lasting) - now
            keys.append(pack(b"PEXPIRE", feed, int(1000 * max(LASTS, latest))))
            answers((await call(self._topology, Role.WRITE, [Request(feed, keys)]))[0])

    def _set(self, item: Findable, now: float) -> Request:
        name, entry = self._names.near(item.key), self._names.entry(item.key)
        lifetime = max(1, int((item.until - now) * 1000))
        return Request(name, [pack(b"EVAL", BESIDE, 2, name, entry, self._write(item), lifetime)])

    async def read(self, after: bytes, limit: int) -> tuple[list[Findable], bytes, bool]:
        """See `protocols.Feed.published`. Raises StoreFault."""
        announced = await rows(self._topology, self._names.feed, after, limit)
        keys = [fields[1] for _, fields in announced if len(fields) == 2 and len(fields[1]) == 16]
        wanted = list(dict.fromkeys(reversed(keys)))[
            ::-1
        ]  # of an entry that was written twice the latest counts
        names = [self._names.near(key) for key in wanted]
        gets = [Request(name, [pack(b"GET", name)]) for name in names]
        found: list[Findable] = []
        for key, result in zip(wanted, await call(self._topology, Role.READ, gets), strict=True):
            if isinstance(result, list) and other_type(result[0]):
                continue
            raw = answers(result)[0]
            item = self._read(key, raw) if isinstance(raw, bytes) else None
            if item is not None:
                found.append(item)
        return found, announced[-1][0] if announced else after, len(announced) < limit

    def _write(self, item: Findable) -> bytes:
        turns = [(turn.role, turn.text) for turn in item.turns]
        meta = orjson.dumps((item.function, item.text, item.until, item.tenant, turns, item.identity))
        vector = b"" if item.vector is None else item.vector.astype("<f2").tobytes()
        sizes = _SIZES.pack(len(meta), len(item.canonical), len(item.partition))
        body = b"".join((sizes, meta, item.canonical, item.partition, vector))
        seal = self._seal
        if seal.flag:
            body = seal.close(self._around(item.key), body)
        return _HEAD.pack(_MAGIC, _VERSION, seal.flag, seal.key_id, xxh3_64_intdigest(body)) + body

    def _read(self, key: bytes, raw: bytes) -> Findable | None:
        """None for what is damaged, of another format, or not vouched for: it is found by nobody then."""
        try:
            magic, version, flags, key_id, checksum = _HEAD.unpack_from(raw)
            body = raw[_HEAD.size :]
            if (magic, version) != (_MAGIC, _VERSION) or xxh3_64_intdigest(body) != checksum:
                return None
            if self._seal.flag or flags or key_id != PLAIN_ID:
                body = self._seal.open(flags, key_id, self._around(key), body)
            return _parsed(key, body)
        except (Unusable, error, ValueError, TypeError):
            return None

    def _around(self, key: bytes) -> bytes:
        return b"%b\0near\0%b" % (self._names.prefix, key)


async def rows(
    topology: Topology, stream: bytes, after: bytes, limit: int
) -> list[tuple[bytes, list[bytes]]]:
    """Ids and fields of at most `limit` entries of a stream after a position, b"" for its beginning. Raises StoreFault.

    XREAD answers with nothing, a list (RESP2), or a mapping (RESP3).
    """
    ask = pack(b"XREAD", b"COUNT", limit, b"STREAMS", stream, after or b"0")
    (reply,) = answers((await call(topology, Role.READ, [Request(stream, [ask])]))[0])
    if isinstance(reply, dict):
        return [tuple(row) for rows in reply.values() for row in rows]
    return [tuple(row) for _, rows in reply for row in rows] if isinstance(reply, list) else []


def _parsed(key: bytes, body: bytes) -> Findable:
    meta, canonical, partition = _SIZES.unpack_from(body)
    at = _SIZES.size
    function, text, until, tenant, turns, identity = orjson.loads(body[at : at + meta])
    said = [function, text, identity, *(word for turn in turns for word in turn)]
    if not (
        {str}.issuperset(map(type, said)) and type(until) in (int, float) and isinstance(tenant, str | None)
    ):
        raise TypeError  # here, for whoever reads on from such an announcement would come no further
    at += meta
    vector = np.frombuffer(body, "<f2", offset=at + canonical + partition).astype(np.float32)
    norm = float(np.linalg.norm(vector))
    return Findable(
        key,
        body[at : at + canonical],
        body[at + canonical : at + canonical + partition],
        function,
        text,
        until,
        tenant,
        tuple(Turn(role, said) for role, said in turns),
        identity,
        vector / norm if norm > 0 and np.isfinite(norm) else None,
    )
