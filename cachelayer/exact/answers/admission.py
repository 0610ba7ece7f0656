"""Which answers may be kept: never what is empty, refused, filtered, cut short, incomplete or an error.

All functions take any answer; of a stream the list of its chunks. A plain str costs one type check.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import orjson

from ...types import Reason
from .finish_reasons import BROKEN
from .reply_reader import ordinary, read, tokens

_NUMBERS = frozenset({int, float, bool, complex})
_SIZED = (bytes, bytearray, list, tuple, dict, set, frozenset)

_FAILED = frozenset({Reason.ERROR, Reason.INCOMPLETE})
MOST_TOKENS = 2**63 - 1
"""What an answer may claim; a number beyond would not fit into what is stored, and spoil what is stored with it."""


def admit(answer: Any, truncated_ok: bool = False) -> Reason | None:
    """None if `answer` may be kept, else why not.

    EMPTY_ANSWER: None, white space, an empty container or array, a model's reply without text, tool call or
    other content; 0 and False are answers. ERROR: an exception, `{"error": ...}`, a failed response.
    FILTERED, REFUSED, TRUNCATED (unless `truncated_ok`): what any choice of a model's reply says.
    INCOMPLETE: a model's stream that ended without its last chunk, a reply whose `finish_reason` is null, and one that
    its server broke off. A whole reply without that field (of a small server of one's own) is taken for whole.
    """
    cls = type(answer)
    if cls is str:
        return None if answer and not answer.isspace() else Reason.EMPTY_ANSWER
    if cls is dict and ordinary(answer):
        return None
    if answer is None:
        return Reason.EMPTY_ANSWER
    if cls in _NUMBERS:
        return None
    if isinstance(answer, np.ndarray):
        return None if answer.size else Reason.EMPTY_ANSWER
    if isinstance(answer, _SIZED) and not answer:
        return Reason.EMPTY_ANSWER
    if isinstance(answer, list | tuple) and isinstance(answer[0], str | bytes | None) and _blank(answer):
        return Reason.EMPTY_ANSWER
    return None if ordinary(answer) else _verdict(answer, truncated_ok)


def failed(seen: Any) -> bool:
    """Whether a backend's answer, as it is read, says or shows that it failed: it is no truth to judge others by."""
    return isinstance(seen, Reason) or admit(seen) in _FAILED


def _blank(pieces: list[Any] | tuple[Any, ...]) -> bool:
    return all(piece is None or (isinstance(piece, str | bytes) and not piece.strip()) for piece in pieces)


def _verdict(answer: Any, truncated_ok: bool) -> Reason | None:
    reply = read(answer)
    if reply is None:
        return None
    ends = reply.ends.values()
    if reply.failed:
        return Reason.ERROR
    if "content_filter" in ends:
        return Reason.FILTERED
    if reply.refused:
        return Reason.REFUSED
    if "length" in ends and not truncated_ok:
        return Reason.TRUNCATED
    if BROKEN in ends or (reply.tells_ends and None in ends):
        return Reason.INCOMPLETE
    return Reason.EMPTY_ANSWER if reply.blank else None


def tokens_of(answer: Any) -> int:
    """Tokens the answer says it took, prompt included; 0 if it does not say."""
    return 0 if type(answer) is str else min(tokens(answer), MOST_TOKENS)


def has_tool_calls(answer: Any) -> bool:
    """Whether a model asks for tools."""
    if type(answer) is str:
        return False
    reply = read(answer)
    return reply is not None and bool(reply.calls)


def text_of(answer: Any) -> str | None:
    """The answer as text, for the comparison of answers; None if it has none.

    Text itself, a model's text (choices on lines of their own, tool calls as JSON after it), a list of str
    joined as the chunks of a stream, an enum's value, canonical JSON up to 64 KiB.
    """
    if type(answer) is str:
        return answer
    if answer is None or isinstance(answer, bytes | bytearray | Reason):
        return None
    if isinstance(answer, enum.Enum):
        return text_of(answer.value)
    if isinstance(answer, list | tuple) and answer and all(isinstance(piece, str) for piece in answer):
        return "".join(answer)
    reply = read(answer)
    if reply is None or reply.failed or reply.other:
        return _canonical(answer)
    if not reply.calls:
        return reply.text
    calls = _canonical([call.plain() for _, call in sorted(reply.calls.items())])
    return None if calls is None else f"{reply.text}\n{calls}".lstrip("\n")


def _canonical(value: Any) -> str | None:
    """JSON with sorted keys, or None if `value` has no such form or it exceeds 64 KiB."""
    try:
        text = orjson.dumps(
            value,
            default=_plain,
            option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY,
        )
    except (orjson.JSONEncodeError, RecursionError):
        return None
    return text.decode() if len(text) <= 65536 else None


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(held := getattr(value, "__dict__", None), dict):
        return held
    if type(value).__module__ in ("decimal", "numpy", "fractions"):
        return str(value)
    raise TypeError(type(value).__qualname__)
