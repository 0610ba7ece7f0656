"""Which answers say the same. Off the path: called when an answer is kept or checked."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from ..protocols import Decider, Embedder, Hearing, Leaving

WORDS_COMPARED_EXACTLY: Final = 12
_CODE: Final = re.compile(
    r"```|^\s*(?:def|class|import|SELECT|#include|function|const|public)\b|[;{}]\s*$", re.M
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
        except ValueError:
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


async def tell(decider: Decider, embedder: Embedder, answer: str | None) -> None:
    """Hand the vector of a prose answer to a decider that compares by meaning; what is cut short is left out."""
    if answer is None or not isinstance(decider, Hearing) or not is_prose(answer):
        return
    embedded = await embedder.embed([answer])
    if embedded.complete[0]:
        decider.heard(answer, embedded.vectors[0])


def leave(decider: Decider, forget: Callable[[int], None]) -> None:
    """Forget the entries that the decider wants out of the index."""
    if isinstance(decider, Leaving):
        for entry_id in decider.leaving():
            forget(entry_id)
