"""Streams as the in-process tier keeps them, and as they are played again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..exact.answers.frozen import Frozen
from ..exact.answers.joining import Joins
from ..exact.answers.tape import Alike, Part, Run, packed, played
from ..flow.readers import Replay

if TYPE_CHECKING:
    from .call import Function


def stream_of(chunks: Sequence[Part | Alike], *, plain: bool) -> Frozen:
    """Chunks as one answer that plays them again; `plain`: to a plain function's caller."""
    parts, nbytes = packed(chunks)
    return Frozen(parts, played if plain else _replay, nbytes)


def is_stream(answer: Frozen) -> bool:
    """Whether this is a stream that is kept."""
    return answer.thaw in _STREAMS


def whole(answer: Frozen) -> Any:
    """A kept answer's own object; of a stream the list of its chunks."""
    return [*played(answer.value)] if is_stream(answer) else answer.answer()


def short(answer: Frozen, joins: Joins | None) -> Any:
    """The same to be read: of a stream a list in which a run of chunks is one, where `joins` makes one of them."""
    if joins is None or not is_stream(answer):
        return whole(answer)
    chunks: list[Any] = []
    for part in answer.value:
        one = joins(part.mould, part.leaves) if type(part) is Run else None
        chunks += played([part]) if one is None else [one]
    return chunks


def seen_of(function: Function, answer: Frozen) -> Any:
    """What is read of a kept answer; see `short`."""
    return function.seen(short(answer, function.joins))


def replay_of(chunks: Iterable[Any], *, plain: bool) -> Any:
    """Chunks that are the caller's own, as a stream of the function's kind."""
    return (chunk for chunk in chunks) if plain else Replay(chunks)


def _replay(parts: tuple[Part, ...]) -> Replay:
    return Replay(played(parts))


_STREAMS = (_replay, played)
