"""Whether something is so, why it is so, when and for how long: questions of the same words with other answers, as in
'Is fried food unhealthy?' / 'Why is fried food unhealthy?', 'Do you deliver to Norway?' / 'How long does it take?'."""

from __future__ import annotations

from typing import Final

from .signature import QUESTION_WORDS, Signature

_MEASURED: Final = {
    "how long": frozenset(("long", "longer", "quick", "quickly", "fast", "soon", "time")),
    "how often": frozenset(("often", "frequently", "regularly", "every", "daily", "weekly", "monthly")),
    "how far": frozenset(("far", "near", "close")),
    "how old": frozenset(("old", "age")),
    "how many": frozenset(("many", "much", "limit", "limited", "maximum", "minimum", "enough", "several")),
    "price": frozenset(
        """much cost costs price prices priced fee fees charge charged charges expensive cheap cheaper cheapest free pay
        paid euro euros dollar dollars pound pounds""".split()
    ),
}
"""What measures tell, and with which words one may ask for them by yes or no: 'Does it take long?'."""
_REASON, _MOMENT = "why", "when"
_OTHERS: Final = frozenset((_MOMENT, "who", "whose", "where", *_MEASURED))
_BEING: Final = frozenset(("is", "are", "was", "were"))


def inquiries(a: Signature, b: Signature) -> bool:
    """One text asks whether, the other why, when or how long; or one why, the other something else."""
    return a.question != b.question and (_apart(a, b) or _apart(b, a))


def _apart(one: Signature, other: Signature) -> bool:
    if one.question == _REASON:
        return other.question in _OTHERS and _single(one) and _single(other)
    if one.question != "yesno" or not QUESTION_WORDS.isdisjoint(one.vocabulary):
        return False
    if other.question == _REASON:
        return True
    if one.words[0] in _BEING and one.words[1:2] == ("there",):
        return False  # 'Is there a fee?' is 'How high is the fee?'
    if other.question == _MOMENT:
        return not one.dates
    return other.question in _MEASURED and _MEASURED[other.question].isdisjoint(one.vocabulary)


def _single(s: Signature) -> bool:
    """It asks one question alone: 'When and why?' asks two."""
    return sum(word in QUESTION_WORDS for word in s.words) == 1
