"""Which answers say the same. Off the path: called when an answer is kept or checked."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from ..flow.batcher import Overloaded
from ..flow.waiting import within
from ..protocols import Decider, Embedder, Hearing
from ..types import Candidate, Embedded, Reason
from .types import Ask, Same

WORDS_COMPARED_EXACTLY: Final = 12
AHEAD: Final = 2000
"""Characters of a text that is read ahead: reading one takes about 4 us a word."""
READ_AFTER: Final = 0.0002
"""Seconds after which that begins: not at once, as the embedder's thread needs the interpreter to begin."""
ASKED: Final = 3
"""Answers that the owner's judge compares a new one with."""
PATIENCE: Final = 10.0
"""Seconds that a model may take for what is kept, behind which other answers wait to be stored."""
_CODE: Final = re.compile(
    r"```|^[^\S\n]*(?:def|class|import|SELECT|#include|function|const|public)\b|[;{}][^\S\n]*$", re.M
)
_EDGE: Final = " \t\r\n.!?,;:\"'`*"


def normalize(answer: str) -> str:
    """One spelling per value: case, spaces, closing punctuation; JSON by content.

    Two answers that are not prose say the same exactly if these are equal.
    """
    text = unicodedata.normalize("NFC", answer).strip()
    if text[:1] in "{[" and text[-1:] in "}]":
        try:
            return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    if _CODE.search(text):
        return text
    return " ".join(text.casefold().split()).strip(_EDGE)


def is_prose(answer: str) -> bool:
    """True for running text of more than 12 words, which is compared by meaning; all else by equality."""
    text = answer.strip()
    if text[:1] in "{[" or _CODE.search(text):
        return False
    return len(text.split()) > WORDS_COMPARED_EXACTLY


async def in_time(embedding: Awaitable[Embedded]) -> Embedded:
    """What is embedded of an answer that is kept. Raises Overloaded (BUDGET) where the model hangs."""
    try:
        return await within(PATIENCE, embedding)
    except TimeoutError:
        raise Overloaded(f"the model took longer than {PATIENCE:.0f} s", Reason.BUDGET) from None


async def as_learned(decider: Decider, embedder: Embedder, answer: str | None, ask: Ask) -> str | None:
    """The answer as the decider learns it: in a candidate's wording if the owner's judge says that both are the same.

    Without a judge, a decider that compares prose by meaning is given the answer's vector first, unless the answer is
    too long for the embedder.
    """
    if answer is not None and ask.judge is not None:
        return await _judged(ask.judge, answer, ask.candidates)
    if answer is None or not isinstance(decider, Hearing) or not is_prose(answer):
        return answer
    hear, embedded = decider.hearing(), await in_time(embedder.embed([answer]))
    if embedded.complete[0]:
        hear(answer, embedded.vectors[0])
    return answer


async def _judged(judge: Same, answer: str, candidates: Sequence[Candidate]) -> str:
    seen: dict[str, str] = {}
    for one in candidates:
        if one.answer is not None:
            seen.setdefault(normalize(one.answer), one.answer)
    same = seen.get(normalize(answer))
    if same is not None:
        return same
    for known in list(seen.values())[:ASKED]:
        if await judge(known, answer):
            return known
    return answer


def read_ahead(decider: object, lock: AbstractContextManager[object], text: str) -> None:
    """Let the decider read a request's words while the embedder's thread is at work."""
    prepare = getattr(decider, "prepare", None)
    if prepare is not None and len(text) <= AHEAD:
        with lock:
            prepare(text)
