"""A fast reader for the plain chunks of OpenAI's chat streams, those that only add a word: nineteen in twenty do."""

from __future__ import annotations

from .fields import Fields
from .reply import Reply

_SPOKEN = frozenset({"content", "role"})
_UNUSUAL = frozenset({"error", "usage_metadata", "token_usage"})


def _only_spoken(delta: Fields) -> bool:
    """Whether nothing but words and whose they are is given; some servers name what there is none of."""
    return all(delta[name] is None for name in delta.keys() - _SPOKEN)


def read_delta(reply: Reply, chunk: Fields) -> bool:
    """Read a chunk that adds text to one choice and does nothing else, as nearly all do; False of others."""
    if chunk.get("object") != "chat.completion.chunk" or chunk.get("usage") is not None:
        return False
    choices = chunk.get("choices")
    if type(choices) is not list or len(choices) != 1 or not _UNUSUAL.isdisjoint(chunk):
        return False
    choice = choices[0]
    if type(choice) is not dict or choice.get("finish_reason") is not None or "message" in choice:
        return False
    delta, index = choice.get("delta"), choice.get("index")
    if type(delta) is not dict or type(index) is not int:
        return False
    content = delta.get("content")
    if type(content) is not str or (len(delta) > 1 and not _only_spoken(delta)):
        return False
    pieces = reply.texts.get(index)
    if pieces is None:
        pieces = reply.texts[index] = []
        reply.ends.setdefault(index, None)
    pieces.append(content)
    return True
