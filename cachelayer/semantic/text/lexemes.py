"""Everything that is asked about a single word, in one lookup instead of twenty; remembered for known words only.

Words that are neither in the shipped table nor in the lexicon may be private (names, numbers), so they are compiled
each time and never remembered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from . import lexicon as lx
from .opposites import ANTONYMS

NONE: Final[frozenset[str]] = frozenset()
POSSESSORS: Final = {
    "my": "me", "i": "me", "me": "me", "mine": "me", "i'm": "me", "i've": "me", "i'd": "me", "im": "me", "your": "you",
    "his": "he", "he": "he", "him": "he", "her": "she", "she": "she", "hers": "she", "their": "they", "they": "they",
    "them": "they", "our": "we", "we": "we", "us": "we",
}  # fmt: skip
CONDITIONS: Final = frozenset(
    "if unless except excluding without while until when after before during because despite instead besides".split()
)
PREPOSITIONS: Final = frozenset(
    "from to into onto in on at by with without for of off out up down over under about between through via".split()
)
JOINING: Final = frozenset(("and", "or", "nor", "plus"))
_DATES: Final = lx.RELATIVE_DAYS | lx.MONTHS | lx.WEEKDAYS
_MARKED: Final = frozenset().union(
    lx.CARDINALS, lx.MULTIPLIERS, lx.ORDINALS, lx.UNITS, lx.SPANS, _DATES, lx.PERIODS, lx.DIRECTIONS,
    lx.QUANTIFIERS, lx.MODALS, lx.NEGATIONS, lx.FOREIGN - lx.FUNCTION_WORDS, JOINING, lx.MONTHS_OR_VERBS,
)  # fmt: skip
"""Words of which a reader notes more than that they are there."""
_LISTED: Final = _MARKED.union(lx.FUNCTION_WORDS, ANTONYMS, CONDITIONS, PREPOSITIONS, POSSESSORS)


Aligned = tuple[str, str, int, bool, float]
"""Without a possessive ending: the word; its stem; its place in the table of words, or -1; whether that has it; and how
much it says, 0.15 .. 1.2: rare words more, function words little."""


class Lexeme:
    """One word, lower-case, with a plain apostrophe."""

    foreign = False
    """A function word of another language, or not written in ASCII."""
    figure = False
    """Letters and digits or a key: 'a4', 'covid-19', 'user_id', 'main.py'."""
    negation = False
    number = False
    """A cardinal, ordinal or multiplier."""
    date = ""
    month = ""
    """The date of 'may' and 'march' where they name a month."""
    unit = ""
    period = False
    direction = False
    joins = False
    """'and', 'or', 'nor', 'plus'."""
    quantifiers = NONE
    modals = NONE
    links = False
    """Any of the three that follow."""
    possessor = ""
    """Who is meant: 'me' of 'mine'."""
    condition = False
    preposition = False

    def __init__(self, word: str, stem: str, aligned: Aligned, function: bool, plain: bool) -> None:
        self.word, self.stem, self.aligned, self.function = word, stem, aligned, function
        self.plain = plain
        """Nothing of the above is true of it but `links`: what is noted is its stem and `against`."""
        self.against: tuple[str, ...] = ()
        """Its opposites, and what follows a negative prefix: 'lock' of 'unlock'."""


_DOTTED: Final = re.compile(r"\w(?:\.\w)+")
"""'p.m', 'u.s.a'."""
SHORT: Final = dict(
    pair.split("=")
    for pair in """w/o=without w/out=without wk=week wks=weeks wkend=weekend wknd=weekend tonite=tonight
    tmrw=tomorrow tmr=tomorrow tomoz=tomorrow pw=password appt=appointment appts=appointments
    msg=message msgs=messages pls=please plz=please shld=should wld=would cld=could abt=about cuz=because coz=because
    bcoz=because becuz=because b4=before acct=account accts=accounts nr=number flr=floor hols=holidays
    govt=government ppl=people pic=picture pics=pictures info=information thru=through tho=though wot=what
    wots=what's wats=what's e-mail=email e-mails=emails wi-fi=wifi on-line=online plug-in=plugin plug-ins=plugins
    e-ticket=eticket e-tickets=etickets pre-order=preorder pre-orders=preorders k8s=kubernetes js=javascript
    postgres=postgresql mongo=mongodb mins=minutes secs=seconds hrs=hours yrs=years txn=transaction
    txns=transactions""".split()
)
"""What is written for a word by everybody, and for no other."""
_KEY: Final = re.compile(r"_|[+#]\w|[^\W_]{2}\.[^\W_]{2}")


class Lexemes(dict[str, Lexeme]):
    """Words to what is known of them; any string may be asked for. `ids`: places in the table of words."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        super().__init__()
        self._ids = ids
        self._log_size = math.log1p(len(ids))

    def __missing__(self, low: str) -> Lexeme:
        word = SHORT.get(low) or low.replace("\u2019", "'")
        if _DOTTED.fullmatch(word) and (
            (bare := word.replace(".", "")) in lx.UNITS or bare not in lx.FUNCTION_WORDS
        ):
            word = bare
        found = self.get(word)
        if found is None:
            found = self._compile(word)
            if word in _LISTED:
                _look_up(found)
                self[word] = found
            elif word in self._ids:
                self[word] = found
        return found

    def _compile(self, word: str) -> Lexeme:
        base, short = word.removesuffix("'s"), stem(word)
        at = self._ids.get(base, -1)
        weight = 0.15 if base in lx.FUNCTION_WORDS else self._rarity(at)
        aligned = base, short if base == word else stem(base), at, at >= 0, weight
        found = Lexeme(word, short, aligned, word in lx.FUNCTION_WORDS, word not in _MARKED)
        found.against = tuple(lx.without_prefix(word))
        if not word.isalpha():
            found.figure = len(word) > 1 and (any(c.isdigit() for c in word) or bool(_KEY.search(word)))
            found.negation = word.endswith("n't")
            found.plain = found.plain and not found.figure and not found.negation
        if not word.isascii():
            found.foreign, found.plain = True, False
        if base != word and (base in _DATES or base in lx.PERIODS):  # 'today's menu', 'last week's'
            found.date, found.period, found.plain = _DATES.get(base, ""), base in lx.PERIODS, False
        return found

    def _rarity(self, at: int) -> float:
        return 1.2 if at < 0 else 0.4 + 0.6 * math.log1p(at) / self._log_size


def _look_up(found: Lexeme) -> None:
    """What the lexicon says of a word that it has."""
    word = found.word
    found.against = (*sorted(ANTONYMS.get(word, ())), *found.against)
    found.foreign = found.foreign or word in lx.FOREIGN
    found.negation = found.negation or word in lx.NEGATIONS
    found.number = word in lx.CARDINALS or word in lx.MULTIPLIERS or word in lx.ORDINALS
    found.date = _DATES.get(word, "")
    found.month = lx.MONTHS_OR_VERBS.get(word, "")
    found.unit = lx.UNITS.get(word, "")
    found.period = word in lx.PERIODS
    found.direction = word in lx.DIRECTIONS
    found.joins = word in JOINING
    found.quantifiers = frozenset((lx.QUANTIFIERS[word],)) if word in lx.QUANTIFIERS else NONE
    found.modals = frozenset((lx.MODALS[word],)) if word in lx.MODALS else NONE
    found.possessor = POSSESSORS.get(word, "")
    found.condition = word in CONDITIONS
    found.preposition = word in PREPOSITIONS
    found.links = bool(found.possessor) or found.condition or found.preposition


_SECURE: Final = frozenset(("https", "ftps", "ldaps", "imaps", "smtps"))
"""Not several of what they are without the 's'."""


def stem(word: str) -> str:
    """A light suffix stripper: plural, -ed, -ing, -ly, possessive. Deterministic; made for equality only."""
    if word.endswith(("'s", "\u2019s")):
        word = word[:-2]
    n = len(word)
    if n <= 3:
        return word
    if word.endswith("ies") and n > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _SECURE:
        word = word[:-1]
    for suffix in ("ing", "ed", "ly"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
