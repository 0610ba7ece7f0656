"""Prompts as chains of block hashes, and what a replica's prefix cache probably holds.

Pure: time is handed in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import xxhash

CHARACTERS = 128
"""Bytes of text a block: about 32 tokens, TensorRT-LLM's default block, at four bytes a token."""


def prompt_bytes(
    messages: Sequence[Mapping[str, Any]] | None, prompt: str | Sequence[int] | None, tools: Any = None
) -> bytes:
    """A prompt as bytes whose common prefixes are those of the templated prompt: tools first, then
    messages."""
    if messages is None:
        if isinstance(prompt, str):
            return prompt.encode()
        if all(isinstance(token, int) for token in prompt or ()):
            return b"".join(token.to_bytes(4, "little") for token in prompt or ())
        return orjson.dumps(prompt)
    parts = [orjson.dumps(tools, option=orjson.OPT_SORT_KEYS)] if tools else []
    for message in messages:
        content = message.get("content")
        text = (
            content.encode()
            if isinstance(content, str)
            else orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        )
        parts.append(str(message.get("role")).encode() + b"\0" + text)
    return b"\n".join(parts)


def chain(data: bytes, namespace: str = "", size: int = CHARACTERS) -> list[int]:
    """Chained 64-bit hashes of the full blocks: equal hashes mean equal prefixes, within `namespace`.

    The namespace holds what keeps KV blocks apart: model, template, tenant salt. A collision costs a detour,
    never an answer: the engine compares its own blocks.
    """
    state = xxhash.xxh3_64_intdigest(namespace.encode())
    hashes = []
    for start in range(0, len(data) - size + 1, size):
        state = xxhash.xxh3_64_intdigest(data[start : start + size], state)
        hashes.append(state)
    return hashes


class PrefixIndex:
    """The blocks that a replica was sent lately: a bounded LRU whose entries also age.

    An estimate: the engine evicts by its own rules. A wrong guess costs a prefill, not a wrong answer.
    """

    __slots__ = ("_seen", "capacity", "ttl")

    def __init__(self, capacity: int, ttl: float) -> None:
        self.capacity, self.ttl = capacity, ttl
        self._seen: OrderedDict[int, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def matched(self, blocks: Sequence[int], now: float) -> int:
        """How many leading blocks are held."""
        seen, oldest = self._seen, now - self.ttl
        for count, block in enumerate(blocks):
            if seen.get(block, oldest) <= oldest:
                return count
        return len(blocks)

    def add(self, blocks: Sequence[int], now: float, extra: int = 0) -> None:
        """Note that these blocks are there, the root as the most recent: leaves are evicted first.

        `extra` enlarges the capacity by what is on its way there but not yet in the cache.
        """
        seen = self._seen
        for block in reversed(blocks):
            seen[block] = now
            seen.move_to_end(block)
        while len(seen) > self.capacity + extra:
            seen.popitem(last=False)

    def clear(self) -> None:
        """The replica restarted."""
        self._seen.clear()
