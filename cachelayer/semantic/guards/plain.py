"""Named reasons why two requests may take different answers although their vectors agree.

Each guard is a pure function of two signatures and speaks only where it sees a conflict. They are strict,
made for the moment when nothing is known but the two texts. Where neighbours and their answers are known,
the same conflicts are features of a decision, not vetoes: as a blanket veto they cost more than they save.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress
from operator import attrgetter, ne
from typing import Final

from ..text import lexicon as lx
from ..text.lengths import LONGEST
from ..text.lexemes import JOINING, stem
from ..text.opposites import ANTONYMS
from ..text.signature import Signature

Guard = Callable[[Signature, Signature], bool]


def numbers(a: Signature, b: Signature) -> bool:
    """A number of one side is missing on the other, or has another unit."""
    if a.numbers == b.numbers:
        return False
    mine, theirs = unlike(a, b)
    if sorted(v for v, _ in mine) != sorted(v for v, _ in theirs):
        return True
    only, other = ({v for v, u in x if u} for x in (mine, theirs))
    return not only.isdisjoint(other)


Numbers = list[tuple[str, str]]
_OLD: Final = frozenset(("old", "olds", "aged"))
_AGED: Final = frozenset(
    """is am was i'm im he's she's who's age aged at turn turns turning turned child's son's daughter's""".split()
)
_MONTHS: Final = 12
_SPANS: Final = {
    ("1", "minute"): "minute", ("1", "hour"): "hour", ("1", "day"): "day", ("7", "day"): "week",
    ("1", "month"): "month", ("12", "month"): "year", ("120", "month"): "decade", ("1200", "month"): "century",
}  # fmt: skip
_BOUNDS: Final = frozenset("within after before in over under every".split())
_SINGLE: Final = frozenset("a an one per single whole full".split())


def unlike(a: Signature, b: Signature) -> tuple[Numbers, Numbers]:
    """The numbers of either that the other does not say in any form."""
    mine, theirs = Counter(a.numbers), Counter(b.numbers)
    left, right = [*(mine - theirs).elements()], [*(theirs - mine).elements()]
    _settle(left, right, a, b)
    _settle(right, left, b, a)
    return left, right


def _settle(own: Numbers, others: Numbers, a: Signature, b: Signature) -> None:
    """Take away what is said in another form: 'ten years old' / 'she is ten', 'seven days' / 'a week'."""
    aged = not _OLD.isdisjoint(a.vocabulary)
    for value, unit in own.copy():
        counted = aged and unit == "month" and value.isdigit() and len(value) <= LONGEST
        years, rest = divmod(int(value), _MONTHS) if counted else (0, 0)
        if years and not rest and (str(years), "") in others and _aged(b.words):
            own.remove((value, unit))
            others.remove((str(years), ""))
        elif (span := _SPANS.get((value, unit))) and _single(span, b, a) and not _single(span, a, b):
            own.remove((value, unit))


def _aged(words: Sequence[str]) -> bool:
    """'She is ten', 'turning 60', 'at sixteen', but 'there is ten euros'."""
    return any(
        before in _AGED and (word in lx.CARDINALS or word.isdigit()) and after in lx.FUNCTION_WORDS
        for before, word, after in zip(words, words[1:], (*words[2:], "a"), strict=False)
    )


def _single(span: str, s: Signature, other: Signature) -> bool:
    """Whether it speaks of 'a week', which is no 'within a week' where the other is not within anything."""
    if span not in s.vocabulary:
        return False
    return any(
        word == span and one in _SINGLE and (before not in _BOUNDS or before in other.vocabulary)
        for before, one, word in zip(("", *s.words), s.words, s.words[1:], strict=False)
    )


def dates(a: Signature, b: Signature) -> bool:
    """Weekday, month or relative day differ; 'in fall' is 'in autumn', which a fall of prices is not."""
    if a.dates == b.dates:
        return False
    told, other = (a, b) if "autumn" in a.dates else (b, a)
    fall = "fall" in other.vocabulary and "fall" not in told.vocabulary
    return a.dates ^ b.dates != {"autumn"} or not fall


def identifiers(a: Signature, b: Signature) -> bool:
    """Identifiers, code, addresses, links, the marks of a formula or capitals that matter differ."""
    return a.ids != b.ids or a.formal != b.formal or (a.capitals != b.capitals and _named_alone(a, b))


def _named_alone(a: Signature, b: Signature) -> bool:
    """Both use capitals, and a word within both is a name in one alone: 'the US' / 'us', 'Polish' / 'polish'."""
    if a.capitals is None or b.capitals is None:
        return False
    return any(
        w in a.vocabulary and w in b.vocabulary and not _opens(w, a, b) for w in a.capitals ^ b.capitals
    )


def _opens(word: str, a: Signature, b: Signature) -> bool:
    """Whether it stands at the beginning of a text alone, where every word has a capital."""
    return any(s.words[0] == word and s.words.count(word) == 1 for s in (a, b))


def names(a: Signature, b: Signature) -> bool:
    """Each side names something that the other does not mention in any spelling."""
    if a.names.issubset(b.stems) and b.names.issubset(a.stems):
        return False
    return bool(a.names and b.names) or _cased(a, b)


def _cased(a: Signature, b: Signature) -> bool:
    """Both texts are long enough that a missing name is not just another habit of writing."""
    return len(a.words) > 2 and len(b.words) > 2


def negation(a: Signature, b: Signature) -> bool:
    """One side is negated and the other is not."""
    return a.negations % 2 != b.negations % 2


def antonyms(a: Signature, b: Signature) -> bool:
    """A word stands against its opposite: 'on' / 'off', 'enable' / 'disable', 'able' / 'unable'."""
    left, right = a.vocabulary, b.vocabulary
    if right.isdisjoint(a.against) and left.isdisjoint(b.against):
        return False
    only_left, only_right = left - right, right - left
    for word in only_left & _OPPOSED:
        if not only_right.isdisjoint(ANTONYMS[word]):
            return True
    return _negated(only_left, only_right) or _negated(only_right, only_left)


_OPPOSED: Final = frozenset(ANTONYMS)


def _negated(words: frozenset[str], plain: frozenset[str]) -> bool:
    """Whether a word is another with a negative prefix."""
    return any(not plain.isdisjoint(lx.without_prefix(word)) for word in words)


def roles(a: Signature, b: Signature) -> bool:
    """The same things in swapped places: 'from A to B' / 'from B to A', 'A beats B' / 'B beats A'."""
    if len(a.stems) < 2 or a.stems != b.stems:
        return len(a.roles) > 1 and len(b.roles) > 1 and _swapped(dict(a.roles), dict(b.roles))
    if a.content == b.content:
        return a.roles != b.roles and dict(a.roles) != dict(b.roles) and set(a.words) == set(b.words)
    if len(a.stems) < 3 and not a.roles:
        return False  # "lost my card" / "my card is lost"
    return not _joined_by_and(a, b)


def _swapped(left: dict[str, str], right: dict[str, str]) -> bool:
    same = [k for k in left if k in right]
    return any(left[p] == right[q] != left[q] == right[p] for i, p in enumerate(same) for q in same[i + 1 :])


def _joined_by_and(a: Signature, b: Signature) -> bool:
    """A list keeps its meaning in another order; with no direction word between them so does a request."""
    return ("and" in a.words or "or" in a.words) and not a.roles and not b.roles


def quantifiers(a: Signature, b: Signature) -> bool:
    """'all' against 'some', 'only' added or dropped, 'except', 'both'."""
    return not (a.quantifiers ^ b.quantifiers) <= {"just", "many"}


def modality(a: Signature, b: Signature) -> bool:
    """'must' against 'may', 'can' or 'should'."""
    return bool(a.modals and b.modals) and ("must" in a.modals) != ("must" in b.modals)


def conjunct(a: Signature, b: Signature) -> bool:
    """One of two things joined by 'and' or 'or' is missing on the other side."""
    return a.joins != b.joins and (_half(a, b) if a.joins else _half(b, a))


def _half(a: Signature, b: Signature) -> bool:
    """`a` joins something, `b` does not."""
    for i, word in enumerate(a.words):
        if word in JOINING:
            before = (
                next((stem(w) for w in a.words[i - 1 :: -1] if w not in lx.FUNCTION_WORDS), "") if i else ""
            )
            after = next((stem(w) for w in a.words[i + 1 :] if w not in lx.FUNCTION_WORDS), "")
            if before and after and (before in b.stems) != (after in b.stems):
                return True
    return False


def question(a: Signature, b: Signature) -> bool:
    """Two different question words: 'who' / 'when', 'how many' / 'how'."""
    return a.question != b.question and a.question not in _OPEN and b.question not in _OPEN


_OPEN: Final = ("", "other", "yesno")


def language(a: Signature, b: Signature) -> bool:
    """One text only is English, or neither is and their words or the order of these differ: what words do in a sentence
    cannot be read."""
    return a.english != b.english or (not a.english and a.words != b.words)


GUARDS: Final[tuple[tuple[str, Guard], ...]] = (
    ("numbers", numbers),
    ("identifiers", identifiers),
    ("dates", dates),
    ("negation", negation),
    ("antonyms", antonyms),
    ("roles", roles),
    ("names", names),
    ("quantifiers", quantifiers),
    ("modality", modality),
    ("conjunct", conjunct),
    ("question", question),
    ("language", language),
)
"""In the order in which they are asked: the surest first."""

FACTS: Final = ("numbers", "identifiers", "dates")
"""Guards that hold in every language and even where neighbours agree on the answer."""


_OF: Final = {
    "numbers": ("numbers",), "ids": ("identifiers",), "formal": ("identifiers",), "capitals": ("identifiers",),
    "dates": ("dates",), "negations": ("negation",), "words": ("antonyms", "language"), "content": ("roles",),
    "roles": ("roles",), "names": ("names",), "quantifiers": ("quantifiers",), "modals": ("modality",),
    "joins": ("conjunct",), "question": ("question",), "english": ("language",),
}  # fmt: skip
"""Per field of a signature the guards that may speak where two differ in it; where none of a guard's differs, it is
silent."""
_COMPARED: Final = tuple((field, guard) for field, guards in _OF.items() for guard in guards)
_FIELDS: Final = attrgetter(*(field for field, _ in _COMPARED))
_PLACES: Final = tuple([name for name, _ in GUARDS].index(guard) for _, guard in _COMPARED)


def objecting(a: Signature, b: Signature) -> list[int]:
    """Places in `GUARDS` of those that see a conflict."""
    differ = compress(_PLACES, map(ne, _FIELDS(a), _FIELDS(b)))
    return [place for place in sorted({*differ}) if GUARDS[place][1](a, b)]


def veto(a: Signature, b: Signature) -> str:
    """The name of the first guard that sees a conflict, or ''."""
    objected = objecting(a, b)
    return GUARDS[objected[0]][0] if objected else ""
