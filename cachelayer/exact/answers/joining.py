"""Chunks of a model's stream that differ in one text, read as one chunk: thousands take the time of a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .reply_reader import read
from .tape import HERE, Mould

Joins = Callable[[Mould, Sequence[Any]], Any]
"""Makes one chunk, to be read, of those with these leaves; None if it cannot."""


def joined(mould: Mould, pieces: Sequence[Any]) -> Any:
    """One chunk that says what all of these say; None if that cannot be determined.

    A probe, a chunk with a text of ours in the place of the piece, shows what the pieces are: text that a reader of the
    stream joins anyway, or something that it does not look at.
    """
    if type(pieces[0]) is not str:
        return None
    said = read([mould.answer(HERE)])
    if said is None or said.other or any(call.name for call in said.calls.values()):
        return None
    every_text = [text for texts in said.texts.values() for text in texts if text]
    every_text += [call.text for call in said.calls.values() if call.text]
    if every_text == [HERE]:
        return mould.answer("".join(pieces))
    last = mould.answer(pieces[-1])
    return last if not every_text and said == read([mould.answer(pieces[0])]) == read([last]) else None
