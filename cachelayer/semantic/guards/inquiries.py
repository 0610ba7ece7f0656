"""Guards: the texts ask different kinds of question about the same thing, or one of them asks one question more.

The kinds: whether it is so, who, why, when, for how long, how it is done, what it is. 'Is fried food unhealthy?' / 'Why
is fried food unhealthy?', 'Should I learn Go?' / 'How do I learn Go?', 'Is migraine hereditary?' / 'What is migraine?'.
One more: 'Who wrote Hamlet?' / 'Who wrote Hamlet? When?', 'When do you open?' / 'When and where do you open?'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text.lexemes import PREPOSITIONS
from ..text.signature import QUESTION_WORDS, Signature
from .permissions import matter

MEASURED: Final = {
    "how long": frozenset(("long", "longer", "quick", "quickly", "fast", "soon", "time")),
    "how often": frozenset(
        ("often", "many", "times", "frequently", "regularly", "every", "daily", "weekly", "monthly")
    ),
    "how far": frozenset(("far", "near", "close")),
    "how old": frozenset(("old", "age")),
    "how many": frozenset(("many", "much", "limit", "limited", "maximum", "minimum", "enough", "several")),
    "price": frozenset(
        """much cost costs price prices priced fee fees charge charged charges expensive cheap cheaper cheapest free pay
        paid euro euros dollar dollars pound pounds""".split()
    ),
}
"""What measures tell, and with which words one may ask for them by yes or no: 'Does it take long?'."""
_RATED: Final = frozenset("times per daily weekly monthly every each once twice".split())
_SPANS: Final = frozenset("hour day week month year".split())
"""With one of these, or 'a' before one, one may ask how much in place of how often."""
_REASON, _MOMENT = "why", "when"
_PEOPLE: Final = frozenset(("who", "whose"))
_UNLIKE_WHO: Final = frozenset((_MOMENT, *MEASURED))
_OTHERS: Final = frozenset((_MOMENT, "who", "whose", "where", *MEASURED))
WHATS: Final = frozenset(("what's", "whats"))
BEING: Final = frozenset(("is", "are", "was", "were"))
_MAY: Final = frozenset(("can", "could", "should"))
_PERSONS: Final = frozenset(("i", "we", "you"))
_FACTS: Final = BEING.union(("does", "did", "has"))
_IMPERSONAL: Final = frozenset("there possible anything something anybody anyone".split())
"""'Is there something I can take?' is 'What can I take?'."""
_IF: Final = (("what", "happens", "if"), ("what", "happens", "when"))
_WEIGHED: Final = frozenset("should can may must do".split())
_RESULTS: Final = frozenset(
    "if when unless without happen happens consequence consequences effect effects affect lose cost costs".split()
)
_WAYS: Final = frozenset(("how", "where"))
_LEAVE: Final = frozenset("allowed permitted legal legally lawful illegal forbidden prohibited".split())
_POINTING: Final = frozenset(("a", "an", "the"))
_OWNED: Final = frozenset("the my your our his her their".split())
_NEARBY: Final = PREPOSITIONS.union(
    "here there near nearby close far around inside outside located situated lost missing found next".split()
)
_ASKING: Final = frozenset("who whom when where why how which".split())
_COURSES: Final = frozenset(("how", "when", "where"))
_UNREASONED: Final = _COURSES.union(MEASURED)
"""What asks for no reason, and is told without one."""
_LINKS: Final = frozenset(("and", "or"))
_TRAILING: Final = frozenset(("exactly", "please", "then"))
_KNOWN: Final = frozenset(
    """know knows knew known sure certain understand idea remember forgot forget learn see tell told show explain say me
    us out matter since until till from by about to of the a that this some any no depending""".split()
)
"""Before a question word that is told of, not asked: 'I don't know how', 'show me where', 'until when'."""
_LONGEST: Final = 2
"""Words of a thing that is asked to be defined."""


def inquiries(a: Signature, b: Signature) -> bool:
    """One text asks whether, the other why, when, how long, how or what it is; or one why, the other something else."""
    return a.question != b.question and (_apart(a, b) or _apart(b, a))


def questions(a: Signature, b: Signature) -> bool:
    """One text has a question word standing alone that the other one does not ask with."""
    mine, theirs = _ASKING & a.vocabulary, _ASKING & b.vocabulary
    return mine != theirs and (_further(a, b, theirs) or _further(b, a, mine))


def _further(one: Signature, other: Signature, asked: frozenset[str]) -> bool:
    """A reason is given unasked where something is chosen or judged: 'Which is the best, and why?'."""
    if "how" in asked and "come" in other.vocabulary:
        asked |= {_REASON}
    more = _alone(one.words) - asked
    return bool(more - {_REASON}) or (bool(more) and other.question in _UNREASONED)


def _alone(words: tuple[str, ...]) -> set[str]:
    """Question words with which nothing is asked, or which share what is asked: 'Who? When?', 'how and when do I'."""
    found, end = set[str](), len(words)
    while end and words[end - 1] in _TRAILING:
        end -= 1
    for i, word in enumerate(words[:end]):
        if word in _ASKING and (i == 0 or words[i - 1] not in _KNOWN):
            after = words[i + 1 : min(i + 3, end)]
            linked = after[1:] if _LINKS.issuperset(after[:1]) else after[:1]
            if _ASKING.issuperset(linked):
                found.update((word, *linked))
    return found


def _apart(one: Signature, other: Signature) -> bool:
    if one.question == "who":
        return other.question in _UNLIKE_WHO and _single(one) and _single(other)
    if one.question == "how often":
        return other.words[:2] == ("how", "much") and not _rated(other)
    if one.question == _REASON:
        return other.question in _OTHERS and _single(one) and _single(other)
    if one.question != "yesno" or not QUESTION_WORDS.isdisjoint(one.vocabulary):
        return False
    if other.question == _REASON:
        return True
    if one.words[0] in BEING and one.words[1:2] == ("there",):
        return False  # 'Is there a fee?' is 'How high is the fee?'
    if other.question in _PEOPLE:
        return (
            one.words[0] in _MAY and one.words[1:2] in (("i",), ("we",)) and _IMPERSONAL.isdisjoint(one.words)
        )
    if other.question == _MOMENT:
        return one.dates <= other.dates  # 'is it on Monday' may be 'when is it'
    if other.question in _WAYS:
        return (_weighed(one) and _LEAVE.isdisjoint(other.vocabulary)) or _placed(one, other)
    if other.question == "what":
        if other.words[:3] in _IF and _weighing(one):
            return True
        if one.words[0] in _FACTS and _IMPERSONAL.isdisjoint(one.words[:4]) and _may(other.words):
            return True
        return one.words[1:2] != ("you",) and _defined(other) and other.stems < one.stems
    return other.question in MEASURED and MEASURED[other.question].isdisjoint(one.vocabulary)


def _rated(s: Signature) -> bool:
    """'How much exercise do I need a week?'."""
    return not _RATED.isdisjoint(s.vocabulary) or any(
        a == "a" and span in _SPANS for a, span in pairwise(s.words)
    )


def _weighing(s: Signature) -> bool:
    """'Should I cancel it?', 'Do I have to pay to cancel it?'; not 'Do I lose anything if I cancel it?'."""
    return (
        s.words[0] in _WEIGHED and not _PERSONS.isdisjoint(s.words[1:2]) and _RESULTS.isdisjoint(s.vocabulary)
    )


def _may(words: tuple[str, ...]) -> bool:
    """'What can I take for a fever?'; 'Is a fever dangerous?' is another question."""
    return words[0] == "what" and not _MAY.isdisjoint(words[1:2]) and not _PERSONS.isdisjoint(words[2:3])


def _placed(one: Signature, other: Signature) -> bool:
    """'Is the gym good?' / 'Where is the gym?', where the first says of no place."""
    if other.words[0] not in ("where", "where's") or not other.stems < one.stems:
        return False
    return one.words[0] in BEING and one.words[1] in _OWNED and _NEARBY.isdisjoint(one.vocabulary)


def _weighed(s: Signature) -> bool:
    """It asks for advice or a duty, or for leave outright; 'can I' and 'is it possible' may ask how."""
    return matter(s) in ("advice", "duty") or (matter(s) == "leave" and not _LEAVE.isdisjoint(s.vocabulary))


def _defined(s: Signature) -> bool:
    """'What is migraine?', 'What are the Alps?'."""
    words = s.words
    start = behind_what(words)
    named = words[start + 1 :] if words[start : start + 1] and words[start] in _POINTING else words[start:]
    return start > 0 and len(named) == len(s.content) <= _LONGEST


def behind_what(words: Sequence[str]) -> int:
    """How many words "what's" or "what is" are, which `words` begin with; 0 if they do not."""
    if words[0] in WHATS:
        return 1
    return 2 if words[0] == "what" and not BEING.isdisjoint(words[1:2]) else 0


def _single(s: Signature) -> bool:
    """It asks one question alone: 'When and why?' asks two."""
    return sum(word in QUESTION_WORDS for word in s.words) == 1
