"""Whether a request contradicts what every known wording of an answer says alike.

Neighbours that agree on an answer tell little of a request that contradicts each of them: ten ways to have the heater
turned on are ten neighbours of 'turn the heater off'. Where the wordings differ among themselves in what is objected to
(5 euros, 9 euros), the answer does not hang on it. Nor do they tell of a request with another word in the place of one
that all of them have: 'is it part of the pro plan' beside 'does the free plan include it'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set, Sized
from itertools import combinations, pairwise
from typing import Final

from ..guards.plain import GUARDS
from ..text.lexemes import stem
from ..text.lexicon import FOREIGN, FUNCTION_WORDS
from ..text.signature import Signature
from .wording import AnswerWords, Signatures

NEAR: Final = 3
"""Words in one of two texts alone up to which these are one text, edited."""
_REFUSED: Final = 0.25
"""Probability that two texts take one answer below which the pair verifier takes an edit for another question."""
_DOUBTED: Final = 0.75
"""The same where a word that all labelled requests of the answer said is another, which none of them said."""
_SMALL: Final = FUNCTION_WORDS | FOREIGN
"""Words that are replaced without a change of what is asked."""
_SAID: Final[dict[str, Callable[[Signature], Sized]]] = {
    "numbers": lambda s: s.numbers,
    "identifiers": lambda s: s.ids or s.formal,
    "dates": lambda s: s.dates,
    "names": lambda s: s.names,
    "antonyms": lambda s: s.words,
    "roles": lambda s: s.words,
}
"""What a guard compares. A text that says nothing of it is wider or narrower than the other, and contradicts nobody."""


def contrary(mine: Signature, wordings: Sequence[Signature], objected: Sequence[int]) -> bool:
    """Whether a guard, of those at the places `objected`, objects to all wordings for what each of them says alike."""
    for name, guard in (GUARDS[place] for place in objected):
        of = _SAID.get(name)
        if of is None or not all(of(said) for said in (mine, *wordings)):
            continue
        alike = not any(guard(one, other) for one, other in combinations(wordings, 2))
        if alike and all(guard(mine, said) for said in wordings):
            return True
    return False


def find_edit(
    said: AnswerWords, read: Signatures, text: str, same: Sequence[str], *, near: bool, new: bool
) -> tuple[int, float]:
    """The place of the text that the request may be, but for an edit, of `same`, which hold the answer; and the
    probability of the pair verifier below which it is another question. (-1, 0) if there is none.

    `said`: by requests of this answer; `near`: the request has few other words than one of them; `new`: it has a word
    that none of these had.
    """
    words = read.words(text)
    gone = said.always(read.words(same[0]) - words - _SMALL) if new and said.labelled > 1 else None
    if gone and (unsaid := said.unsaid(words - _SMALL)):
        at = replaced(read(text), map(read, same), gone, unsaid)
        if at >= 0:
            return at, _DOUBTED
    at = edited(words, [*map(read.words, same)], said.always) if near else -1
    return at, _REFUSED if at >= 0 else 0.0


def edited(mine: Set[str], wordings: Sequence[Set[str]], hangs: Callable[[Set[str]], object]) -> int:
    """The place of the wording that the request may be, but for an edit; -1 if there is none.

    `mine`, `wordings`: their words; `hangs`: whether the answer was never given without one of these.
    """
    apart = [len(mine ^ said) for said in wordings]
    nearest = min(range(len(wordings)), key=apart.__getitem__)
    replaced = wordings[nearest] - mine
    return nearest if apart[nearest] <= NEAR and (not replaced or hangs(replaced)) else -1


def replaced(mine: Signature, wordings: Iterable[Signature], gone: Set[str], new: Set[str]) -> int:
    """The place of the first wording in which a word of `gone` stands where the request has one of `new`, -1 if none.

    That is before or behind the same word; and the one is no form of the other.
    """
    there = list(_beside(mine.words, new))
    for place, said in enumerate(wordings):
        for where, word in _beside(said.words, gone):
            if any(where == at and stem(word) != stem(other) for at, other in there):
                return place
    return -1


def _beside(words: Sequence[str], some: Set[str]) -> Iterable[tuple[tuple[str, str], str]]:
    """Each of `some` behind what stands before it, and before what stands behind it."""
    for before, after in pairwise("a" if word == "an" else word for word in words):
        if after in some:
            yield (before, ""), after
        if before in some:
            yield ("", after), before
