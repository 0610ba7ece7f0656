"""Guards: what is so and what is not are exchanged, or what is excepted is meant.

'It rings but does not light up' / 'it lights up but does not ring', 'is anything but water allowed' / 'is water
allowed', 'is it served on days other than Monday' / 'on Monday'.
"""

from __future__ import annotations

from typing import Final

from ..text.lexemes import stem
from ..text.lexicon import AUXILIARIES, FUNCTION_WORDS, NEGATIONS
from ..text.signature import Signature

_DENYING: Final = frozenset(
    """not never cannot don't doesn't didn't won't can't isn't aren't wasn't weren't couldn't wouldn't shouldn't hasn't
    haven't hadn't""".split()
)
_SUPPOSING: Final = frozenset("or if when yet know sure understand remember find figure".split())
_JOINING: Final = frozenset("but though although yet and while whereas or".split())
_APART: Final = frozenset(("not", "without", "no"))
_HELPING: Final = AUXILIARIES.union(
    "be been i'm it's he's she's we're they're you're that's there there's".split()
)
"""'Not' behind one of these denies all of its clause: 'the fan is not on'."""
_NEAR: Final = 2
"""Words of content that texts may differ in which speak of one thing."""
_NOT: Final = NEGATIONS.union("isn't aren't wasn't weren't don't doesn't didn't can't won't".split())


def contrasts(a: Signature, b: Signature) -> bool:
    """What is denied in one text is affirmed in the other, and the other way round; or excepted in one alone."""
    if ("but" in a.vocabulary or "but" in b.vocabulary) and len(a.stems ^ b.stems) <= _NEAR:
        one, other = _excepts(a), _excepts(b)
        if one != other and _EXCEPTING.isdisjoint((b if one else a).vocabulary):
            return True
    if _others(a, b) or _others(b, a):
        return True
    if a.stems != b.stems or not (a.negations or b.negations):
        return False
    if a.negations != b.negations:
        return _denied(a) != _denied(b)
    (so, denied), (so_too, denied_too) = _sides(a.words), _sides(b.words)
    mine, theirs = denied - denied_too, denied_too - denied
    return bool(mine and theirs) and mine <= so_too and theirs <= so


def _denied(s: Signature) -> bool:
    """Whether it says that something is not so; 'or not' does not, nor 'I don't know how'."""
    return (
        s.negations % 2 > 0 and not s.vocabulary.isdisjoint(_DENYING) and s.vocabulary.isdisjoint(_SUPPOSING)
    )


def _others(a: Signature, b: Signature) -> bool:
    """Others than a thing, and the thing itself."""
    if "other" not in a.vocabulary or not _EXCEPTING.isdisjoint(b.vocabulary):
        return False
    words = a.words
    at = next((i for i in range(len(words) - 1) if words[i : i + 2] == ("other", "than")), -1)
    thing = next((w for w in words[at + 2 :] if w not in FUNCTION_WORDS), "") if at >= 0 else ""
    return thing != "" and (thing in b.vocabulary or stem(thing) in b.stems)


def _sides(words: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """Stems of what is so, and of what is denied."""
    so, denied = set[str](), set[str]()
    clause, negated, before = set[str](), False, ""
    for word in (*words, "but"):
        if word in _JOINING or (word in _APART and clause and before not in _HELPING):
            (denied if negated else so).update(clause)
            clause, negated = set(), word in _APART
        elif word in _NOT:
            negated = True
        if word not in FUNCTION_WORDS:
            clause.add(stem(word))
        before = word
    return so, denied


_ALL: Final = frozenset(
    "anything everything everyone everybody anyone anybody nobody all none last next who".split()
)
_EACH: Final = frozenset(("every", "any", "each", "all"))
_CLAUSE: Final = frozenset(
    """i it he she we they you there this that these those what when how why who where if not no nothing nobody none
    never only still now then can could is was are were do does did have has had will would don't doesn't didn't can't
    cannot couldn't isn't wasn't won't to""".split()
)
"""Behind 'but' these begin a clause: 'I tried everything but it still fails'."""
_EXCEPTING: Final = NEGATIONS.union(
    """but except excluding exclude excludes besides other apart aside save only isn't aren't don't doesn't
    didn't""".split()
)


def _excepts(s: Signature) -> bool:
    """'Anything but a card', 'every day but Monday', 'the last but one'."""
    if "but" not in s.vocabulary:
        return False
    at = s.words.index("but")
    if at == 0 or not _CLAUSE.isdisjoint((*s.words[at + 1 : at + 2], *(() if s.words[at + 1 :] else ("i",)))):
        return False
    return s.words[at - 1] in _ALL or (at > 1 and s.words[at - 2] in _EACH)
