"""What two texts ask behind one head: 'Context: ... Question: How much is it?' / '... Question: What does it cost?'."""

from __future__ import annotations

import re
from typing import Final

from ..text.repeats import SPELLED

LEAST: Final = 3
"""Words of a question."""
_LABEL: Final = re.compile(
    r"(?:^|\n)[ \t*#]*(?:(?:user|customer|my|the)(?:'s)? )?(?:question|query|q)[ \t*]*:[ \t*]*", re.IGNORECASE
)
_SHOWING: Final = re.compile(r"[\"\u201c\u201d`\n<>{}\[\]:|]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_HANDLED: Final = SPELLED.union(
    "extract label categorize route intent identify detect rate score tag count rewording keywords".split()
)
"""With one of these a head may ask something of the question itself."""


def behind_one_head(a: str, b: str) -> tuple[str, str] | None:
    """The questions of both, if they end in a single line that is called a question, and all before it is the same."""
    labels = list(_LABEL.finditer(a)) if ":" in a else []
    if not labels or not b.startswith(head := a[: labels[-1].end()]):
        return None
    one, other = a[len(head) :].strip(), b[len(head) :].strip()
    if min(len(one.split()), len(other.split())) < LEAST or _SHOWING.search(one) or _SHOWING.search(other):
        return None
    return (one, other) if _HANDLED.isdisjoint(_WORD.findall(head.lower())) else None
