"""Events of an OpenAI stream that add to one text, read as one that adds it all: thousands take the time of a few."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from cachelayer.exact.answers.tape import HERE, Framed, Mould

_ESCAPED = re.compile(rb'(?:[^"\\]++|\\["\\/bfnrtu])*+')
"""Text in JSON, of which no escape is cut off."""


def joined(mould: Mould, pieces: Sequence[Any]) -> bytes | None:
    """The event that adds all these pieces; None if events of this mould do anything else, or one is unsound.

    All that is read of a stream, and the whole answer that is made of it, join such pieces anyway.
    """
    if type(mould) is not Framed or type(pieces[0]) is not bytes or not _sound(pieces):
        return None
    event: bytes = mould.answer(HERE.encode())
    if not event.startswith(b"data: {") or not event.endswith(b"}\n\n") or event.count(b"\n") != 2:
        return None
    try:
        adds = event.count(HERE.encode()) == 1 and _adds(orjson.loads(event[6:-2]))
    except orjson.JSONDecodeError:
        return None
    return mould.answer(b"".join(pieces)) if adds else None


def _sound(pieces: Sequence[bytes]) -> bool:
    """Whether each piece by itself is text in JSON, so that all of them are it together."""
    lines = b"\n".join(pieces)
    if lines.count(b"\n") != len(pieces) - 1 or _ESCAPED.fullmatch(lines) is None:
        return False
    try:
        orjson.loads(b'["%b"]' % lines.replace(b"\n", b'","'))
    except orjson.JSONDecodeError:
        return False
    return True


def _adds(event: dict[str, Any]) -> bool:
    """Whether such an event does nothing but add to one text of one choice."""
    choices = event.get("choices")
    if type(choices) is not list or len(choices) != 1 or type(choices[0]) is not dict:
        return False
    choice = {name: value for name, value in choices[0].items() if value is not None and name != "index"}
    if choice.keys() == {"text"}:
        return bool(choice["text"] == HERE)
    return choice.keys() == {"delta"} and type(choice["delta"]) is dict and _is_piece(choice["delta"])


def _is_piece(added: dict[str, Any]) -> bool:
    """Whether only the piece, and whose words they are, is given: as text, or as arguments of one tool call."""
    given = {name: value for name, value in added.items() if value and name != "role"}
    calls = given.get("tool_calls")
    if type(calls) is list and len(given) == len(calls) == 1 and type(calls[0]) is dict:
        parts = {name: part for name, part in calls[0].items() if part is not None and name != "index"}
        function = parts.get("function")
        if parts.keys() != {"function"} or type(function) is not dict:
            return False
        given = {name: part for name, part in function.items() if part}
        return given == {"arguments": HERE}
    return [*given.values()] == [HERE]
