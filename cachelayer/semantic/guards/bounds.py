"""Guard: the texts mean different sides of the same number, however they are worded.

'more than ten years of service' / 'here for less than ten years', '30 goals or more' / 'fewer than 30 goals'. It also
tells 'both of two' from 'one of two'. Sides of a date are compared in `relations`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

_THAN: Final = dict.fromkeys(
    "more greater higher longer older larger bigger taller heavier".split(), True
) | dict.fromkeys("less fewer lower shorter younger smaller lighter cheaper".split(), False)
_ALONE: Final = dict.fromkeys("over above exceeding exceed exceeds".split(), True) | {
    "under": False,
    "below": False,
}
_PAIRS: Final = {
    ("at", "least"): True, ("minimum", "of"): True,
    ("at", "most"): False, ("maximum", "of"): False, ("up", "to"): False,
}  # fmt: skip
_BEHIND: Final = dict.fromkeys("more above over older up longer".split(), True) | dict.fromkeys(
    "less fewer under below younger shorter".split(), False
)
"""'4 stars or more', '12 and under'."""
_NOT: Final = frozenset(
    "no not isn't aren't wasn't don't doesn't didn't never nor nothing without cannot can't won't shouldn't".split()
)
_POINTING: Final = frozenset("this that which the each every no any".split())
_HINTS: Final = frozenset(("than", "least", "most", "to", "of")).union(_ALONE, _BEHIND)


def bounds(a: Signature, b: Signature) -> bool:
    """A number is the least in one text and the most in the other."""
    if not a.numbers or not b.numbers or _HINTS.isdisjoint(a.vocabulary) or _HINTS.isdisjoint(b.vocabulary):
        return False
    mine, theirs = dict(_sides(a.words)), dict(_sides(b.words))
    return any(theirs.get(value, above) != above for value, above in mine.items())


def both(a: Signature, b: Signature) -> bool:
    """One text is about both of two, the other about one of them: 'both parents' / 'one parent'."""
    if ("both" in a.vocabulary) == ("both" in b.vocabulary):
        return False
    two, one = (a, b) if "both" in a.vocabulary else (b, a)
    if "either" in one.vocabulary:
        return "either" not in two.vocabulary
    return any(
        word == "one" and before not in _POINTING and (after == "of" or stem(after) in two.stems)
        for before, word, after in zip(("", *one.words), one.words, one.words[1:], strict=False)
    )


def _sides(words: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Numbers with True for the least and False for the most; none of a text that denies something else."""
    denied = sum(word in _NOT for word in words)
    for i, word in enumerate(words):
        value = str(lx.CARDINALS.get(word, word))
        if not value[0].isdigit():
            continue
        above, at = _before(words, i)
        if above is None:
            above, at = _after(words[i + 1 : i + 5]), i
        turned = at > 0 and words[at - 1] in _NOT
        if above is not None and denied == turned:
            yield value, above != turned


def _before(words: tuple[str, ...], at: int) -> tuple[bool | None, int]:
    """Which side the words before a number say, and where these begin."""
    pair = words[max(at - 2, 0) : at]
    if len(pair) == 2 and (pair in _PAIRS or (pair[1] == "than" and pair[0] in _THAN)):
        return _PAIRS.get(pair, _THAN.get(pair[0])), at - 2
    return (_ALONE.get(pair[-1]), at - 1) if pair else (None, at)


def _after(words: tuple[str, ...]) -> bool | None:
    """'Or more', at once or behind a thing."""
    for i, word in enumerate(words[:-1]):
        if word in ("or", "and"):
            return _BEHIND.get(words[i + 1])
    return None
