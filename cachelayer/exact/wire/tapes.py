"""Streams as they leave the process: of chunks that are alike only what differs, as the in-process tier keeps them.

A list with an item for each chunk or run: [chunk], [before, after, leaves, lengths] of texts, or
[sample, leaves, lengths] of values, of which the sample has a text of ours where they differ. `leaves` are joined,
`lengths` are theirs as unsigned 32-bit integers, little-endian, in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..answers.freezer import Freezer
from ..answers.frozen import Frozen, NotKeepable
from ..answers.tape import HERE, Framed, Part, Run, Shaped, played, run_of


class Chunks:
    """A whole stream, chunk by chunk; so that it is told from an answer that is a list."""

    __slots__ = ("parts",)

    def __init__(self, chunks: Iterable[Any] = (), *, parts: Sequence[Part] | None = None) -> None:
        """`chunks`, or the `parts` that play them."""
        self.parts = [Frozen(chunk, None, 0) for chunk in chunks] if parts is None else parts

    def __iter__(self) -> Iterator[Any]:
        return played(self.parts)


class TapeWire:
    """Parts of streams to plain lists and back."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes`: bound on the chunks of a run, played."""
        self._max_bytes, self._freezer = max_bytes, Freezer(shapes=64)

    def write(self, chunks: Chunks) -> list[Any] | None:
        """The list; None if no chunks are alike."""
        if not any(type(part) is Run for part in chunks.parts):
            return None
        items: list[Any] = []
        for part in chunks.parts:
            held = self._run(part) if type(part) is Run else None
            items += [[chunk] for chunk in played([part])] if held is None else [held]
        return items

    def _run(self, run: Run) -> list[Any] | None:
        leaves = run.leaves
        if self._large(run):
            return None
        lengths = np.fromiter(map(len, leaves), "<u4", len(leaves)).tobytes()
        if isinstance(run.mould, Framed):
            return [run.mould.before, run.mould.after, leaves[0][:0].join(leaves), lengths]
        sample = run.mould.answer(HERE)
        return None if self._mould(sample) is None else [sample, "".join(leaves), lengths]

    def _mould(self, sample: Any) -> Shaped | None:
        """What a sample is one of; None if its text does not stand in one leaf of it."""
        try:
            frozen = self._freezer.freeze(sample)
        except NotKeepable:
            return None
        leaves = frozen.value if type(frozen.value) is tuple and frozen.thaw is not None else ()
        here = [at for at, leaf in enumerate(leaves) if type(leaf) is str and leaf == HERE]
        return Shaped(frozen, here[0]) if len(here) == 1 else None

    def read(self, items: list[Any]) -> Chunks:
        """The stream that was written. Raises ValueError, TypeError or LookupError for what never was."""
        return Chunks(parts=[self._part(item) for item in items])

    def _part(self, item: list[Any]) -> Part:
        if len(item) == 1:
            return Frozen(item[0], None, 0)
        *shared, joined, lengths = item
        texts = len(shared) == 2
        types = {type(joined), *(map(type, shared) if texts else ())}
        ends = [*accumulate(np.frombuffer(lengths, "<u4").tolist(), initial=0)]
        if (
            len(types) != 1
            or type(joined) not in ((str, bytes) if texts else (str,))
            or ends[-1] != len(joined)
        ):
            raise ValueError("a run that does not fit together")
        mould = Framed(shared[0], shared[1], close=True) if texts else self._mould(*shared)
        if mould is None:
            raise ValueError("a run of nothing known")
        run = run_of(mould, tuple([joined[start:end] for start, end in pairwise(ends)]))
        if self._large(run):
            raise ValueError("a run that is too large")
        return run

    def _large(self, run: Run) -> bool:
        return len(run.leaves) * run.mould.nbytes + run.nbytes > self._max_bytes
