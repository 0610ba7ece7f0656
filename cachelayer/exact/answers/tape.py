"""The chunks of a stream as they are kept: of those that are alike only what differs.

Nineteen in twenty chunks of a model's stream differ from another in a word, and say 200 to 900 bytes more. Chunks are
told apart by comparing all of them, so that what is handed out again is what was recorded, to the last byte and type.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import groupby
from sys import getsizeof
from types import NoneType
from typing import Any, NamedTuple, Protocol

from .frozen import Frozen, new
from .shapes import Thaw

_LEAST, _MOST = 256, 16384
"""Bytes of chunks for which likeness is looked for."""
_SHARED = 64
"""Bytes that two texts have in common at least where they are alike."""
_MOULDS = 4
"""What is looked for at a time: the choices of one stream take turns."""
_CREDIT, _LOOK = 256, 8
"""What looking for likenesses may take, and what one look takes of it; each chunk that is alike gives one back."""
_RUN = 120
"""Bytes of a run itself."""
HERE = "here stands a piece"
"""Put in the place of a leaf it shows what a mould is of. Part of the wire form (`tape_wire`)."""
_SAME = frozenset({str, bytes, int, bool, NoneType})
"""Classes of values that are the same where they are equal and of one class."""


class Mould(Protocol):
    """What chunks that are alike have in common."""

    @property
    def nbytes(self) -> int: ...

    @property
    def close(self) -> bool:
        """Whether its chunks differ in one value and in nothing else."""

    def leaf(self, chunk: Frozen) -> Any:
        """What differs in this chunk; None if it is not alike."""

    def answer(self, leaf: Any) -> Any:
        """A chunk with this leaf, the caller's own."""


class Framed:
    """Texts, str or bytes, that begin alike and end alike."""

    __slots__ = ("_least", "_start", "_stop", "_type", "after", "before", "close", "nbytes")

    def __init__(self, before: Any, after: Any, close: bool) -> None:
        self.before, self.after, self._type = before, after, type(before)
        self._start, self._stop = len(before), len(after)
        self._least, self.close = self._start + self._stop, close
        self.nbytes = 104 + getsizeof(before) + getsizeof(after)

    def leaf(self, chunk: Frozen) -> Any:
        text, thaw, _ = chunk
        if type(text) is not self._type or thaw is not None or len(text) < self._least:
            return None
        alike = text.startswith(self.before) and text.endswith(self.after)
        return text[self._start : len(text) - self._stop] if alike else None

    def answer(self, leaf: Any) -> Any:
        return self.before + leaf + self.after


class Shaped:
    """Values of one shape (see `shapes`) whose leaves are the same but for one text."""

    __slots__ = ("_at", "_left", "_right", "_thaw", "_types", "nbytes")
    close = True

    def __init__(self, chunk: Frozen, at: int) -> None:
        leaves = chunk.value
        self._at, self._left, self._right = at, leaves[:at], leaves[at + 1 :]
        self._thaw: Thaw = chunk.thaw  # type: ignore[assignment]  # `_between` saw it
        self._types = [*map(type, leaves)]
        self.nbytes = 200 + 16 * len(leaves) + chunk.nbytes

    def leaf(self, chunk: Frozen) -> Any:
        leaves, at = chunk.value, self._at
        if chunk.thaw is not self._thaw or type(leaves) is not tuple or [*map(type, leaves)] != self._types:
            return None
        return leaves[at] if leaves[:at] == self._left and leaves[at + 1 :] == self._right else None

    def answer(self, leaf: Any) -> Any:
        return self._thaw((*self._left, leaf, *self._right))


class Alike(NamedTuple):
    """A chunk that is its mould's but for a leaf."""

    mould: Mould
    leaf: Any
    nbytes: int
    """Bytes that it adds to a stream that is kept."""

    def answer(self) -> Any:
        """The chunk, the caller's own."""
        return self.mould.answer(self.leaf)


class Run(NamedTuple):
    """Chunks of one mould that follow one another."""

    mould: Mould
    leaves: tuple[Any, ...]
    nbytes: int


Part = Frozen | Run


class Tape:
    """Freezes the chunks of one stream, each with `freeze`; what is alike is learned from those before."""

    def __init__(self, freeze: Callable[[Any], Frozen]) -> None:
        self._freeze = freeze
        self._close: list[Mould] = []
        self._loose: Mould | None = None
        self._seen: list[Frozen] = []
        self._credit = _CREDIT

    def freeze(self, item: Any) -> Frozen | Alike:
        """A chunk as it is kept. Raises what `freeze` raises."""
        frozen = self._freeze(item)
        if not _LEAST <= frozen[2] <= _MOST:
            return frozen
        for mould in self._close:
            leaf = mould.leaf(frozen)
            if leaf is not None:
                if self._credit < _CREDIT:
                    self._credit += 1
                alike: Alike = new(Alike, (mould, leaf, leaf.__sizeof__()))
                return alike
        if self._credit >= _LOOK:
            self._credit -= _LOOK
            return self._look(frozen)
        return frozen if self._loose is None else _cast(self._loose, frozen) or frozen

    def _look(self, frozen: Frozen) -> Frozen | Alike:
        """A chunk beside those that were seen lately."""
        loose = None
        for seen in self._seen:
            mould = _between(seen, frozen)
            if mould is not None and mould.close:
                self._close = [mould, *self._close[: _MOULDS - 1]]
                return _cast(mould, frozen, mould.nbytes) or frozen
            loose = loose or mould
        self._seen = [frozen, *self._seen[: _MOULDS - 1]]
        alike = None if self._loose is None else _cast(self._loose, frozen)
        if alike is None and loose is not None:
            self._loose = loose
            alike = _cast(loose, frozen, loose.nbytes)
        return alike or frozen


def _cast(mould: Mould, frozen: Frozen, more: int = 0) -> Alike | None:
    """A chunk as one of a mould, where it is one; `more`: bytes of a mould that is new."""
    leaf = mould.leaf(frozen)
    return None if leaf is None else Alike(mould, leaf, leaf.__sizeof__() + more)


def packed(chunks: Sequence[Part | Alike]) -> tuple[tuple[Part, ...], int]:
    """A whole stream as it is kept, and the bytes that it holds."""
    parts: list[Part] = []
    for mould, group in groupby(chunks, _mould):
        if mould is None:
            parts += group  # type: ignore[arg-type]  # as `_mould` told them apart
            continue
        run = [*group]
        nbytes = _RUN + sum([8 + chunk[2] for chunk in run])
        parts.append(Run(mould, tuple([chunk[1] for chunk in run]), nbytes))
    return tuple(parts), 56 + sum([8 + part[2] for part in parts])


def run_of(mould: Mould, leaves: tuple[Any, ...]) -> Run:
    """Chunks of a mould that no other run shares."""
    return Run(mould, leaves, _RUN + mould.nbytes + sum([8 + leaf.__sizeof__() for leaf in leaves]))


def _mould(chunk: Part | Alike) -> Mould | None:
    return chunk[0] if type(chunk) is Alike else None


def played(parts: Iterable[Part]) -> Generator[Any, None, None]:
    """The chunks of a stream that is kept, each the caller's own."""
    for part in parts:
        if type(part) is Run:
            yield from map(part.mould.answer, part.leaves)
        else:
            yield part.answer()  # type: ignore[union-attr]  # mypy does not narrow by `type(...) is` here


def _between(one: Frozen, other: Frozen) -> Mould | None:
    """What two chunks have in common where they are alike."""
    a, b = one.value, other.value
    if type(a) is not type(b) or one.thaw is not other.thaw:
        return None
    if one.thaw is None:
        return _framed(a, b) if type(a) in (str, bytes) else None
    if type(a) is not tuple or len(a) != len(b):
        return None
    types = [*map(type, a)]
    if not _SAME.issuperset(types) or types != [*map(type, b)]:
        return None
    unequal = [at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    return Shaped(one, unequal[0]) if len(unequal) == 1 and types[unequal[0]] is str else None


def _framed(a: Any, b: Any) -> Framed | None:
    """What two texts begin and end with, up to a quotation mark: beyond it they are alike by chance."""
    quote, escaped = ('"', '\\"') if type(a) is str else (b'"', b'\\"')
    most = min(len(a), len(b))
    before = a[: _common(most, lambda n: a[:n] == b[:n])]
    before = before[: before.rfind(quote) + 1]
    most -= len(before)
    after = a[len(a) - _common(most, lambda n: a[len(a) - n :] == b[len(b) - n :]) :]
    after = after[max(after.find(quote), 0) :]
    if len(before) + len(after) < _SHARED:
        return None
    differ = (text[len(before) : len(text) - len(after)] for text in (a, b))
    return Framed(before, after, all(quote not in leaf.replace(escaped, leaf[:0]) for leaf in differ))


def _common(most: int, equal: Callable[[int], bool]) -> int:
    """The largest length up to `most` for which two texts are equal, as they are for all smaller ones."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if equal(middle) else (least, middle - 1)
    return least
