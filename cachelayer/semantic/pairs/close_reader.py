"""The second reading of a pair: both texts token by token, off the event loop.

It is made where the words alone leave a doubt and the function has no evidence of its own. It costs the encoding of the
candidate's text: tokens are not kept with entries, because they take ten times the room of everything else.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any, Final

from ...flow import forks
from ...types import Candidate, Query
from .late_interaction import Tokens, closeness

TEXTS: Final = 256
"""Texts whose tokens are remembered, about 5 MB of questions: one candidate is often doubted again."""


class CloseReader:
    """Reads pairs closely, with an embedder that shows its tokens."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str | None, str], Tokens] = OrderedDict()
        self._forgotten = 0
        self._lock = forks.lock()

    def clear(self) -> None:
        """Forget every text that was read; what is being read just now is not remembered either."""
        with self._lock:
            self._known.clear()
            self._forgotten += 1

    async def read(
        self, embedder: Any, query: Query, candidate: Candidate, tenant: str | None = None
    ) -> Query | None:
        """The query with the measures of a close reading beside the candidate; None if a text cannot be read whole.

        Texts are remembered per tenant: a fast answer would tell another tenant that somebody asked the same.
        Raises what the embedder raises.
        """
        texts = (query.text, candidate.text)
        with self._lock:
            found = {text: self._known[tenant, text] for text in texts if (tenant, text) in self._known}
            forgotten = self._forgotten
        missing = [text for text in texts if text not in found]
        if missing:
            for text, tokens in zip(missing, await embedder.read_tokens(missing), strict=True):
                if tokens is None:
                    return None
                found[text] = tokens
        self._remember(tenant, found, forgotten)
        measures = closeness(found[query.text], found[candidate.text])
        close = candidate.entry, tuple(measures)
        return replace(query, readable=False, close=close, before=query.first)

    def _remember(self, tenant: str | None, found: dict[str, Tokens], forgotten: int) -> None:
        with self._lock:
            if forgotten != self._forgotten:
                return
            for text, tokens in found.items():
                self._known[tenant, text] = tokens
                self._known.move_to_end((tenant, text))
            while len(self._known) > TEXTS:
                self._known.popitem(last=False)
