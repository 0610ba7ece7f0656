"""Guard: long statements, of which every word counts.

Who puts a sentence of the third person to a model wants it judged, translated or continued: 'The species regulate
their temperature, as many are able to' / 'are unable to'.

How such sentences differ by what a negation reaches: Ravichander et al., CondaQA (EMNLP 2022).
"""

from __future__ import annotations

from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import CONDITIONS, POSSESSORS, PREPOSITIONS
from ..text.manners import told
from ..text.signature import ASKING, Signature
from .moods import TELLING, ordered

LONG: Final = 10
"""Words from which on a text without a question, an order or the persons who talk is taken for a statement."""
_TALKING: Final = frozenset(
    """i i'm i'd i've i'll im me my mine we we're we've our us you you're you've your yours let let's please""".split()
)

_DETERMINERS: Final = frozenset(
    "a an the this that these those all every each both any another it".split()
).union(POSSESSORS)
_OPENING: Final = _DETERMINERS.union(
    PREPOSITIONS,
    CONDITIONS,
    ASKING,
    "he she they there here some many most much few several no not none and but or so also one such".split(),
)
"""What a statement may begin with before one of these: 'all the species', 'in the north'."""
_ACTS: Final = lx.OWN_ACTS | TELLING


def statements(a: Signature, b: Signature) -> bool:
    """Both are statements, and their words of content differ.

    The same words in another order are for other guards.
    """
    return a.stems != b.stems and _states(a) and _states(b)


def _states(s: Signature) -> bool:
    return len(s.words) >= LONG and not s.question and _TALKING.isdisjoint(s.vocabulary) and not _orders(s)


def _orders(s: Signature) -> bool:
    """'Write the minutes', 'find files'; but 'all the species' orders nothing."""
    at = told(s.words)
    first = s.words[at] if at < len(s.words) else "the"
    return first not in _OPENING and (first in _ACTS or ordered(s) != "")
