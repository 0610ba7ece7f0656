"""What a request says that a vector blurs: numbers, dates, names, negation, order. Computed once per text.

English word classes; numbers, identifiers, code and names are found in any language written in Latin script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from . import lexicon as lx

_TOKEN: Final = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<link>(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<minus>(?<![\w)\]])-(?=\.?\d)|(?<=\d )-(?= \d))"
    r"|(?P<num>\d+(?:[.,:/-]\d+)*)(?P<tail>[a-z%]*)(?![\w])"
    "|(?P<word>[^\\W_]+(?:['\u2019._/+#-][^\\W_]+)*[+#]*)"
    r"|(?P<sym>[€£¥%]|\$(?![^\W\d]))"
    r"|(?P<sign>!=+|!(?=\w)|[^\w\s.,;:!?'\"()\[\]{}`\u2026\u2018-\u201f\u2039\u203a\u2010-\u2015\u2022\u2122\u200b-\u200f\ufe0f\xa1\xa9\xab\xae\xb0\xb4\xb7\xbb\xbf-]+)"
    r"|(?P<stop>[.!?\n])",
    re.IGNORECASE,
)
_FACES: Final = frozenset("\U0001f642\U0001f60a\U0001f600\U0001f604\U0001f603\U0001f609\U0001f64f\U0001f44b")
"""Smiles and greetings that add nothing to words."""
_ORDINAL_TAILS: Final = ("st", "nd", "rd", "th")


@dataclass(frozen=True, slots=True)
class Signature:
    """The symbolic side of one text; compared field by field with another's."""

    words: tuple[str, ...]
    """Every word and number, lower-case, in order."""
    vocabulary: frozenset[str]
    """`words` as a set."""
    content: tuple[str, ...]
    """Stems of the words that carry meaning, in order."""
    stems: frozenset[str]
    """`content` as a set."""
    numbers: tuple[tuple[str, str], ...]
    """(value, unit or ''), sorted."""
    dates: frozenset[str]
    ids: frozenset[str]
    """Identifiers, code, addresses, links, signs: '+', '!=', an emoji."""
    names: frozenset[str]
    """Capitalized words that do not open a sentence; empty for text without case."""
    negations: int
    quantifiers: frozenset[str]
    modals: frozenset[str]
    question: str
    """'who', 'how many', ... for a question; 'yesno'; '' for anything else."""
    roles: tuple[tuple[str, str], ...]
    """(direction word, stem of what follows it), in order."""
    english: bool
    """False where words of other languages outnumber English ones: word classes cannot be read then."""


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
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed", "ly"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def number(text: str) -> str:
    """One spelling per value: '1,000' and '1000.0' are '1000'; times and dates keep their separators."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    if text.count(".") == 1 and text.replace(".", "").isdigit():
        text = text.rstrip("0").rstrip(".")
    return text.lstrip("0") or "0" if text.isdigit() else text


class _Reader:
    """One pass over a text."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.content: list[str] = []
        self.numbers: list[tuple[str, str]] = []
        self.dates: set[str] = set()
        self.ids: set[str] = set()
        self.names: set[str] = set()
        self.roles: list[tuple[str, str]] = []
        self.negations = 0
        self.direction = ""
        self.opening = True
        self.currency = ""
        self.pending: int | None = None
        self.minus = False
        self.faces: list[str] = []
        self.balance = 0  # English function words less foreign ones

    def flush_number(self) -> None:
        if self.pending is not None:
            self.add_number(str(self.pending), "")
            self.pending = None

    def add_number(self, value: str, unit: str) -> None:
        self.numbers.append((value, unit or self.currency))
        self.currency = ""
        self.content.append(value)
        self.role(value)

    def role(self, what: str) -> None:
        if self.direction:
            self.roles.append((self.direction, what))
            self.direction = ""

    def digits(self, value: str, tail: str) -> None:
        self.flush_number()
        sign, self.minus = "-" if self.minus else "", False
        self.words.append(value + tail)
        if tail and tail not in lx.UNITS and tail not in _ORDINAL_TAILS:
            self.ids.add(value + tail)
            self.content.append(value + tail)
            self.role(value + tail)
            return
        unit = "th" if tail in _ORDINAL_TAILS else lx.UNITS.get(tail, "")
        self.add_number(sign + number(value), unit)

    def sign(self, mark: str) -> None:
        """'&' is a word; anything else that is neither word nor punctuation may turn the meaning."""
        if mark == "&":
            self.word("and")
        elif not _FACES.issuperset(mark):
            self.flush_number()
            self.ids.add(mark)
        else:
            self.faces.append(mark)

    def word(self, raw: str) -> None:
        low = raw.lower().replace("\u2019", "'")
        self.words.append(low)
        if self.spelled_number(low):
            self.opening = False
            return
        unit = lx.UNITS.get(low)
        if unit is not None and self.numbers and len(self.words) > 1 and not self.numbers[-1][1]:
            last = self.words[-2]
            if last[0].isdigit() or last in lx.CARDINALS or last in lx.MULTIPLIERS:
                self.numbers[-1] = (self.numbers[-1][0], unit)
                self.opening = False
                return
        self.classify(raw, low)
        self.opening = False

    def spelled_number(self, low: str) -> bool:
        if low in lx.CARDINALS:
            value = lx.CARDINALS[low]
            if self.pending is not None and self.pending % 10 == 0 and self.pending >= 20 and value < 10:
                self.pending += value
            else:
                self.flush_number()
                self.pending = value
            return True
        after_digits = bool(self.numbers) and len(self.words) > 1 and self.words[-2][0].isdigit()
        if low in lx.MULTIPLIERS and (self.pending is not None or after_digits):
            if self.pending is not None:
                self.pending *= lx.MULTIPLIERS[low]
            else:
                value_text, unit = self.numbers.pop()
                scaled = float(value_text) if value_text.replace(".", "", 1).isdigit() else 0.0
                self.numbers.append((number(str(scaled * lx.MULTIPLIERS[low])), unit))
            return True
        self.flush_number()
        if low in lx.ORDINALS:
            self.add_number(str(lx.ORDINALS[low]), "th")
            return True
        return False

    def classify(self, raw: str, low: str) -> None:
        if low in lx.NEGATIONS or low.endswith("n't"):
            self.negations += 1
        if low in lx.WEEKDAYS or low in lx.MONTHS or low in lx.RELATIVE_DAYS:
            self.dates.add(lx.WEEKDAYS.get(low) or lx.MONTHS.get(low) or lx.RELATIVE_DAYS[low])
        elif len(low) > 1 and not low.isalpha() and any(c.isdigit() for c in low):
            self.ids.add(low)
        elif (raw[0].isupper() and not self.opening and low not in lx.FUNCTION_WORDS) or (
            len(raw) > 1 and raw.isupper() and low not in lx.FUNCTION_WORDS
        ):
            self.names.add(stem(low))
        if low in lx.PERIODS and len(self.words) > 1 and self.words[-2] in lx.WHICH_PERIOD:
            self.dates.add(f"{lx.WHICH_PERIOD[self.words[-2]]} {low}")
        if low in lx.DIRECTIONS:
            self.direction = low
        if low in lx.FUNCTION_WORDS:
            self.balance += 1
        else:
            self.balance -= low in lx.FOREIGN or not low.isascii()
            stemmed = stem(low)
            self.content.append(stemmed)
            self.role(stemmed)


_MEASURES: Final = ("many", "much", "long", "far", "old", "often", "big")
_WH: Final = {w: w for w in ("who", "whose", "what", "when", "where", "why", "which", "how")} | {
    "whom": "who"
}
_YES_NO: Final = frozenset("is are was were do does did can could will would should has have may am".split())


def _question(words: list[str], text: str) -> str:
    for i, word in enumerate(words[:6]):
        word = word.removesuffix("'s")
        if word == "how" and i + 1 < len(words) and words[i + 1] in _MEASURES:
            return f"how {words[i + 1]}"
        if word in _WH:
            return _WH[word]
    if words and words[0] in _YES_NO:
        return "yesno"
    return "other" if text.rstrip().endswith("?") else ""


def signature(text: str) -> Signature:
    """Read `text` once. Pure; about 5 us a word."""
    reader = _Reader()
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            reader.word(match["word"])
        elif kind == "tail":
            reader.digits(match["num"], match["tail"].lower())
            reader.opening = False
        elif kind == "sym":
            if match["sym"] == "%" and reader.numbers:
                reader.numbers[-1] = (reader.numbers[-1][0], "percent")
            else:
                reader.currency = lx.UNITS[match["sym"]]
        elif kind == "sign":
            reader.sign(match[0])
        elif kind == "minus":
            reader.minus = True
        elif kind == "stop":
            reader.opening = not (match[0] == "." and reader.words and reader.words[-1] in lx.SHORTENED)
        else:
            reader.flush_number()
            reader.ids.add(match[0].lower().strip("`.,;"))
            reader.content.append(match[0].lower())
    reader.flush_number()
    words = reader.words
    if not words:
        reader.ids.update(reader.faces)
    return Signature(
        words=tuple(words),
        vocabulary=frozenset(words),
        content=tuple(reader.content),
        stems=frozenset(reader.content),
        numbers=tuple(sorted(reader.numbers)),
        dates=frozenset(reader.dates),
        ids=frozenset(reader.ids),
        names=frozenset(reader.names),
        negations=reader.negations,
        quantifiers=frozenset(lx.QUANTIFIERS[w] for w in words if w in lx.QUANTIFIERS),
        modals=frozenset(lx.MODALS[w] for w in words if w in lx.MODALS),
        question=_question(words, text),
        roles=tuple(reader.roles),
        english=reader.balance >= 0,
    )
