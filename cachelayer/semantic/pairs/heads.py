"""What two texts ask behind one head: 'Context: ... Question: How much is it?' / '... Question: What does it cost?'.

The same may follow, too: 'Answer:', or the context.
"""

from __future__ import annotations

import re
from typing import Final

from ..text.manners import speaks_of_languages
from ..text.repeats import SPELLED

LEAST: Final = 3
"""Words of a question."""
_LABEL: Final = re.compile(
    r"(?:^|\n|(?<=[.!?)\]] ))[ \t*#]*(?:(?:user|customer|my|the)(?:'s)? )?(?:question|query|q)[ \t*]*:[ \t*]*",
    re.IGNORECASE,
)
_SHOWING: Final = re.compile(r"[\"\u201c\u201d`\n<>{}\[\]:|]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_MILD: Final = frozenset(
    """say says saying said mean means meaning meant word words phrase phrases write writes writing written wrote reply
    replies respond quote greet greets greeting greetings sentence sentences summarize letters correctly""".split()
)
"""What prompts say of the answer: 'Say so if you do not know it', 'in three sentences'."""
_HANDLED: Final = SPELLED.difference(_MILD).union(
    "extract categorize route intent identify detect rewording reword keywords keyword".split()
)
"""With one of these what stands around a question may ask something of the question itself."""
_COUNTED: Final = re.compile(r"\b(?:label|rate|score|tag|count) (?:the|this|these|each|every|how|all)\b")
"""So may these: 'count the words'; but 'the interest rate' is what is told."""


def behind_one_head(a: str, b: str) -> tuple[str, str] | None:
    """The questions of both, if each is a line that is called a question, and all before and behind it is the same."""
    labels = list(_LABEL.finditer(a)) if ":" in a else []
    if not labels or not b.startswith(head := a[: labels[-1].end()]):
        return None
    one, stop, tail = a[len(head) :].partition("\n")
    if not b.endswith(tail := stop + tail) or len(b) < len(head) + len(tail):
        return None
    one, other = one.strip(), b[len(head) : len(b) - len(tail)].strip()
    if min(len(one.split()), len(other.split())) < LEAST or _SHOWING.search(one) or _SHOWING.search(other):
        return None
    return None if _handled((head + tail).lower()) else (one, other)


def _handled(around: str) -> bool:
    words = frozenset(_WORD.findall(around))
    if not _HANDLED.isdisjoint(words) or _COUNTED.search(around):
        return True
    return not _MILD.isdisjoint(words) and speaks_of_languages(words)
