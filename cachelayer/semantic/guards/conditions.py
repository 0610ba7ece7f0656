"""Guards: condition and consequence are exchanged, or what is first and what comes later, or you and I.

'If it rains do we cancel' / 'if we cancel does it rain', 'may you see my data' / 'may I see your data'. Other persons
are compared in `persons`.
"""

from __future__ import annotations

from typing import Final

from ..text.lexemes import NONE, POSSESSORS, stem
from ..text.lexicon import AUXILIARIES
from ..text.signature import QUESTION_WORDS, Signature

_PEOPLE: Final = frozenset("i you we they he she it there".split())
_SUBJECTS: Final = _PEOPLE.union(POSSESSORS, "the a an this that these those any".split())
_LINKING: Final = ("if", "before", "after", "until", "because")


def conditions(a: Signature, b: Signature) -> bool:
    """The same words, and nothing of the one's condition, or of what is said to come first, is in the other's."""
    return a.stems == b.stems and any(
        link in a.vocabulary and link in b.vocabulary and _apart(a, b, link) for link in _LINKING
    )


def _apart(a: Signature, b: Signature, link: str) -> bool:
    if link != "if" and (a.words.count(link) > 1 or b.words.count(link) > 1):
        return False
    mine, theirs = _condition(a, link), _condition(b, link)
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def _condition(s: Signature, link: str) -> frozenset[str]:
    """Stems from 'if' to where a question begins, or to the end."""
    start = s.words.index(link) + 1
    if s.words[start : start + 1] == ("of",):
        return NONE  # 'because of that'
    end = next((i for i in range(start + 1, len(s.words)) if _asks(s.words, i)), len(s.words))
    return s.stems.intersection(map(stem, s.words[start:end]))


def _asks(words: tuple[str, ...], at: int) -> bool:
    """Whether a question begins there: 'do I', 'is the', but not 'there is a'."""
    if words[at] in QUESTION_WORDS or words[at] == "then":
        return True
    return (
        words[at] in AUXILIARIES
        and words[at - 1] not in _PEOPLE
        and not _SUBJECTS.isdisjoint(words[at + 1 : at + 2])
    )


_FIRST: Final = dict.fromkeys("i me my mine we us our ours i'm i've i'd i'll we're we've myself".split(), 1)
_PERSON: Final = _FIRST | dict.fromkeys("you your yours you're you've you'd you'll yourself".split(), 2)
_BOTH: Final = frozenset((1, 2))


def mirrored(a: Signature, b: Signature) -> bool:
    """'Are you allowed to see my data' / 'am I allowed to see your data': you and I are exchanged throughout."""
    if a.stems != b.stems or ("from" in a.vocabulary) != ("from" in b.vocabulary):
        return False
    mine, theirs = _persons(a), _persons(b)
    return (
        len(mine) == len(theirs)
        and _BOTH.issubset(mine)
        and all(one != other for one, other in zip(mine, theirs, strict=True))
    )


def _persons(s: Signature) -> list[int]:
    return [_PERSON[word] for word in s.words if word in _PERSON]
