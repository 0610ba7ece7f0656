"""Whether a request contradicts what every known wording of an answer says alike.

Neighbours that agree on an answer tell little of a request that contradicts each of them: ten ways to have the heater
turned on are ten neighbours of 'turn the heater off'. Where the wordings differ among themselves in what is objected to
(5 euros, 9 euros), the answer does not hang on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set, Sized
from itertools import combinations
from typing import Final

from ..guards.plain import GUARDS
from ..text.signature import Signature

NEAR: Final = 3
"""Words in one of two texts alone up to which these are one text, edited."""
REFUSED: Final = 0.25
"""Probability that two texts take one answer below which the pair verifier takes an edit for another question."""
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


def edited(mine: Set[str], wordings: Sequence[Set[str]], hangs: Callable[[Set[str]], bool]) -> int:
    """The place of the wording that the request may be, but for an edit; -1 if there is none.

    `mine`, `wordings`: their words; `hangs`: whether the answer was never given without one of these.
    """
    apart = [len(mine ^ said) for said in wordings]
    nearest = min(range(len(wordings)), key=apart.__getitem__)
    replaced = wordings[nearest] - mine
    return nearest if apart[nearest] <= NEAR and (not replaced or hangs(replaced)) else -1
