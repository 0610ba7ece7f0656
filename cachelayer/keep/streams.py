"""Streams as the in-process tier keeps and replays them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..exact.answers.frozen import Frozen
from ..exact.answers.joining import Joins
from ..exact.answers.tape import Alike, Part, Run, packed, played
from ..flow.readers import PlainReader, Replay

if TYPE_CHECKING:
    from .call import Function

_READ_OTHERWISE: Final = ("read", "fetchone", "line_num")
"""Attributes of files and responses, of cursors, and of table readers, which are read in other ways, too (mocks have
all of them)."""


def is_async_stream(answer: Any) -> bool:
    """Whether a function's answer comes in awaited chunks; one that can be read in other ways, too, is no stream."""
    return isinstance(answer, AsyncIterator) and not _read_otherwise(answer)


def is_plain_stream(answer: Any) -> bool:
    """`is_async_stream` for a plain iterator."""
    return isinstance(answer, Iterator) and not _read_otherwise(answer)


def _read_otherwise(answer: Any) -> bool:
    return any(hasattr(answer, name) for name in _READ_OTHERWISE)


def stream_of(chunks: Sequence[Part | Alike], *, plain: bool) -> Frozen:
    """Chunks as one kept answer that replays them; `plain`: for callers of a plain function."""
    parts, nbytes = packed(chunks)
    return Frozen(parts, _replay_plain if plain else _replay, nbytes)


def is_stream(answer: Frozen) -> bool:
    """Whether this is a stream that is kept."""
    return answer.thaw in _STREAMS


def whole(answer: Frozen) -> Any:
    """A kept answer's own object; of a stream the list of its chunks."""
    return [*played(answer.value)] if is_stream(answer) else answer.answer()


def short(answer: Frozen, joins: Joins | None) -> Any:
    """`whole` for reading only: in the list of a stream, each run of chunks is one chunk if `joins` can make one."""
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
    """Chunks that belong to the caller already, as a stream of the function's kind."""
    return PlainReader(chunk for chunk in chunks) if plain else Replay(chunks)


def _replay(parts: tuple[Part, ...]) -> Replay:
    return Replay(played(parts))


def _replay_plain(parts: tuple[Part, ...]) -> PlainReader:
    return PlainReader(played(parts))


_STREAMS = (_replay, _replay_plain)
