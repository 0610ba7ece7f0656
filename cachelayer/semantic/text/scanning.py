"""One pass over a text: what is noted word by word, number by number, mark by mark."""

from __future__ import annotations

import re
from typing import Final

from . import lexicon as lx
from .lengths import LONGEST, measure
from .lexemes import NONE, Lexeme

_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_HOST: Final = re.compile(r"(?:\w+://)?[^/?#]*")
"""What of a link is the same in any case."""
_EITHER: Final = re.compile(r"(?:[^\W\d_]{3} |.?[^\W\d_]{3})/ [^\W\d_]{3}")
"""'movies / series': one or the other of two words, where 'x / y' is divided."""
_ORDINAL_TAILS: Final = ("st", "nd", "rd", "th")


def ungrouped(text: str) -> str:
    """'1,000' is '1000'."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def number(text: str) -> str:
    """One spelling per value: '1,000' and '1000.0' are '1000'; '3.10' is not '3.1', nor are times and dates touched.

    '1.000' is one in English and a thousand in German, and stays what it is.
    """
    text = ungrouped(text)
    if text.count(".") == 1 and text.replace(".", "").isdigit() and not text.endswith(".000"):
        text = text.removesuffix("." + "0" * (len(text) - text.index(".") - 1))
    return text.lstrip("0") or "0" if text.isdigit() else text


_TENS: Final = range(20, 100, 10)


class Scan:
    """What was noted so far."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.content: list[str] = []
        self.numbers: list[tuple[str, str]] = []
        self.against: list[str] = []
        self.dates: set[str] = set()
        self.ids: set[str] = set()
        self.names: set[str] = set()
        self.roles: list[tuple[str, str]] = []
        self.quantifiers = self.modals = NONE
        self.negations = 0
        self.direction = ""
        self.opening = True
        self.joins = False
        self.currency = ""
        self.pending: int | None = None  # a number in words, as far as it was read, without its thousands
        self.thousands = 0
        self.minus = False
        self.balance = 0  # English function words less foreign ones

    def flush_number(self) -> None:
        if self.pending is not None:
            value, self.pending, self.thousands = self.thousands + self.pending, None, 0
            self.add_number(str(value), "")

    def add_number(self, value: str, unit: str) -> None:
        value, unit = measure(value, unit or self.currency)
        self.numbers.append((value, unit))
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
        if not tail and self.words and self.words[-1] in lx.MONTHS_OR_VERBS:
            self.dates.add(lx.MONTHS_OR_VERBS[self.words[-1]])
        written = sign + ungrouped(value)
        self.words += (written, tail) if tail in lx.BEHIND and tail != "%" else (written + tail,)
        if tail and tail not in lx.BEHIND and tail not in _ORDINAL_TAILS:
            self.ids.add(value + tail)
            self.content.append(value + tail)
            self.role(value + tail)
            return
        self.add_number(sign + number(value), "th" if tail in _ORDINAL_TAILS else lx.BEHIND.get(tail, ""))

    def symbol(self, mark: str, leads: bool) -> None:
        """A unit before its number ('$5'), after it ('5 €'), or asked about by itself. `leads`: a digit follows."""
        self.flush_number()
        if mark == "%" and leads:  # '10 % 3'
            self.sign(mark)
        elif mark == "%" and self.numbers:
            self.numbers[-1] = (self.numbers[-1][0], "percent")
        elif leads:
            self.currency = lx.UNITS[mark]
        elif not self.measured(lx.UNITS[mark], -1):
            self.ids.add(mark)

    def sign(self, mark: str) -> None:
        """Anything that is neither word nor punctuation may turn the meaning."""
        self.flush_number()
        self.ids.add(mark)

    def word(self, raw: str, lexeme: Lexeme) -> None:
        """Any word; the last of `words`."""
        low = lexeme.word
        self.joins |= lexeme.joins
        if lexeme.quantifiers:  # the one set that all texts share, where nothing is to be added
            self.quantifiers = (
                self.quantifiers | lexeme.quantifiers if self.quantifiers else lexeme.quantifiers
            )
        if lexeme.modals:
            self.modals = self.modals | lexeme.modals if self.modals else lexeme.modals
        if not lexeme.number:
            if self.pending is not None and self.goes_on(low):
                return
            self.flush_number()
        elif self.spelled_number(low):
            self.opening = False
            return
        if low in lx.SPANS:
            self.add_number(*lx.SPANS[low])
        elif not (lexeme.unit and self.measured(lexeme.unit)):
            self.classify(raw, lexeme)
        self.opening = False

    def measured(self, unit: str, at: int = -2) -> bool:
        """Whether it is the unit of the number before it, the word at `at`."""
        if len(self.words) < -at or not self.numbers or self.numbers[-1][1]:
            return False
        last = self.words[at]
        found = last.lstrip("-")[:1].isdigit() or last in lx.CARDINALS or last in lx.MULTIPLIERS
        if found:
            value = self.numbers[-1][0]
            self.numbers[-1] = measure(value, unit)
            if self.content and self.content[-1] == value:
                self.content[-1] = self.numbers[-1][0]
        return found

    def goes_on(self, low: str) -> bool:
        """Whether a number in words may go on behind it: 'twenty-one', 'two hundred and fifty'."""
        assert self.pending is not None
        if low == "one" and self.pending % 100 in _TENS:
            self.pending += 1
            return True
        return low == "and" and self.pending % 100 == 0 and self.pending + self.thousands > 0

    def spelled_number(self, low: str) -> bool:
        if low in lx.CARDINALS:
            value = lx.CARDINALS[low]
            if self.pending is not None and self.takes(value):
                self.pending += value
            else:
                self.flush_number()
                self.pending = value
            return True
        last = self.numbers[-1][0] if self.numbers else ""
        plain = len(last) <= LONGEST and last.replace(".", "", 1).isdigit()
        before = self.words[-2] if plain and len(self.words) > 1 else " "
        after_digits = before[0].isdigit() or before in lx.MULTIPLIERS
        if low in lx.MULTIPLIERS and (self.pending is not None or after_digits):
            if self.pending is not None:
                self.multiply(lx.MULTIPLIERS[low])
            else:
                value_text, unit = self.numbers.pop()
                self.numbers.append((number(str(float(value_text) * lx.MULTIPLIERS[low])), unit))
            return True
        self.flush_number()
        if low in lx.MULTIPLIERS:
            self.pending = 1  # 'a million'
            self.multiply(lx.MULTIPLIERS[low])
            return True
        if low in lx.ORDINALS:
            self.add_number(str(lx.ORDINALS[low]), "th")
            return True
        return False

    def takes(self, value: int) -> bool:
        """Whether the number so far goes on with `value`: 'two hundred' with 'fifty', 'fifty' with 'two'."""
        assert self.pending is not None
        rest = self.pending % 100
        if rest == 0:
            return value < 100 and self.pending + self.thousands > 0
        return rest in _TENS and 0 < value < 10

    def multiply(self, times: int) -> None:
        """'Two' by 'hundred', 'three hundred' by 'thousand'; 'two hundred and three hundred' are two."""
        assert self.pending is not None
        if self.thousands > 10**LONGEST:
            self.flush_number()
            self.pending = 1
        if times == 100:
            if self.pending > 100:
                self.keep_only(self.pending % 100)
            self.pending *= times
        elif self.pending:
            if self.thousands % (1000 * times):
                self.keep_only(self.pending)
            self.thousands, self.pending = self.thousands + self.pending * times, 0
        else:
            self.thousands *= times  # 'a thousand million'

    def keep_only(self, part: int) -> None:
        """The number is over before its last `part`, which begins another."""
        assert self.pending is not None
        self.pending -= part
        self.flush_number()
        self.pending = part

    def classify(self, raw: str, lexeme: Lexeme) -> None:
        low = lexeme.word
        self.negations += lexeme.negation
        if lexeme.date:
            further = self.words[-3:-1] in (["day", "after"], ["day", "before"])  # 'the day after tomorrow'
            self.dates.add(f"{self.words[-2]} {lexeme.date}" if further else lexeme.date)
        elif lexeme.month and (named(raw, self.opening) or lx.names_month(low, self.words[-2:-1])):
            self.dates.add(lexeme.month)
        elif lexeme.figure:
            self.ids.add(low)
        elif not lexeme.function and named(raw, self.opening):
            self.names.add(lexeme.stem)
        if lexeme.period and len(self.words) > 1 and self.words[-2] in lx.WHICH_PERIOD:
            which, period = lx.WHICH_PERIOD[self.words[-2]], low.removesuffix("'s")
            self.dates.add(lx.SAME_PERIOD.get(said := f"{which} {period}", said))
        if lexeme.direction:
            self.direction = low
        if lexeme.function:
            self.balance += 1
        else:
            self.balance -= lexeme.foreign
            self.content.append(lexeme.stem)
            self.role(lexeme.stem)

    def mark(self, kind: str | None, match: re.Match[str]) -> None:
        """What is no word."""
        if kind == "tail":
            self.digits(match["num"], match["tail"].lower())
            self.opening = False
        elif kind == "sym":
            self.symbol(match["sym"], match.string[match.end() : match.end() + 2].lstrip()[:1].isdigit())
        elif kind == "sign":
            if match[0] != "/" or not _EITHER.match(match.string, max(match.start() - 4, 0)):
                self.sign(match[0])
        elif kind == "minus":
            self.minus = True
        elif kind == "stop":
            self.opening = not (match[0] == "." and self.words and self.words[-1] in lx.SHORTENED)
        elif kind == "path":
            self.path(match[0].rstrip("./"))
        else:
            self.flush_number()
            said = match[0].strip("`.,;")
            self.ids.add(_HOST.sub(lambda m: m[0].lower(), said, count=1) if kind == "link" else said)
            self.content.append(match[0].lower())

    def path(self, said: str) -> None:
        """Where a file is; '/tmp/A' is not '/tmp/a'."""
        self.flush_number()
        self.opening = False
        self.ids.add(said)
        self.words.append(said.lower())
        self.content.append(said.lower())
        self.role(said.lower())


def named(raw: str, opening: bool) -> bool:
    """Whether a word is written as a name is."""
    return (raw[0].isupper() and not opening) or (len(raw) > 1 and raw.isupper())
