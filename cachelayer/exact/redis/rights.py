"""What the user of a connection may not do: each command that the tier sends, tried where it changes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .calls import said
from .names import Names
from .pipe import Pipe, pack


def granting(prefix: str) -> str:
    """The remedy: the command that gives a user the rights that are enough."""
    return (
        f"nothing is shared like this: ACL SETUSER NAME ~{prefix}:* +@read +@write +@scripting "
        "+@transaction +@connection +@keyspace +time +wait +role +info +cluster|nodes +cluster|slots +cluster|info"
    )


async def refused(pipe: Pipe, names: Names) -> list[str]:
    """The commands that the server refuses to this user under these names, in the order of their need."""
    trials = _trials(names)
    replies = await pipe.ask([pack(*words) for _, words in trials])
    found = (name for (name, _), reply in zip(trials, replies, strict=True) if _denied(reply))
    return list(dict.fromkeys(found))


def _denied(reply: object) -> bool:
    return isinstance(reply, Exception) and said(reply).startswith("NOPERM")


def _trials(names: Names) -> list[tuple[str, Sequence[bytes | int]]]:
    """Commands on entries that nobody has, or with arguments that are looked at after the user's rights."""
    key, none, never = os.urandom(16), b"0", b"no id"
    entry, tomb, feed = names.entry(key), names.tomb(key), names.feed
    own = [entry, names.near(key), names.lease(key), tomb, names.epoch(key)]
    words: list[Sequence[bytes | int]] = [
        *([b"GET", name] for name in own),
        *([b"SET", name, b"", b"PX", none] for name in own),
        *([b"UNLINK", name] for name in own),
        [b"MGET", entry, entry],
        [b"GETRANGE", entry, 0, 1],
        [b"EXISTS", entry],
        [b"EVAL", b"return redis.call('get',KEYS[1])", 1, entry],
        [b"PTTL", entry],
        [b"PEXPIRE", entry, 1],
        [b"TOUCH", entry],
        [b"XADD", feed, b"NOMKSTREAM", never, b"k", b""],
        [b"XREAD", b"COUNT", 1, b"STREAMS", feed, never],
        [b"XDEL", names.apart, never],
        [b"SCAN", 0, b"MATCH", entry, b"COUNT", 1],
        [b"MULTI"],
        [b"EXEC"],
        [b"TIME"],
        [b"ROLE"],
        [b"WAIT", 0, 1],
        [b"ECHO", b""],
        [b"CLIENT", b"TRACKING", b"OFF"],
        [b"CLIENT", b"CACHING", b"YES"],
    ]
    return [(_called(given), given) for given in words]


def _called(words: Sequence[bytes | int]) -> str:
    shown = words[:2] if words[0] == b"CLIENT" else words[:1]
    return " ".join(word.decode() for word in shown if isinstance(word, bytes))
