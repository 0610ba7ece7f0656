"""Amounts in one form each: '€5' and '5 EUR' as '5 euro', '10%' as '10 percent', '1½ cups' as '1.5 cups'.

What may be two of them is left: '1.000', '5 pounds' (of money or of mass), '3/4' (which may be a day). So is all of a
text that asks how something is written. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from typing import Final
from unicodedata import numeric

from .characters import LONGEST, about_form
from .lexicon import CARDINALS, MULTIPLIERS
from .moments import moments
from .ordered import figured, ordered

_HINT: Final = re.compile(r"[\d¼-¾⅐-⅞]")
_SAID: Final = (
    "inus ", "egative ", "half", "uarter", "first", "third", "clock", "WW", "orld War", "orld war", " second ",
    "teenth", "ty ", "II", " IV", "VI", "IX", "XI", "XV", "ii", "xi", "xv", "percent", "per cent",
    "dollars", "euros", "degrees ",
)  # fmt: skip
"""Where neither a digit nor one of these is nothing is rewritten."""
_ALONE: Final = r"(?<![\w.,/:-])"
_NUMBER: Final = r"\d+(?:[.,]\d+)*"
_WHOLE: Final = rf"(?<![\d.,])({_NUMBER})"
COUNTS: Final = {
    word: str(n)
    for word, n in CARDINALS.items()
    if n and word not in ("couple", "double", "triple", "twice", "thrice", "dozen")
}
_COUNT: Final = "|".join(COUNTS)
_GOES_ON: Final = COUNTS.keys() | MULTIPLIERS.keys() | {"and", "point", "one"}

_ALWAYS: Final = re.compile(
    r"\b24 ?[/x] ?7\b|\btwenty[- ]four[ -/]seven\b|\b(?:a?round) the clock\b"
    r"|\b24 hours(?: a day)?,? (?:and )?(?:7|seven) days(?: a week)?\b",
    re.IGNORECASE,
)
_COMMAS: Final = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?:,\d{{3}})+(?![\d,])|{_ALONE}\d{{1,3}}(?:['\u2019]\d{{3}})+(?![\d'])"
)
_BLANK: Final = re.compile(r"\d \d\d\d")
_BLANKS: Final = re.compile(
    r"(?<![\w.,/:+-])(?<!\d )\d{1,3}(?:(?: 000)+(?![\w.,/:-])(?! \d)"
    r"|(?: \d{3})+(?= ?(?:[€£$]|(?:eur|euros?|usd|dollars?|chf|francs?|rupees?)\b)))",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(
    r"(?<![\w.,/:$€£₹+-])([1-9]\d{0,5}|\d?\d:[0-5]\d)( ?[ap]\.?m\b\.?)? ?- ?"
    r"(?=([1-9]\d{0,5}|\d?\d:[0-5]\d)( ?[ap]\.?m\b)?(?![\d:/-]|[.,]\d))",
    re.IGNORECASE,
)
"""'9am-' of '9am-5pm', '5-' of '5-10 days'."""
_OPEN: Final = re.compile(r"\b(?:open|opening|hours|shift)\b", re.IGNORECASE)
_SUM: Final = re.compile(r"(?<=\d) (plus|minus|times|x|\u00d7) (?=\d+\b(?! ?%| ?per))", re.IGNORECASE)
"""'12 times 14', '5 plus 3'."""
_SIGNS: Final = {"plus": "+", "minus": "-", "times": "*", "x": "*", "\u00d7": "*"}
_ROUNDED: Final = re.compile(rf"{_ALONE}(?!401k)([1-9]\d{{1,2}})k\b(?! ?(?:run|race|gold)\b)", re.IGNORECASE)
_TIMES: Final = {"thousand": 3, "million": 6, "billion": 9, "k": 3, "m": 6, "mn": 6, "bn": 9}
_SCALED: Final = re.compile(rf"{_ALONE}(\d+(?:\.\d+)?) (thousand|million|billion)\b", re.IGNORECASE)

_MONEY: Final = {
    "€": "euro", "eur": "euro", "euro": "euro", "euros": "euro", "$": "dollar", "us$": "dollar", "usd": "dollar",
    "us dollar": "dollar", "us dollars": "dollar", "dollar": "dollar", "dollars": "dollar", "£": "gbp", "gbp": "gbp",
    "₹": "inr", "inr": "inr", "rs": "inr", "rupee": "inr", "rupees": "inr",
}  # fmt: skip
_SCALE: Final = r"(?: ?(k|mn?|bn)\b)?"
_LED: Final = re.compile(
    rf"(?<![\w$])(us\$|[€$£₹]|(?:eur|usd|gbp|inr|rs)\b)\.? ?({_NUMBER}){_SCALE}(?: (?:usd|eur|gbp|inr)\b)?"
    r"(?![\w%]| ?[-/:\u2013] ?\d|[.,]\d)",
    re.IGNORECASE,
)
_FOLLOWED: Final = re.compile(
    rf"(?<![\w.,/:$€£₹-])({_NUMBER}){_SCALE} ?([€$£₹]|(?:us dollars?|dollars?|euros?|eur|usd|gbp|inr|rs|rupees?)\b)"
    r"(?! ?\d)",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"(?<=[\w%]) ?/ ?(hour|night|day|week|month|year)\b", re.IGNORECASE)
_PERCENT: Final = re.compile(
    rf"{_WHOLE} ?(?:%(?! ?\d)|(?:per ?cent|pct|prozent|por ciento|pour cent|per cento)\b)(?![\w%]|-\d)",
    re.IGNORECASE,
)

_UNITS: Final = {
    name.replace("_", " "): unit
    for unit, names in {
        "km": "kilometers kilometres kilometer kilometre kms", "m": "meters metres meter metre",
        "cm": "centimeters centimetres centimeter centimetre", "mm": "millimeters millimetres millimeter millimetre",
        "kg": "kilograms kilogram kilogrammes kilogramme kilos kilo kgs", "g": "grams gram grammes gramme",
        "mg": "milligrams milligram milligrammes", "ml": "milliliters millilitres milliliter millilitre",
        "l": "liters litres liter litre", "lb": "lbs", "oz": "ounces ounce", "ft": "feet foot",
        "gb": "gigabytes gigabyte", "mb": "megabytes megabyte", "kb": "kilobytes kilobyte", "tb": "terabytes terabyte",
        "mbit": "megabits megabit mbits", "gbit": "gigabits gigabit gbits", "w": "watts watt", "v": "volts volt",
        "kph": "km/h kmh kmph kilometers_per_hour kilometres_per_hour kilometers_an_hour kilometres_an_hour",
        "mph": "miles_per_hour miles_an_hour", "mbps": "mbit/s megabits_per_second",
        "gbps": "gbit/s gigabits_per_second",
        "hours": "hrs", "hour": "hr", "minutes": "mins min", "seconds": "secs sec", "years": "yrs", "year": "yr",
        "m2": "m² sqm sq_m square_meters square_metres square_meter square_metre",
        "ft2": "ft² sqft sq_ft square_feet square_foot",
        "celsius": "°c °_c degrees_celsius degrees_c degrees_centigrade grad_celsius celsius",
        "fahrenheit": "°f °_f degrees_fahrenheit degrees_f fahrenheit", "degrees": "° degs",
    }.items()
    for name in names.split()
}  # fmt: skip
_BY_LENGTH: Final = "|".join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))
_MEASURED: Final = re.compile(rf"{_WHOLE} ?({_BY_LENGTH})(?![\w²³])(?!/[sh]\b)", re.IGNORECASE)
_BITS: Final = re.compile(rf"{_WHOLE} ?([MGk]b)(ps|/s)?(?!\w)")
"""Capitals tell bits ('Mb') from bytes ('MB')."""
_BYTES: Final = re.compile(rf"{_WHOLE} ?([MGK]B)(?:ps|/s)(?!\w)")
_NAMES_LONG: Final = "|".join(name for name in _UNITS if len(name) > 4 and name.isalpha())
_COUNTED: Final = re.compile(
    rf"\b({_COUNT})(?:[ -]({_COUNT}))? (?=(?:per ?cent|degrees|euros?|dollars|rupees|{_NAMES_LONG})\b)",
    re.IGNORECASE,
)
_BELOW: Final = re.compile(
    r"(\b(?:at|to|of|is|was|are|below|above|under|over|from|than|about|around|reach|reaches|reached|between|and|or|by|in"
    rf"|with) )(?:minus|negative) (?:(?=\d)|({_COUNT})\b)"
    rf"|(?<![\d)] )\b()(?:minus|negative) (?:(?=\d+(?: degrees?\b| ?°))|({_COUNT})\b(?= degrees?\b))",
    re.IGNORECASE,
)
"""'minus 10' where nothing is taken from anything."""
_SPOONS: Final = "cups?|teaspoons?|tablespoons?|tsp|tbsp"
_SINGLE: Final = (
    "inch|foot|mile|pound|lb|ounce|oz|kg|kilo|km|lit(?:er|re)|gallon|pint|quart|acre|hour|day|year|dozen"
)
_OF: Final = rf"(?: of)?(?: an?)? (?=(?:{_SPOONS}|{_SINGLE})\b)"
_GLYPH: Final = re.compile(rf"(?<![\w.,/-])(?:(\d+) ?([¼-¾⅐-⅞])(?!\w)|()([¼-¾⅐-⅞]){_OF})")
_SLASHED: Final = re.compile(rf"{_ALONE}(?:(\d+)[ -])?([1-7])/([2-8]){_OF}")
_PARTS: Final = {"half": 2, "third": 3, "quarter": 4}
_PART: Final = re.compile(rf"\b(?:(an?|one|two|three) )?(half|third|quarter)s?{_OF}", re.IGNORECASE)


_LETTERS: Final = re.compile(r"[^\W\d_]+")
_MARKS: Final = frozenset("€$£₹%°²¼½¾⅓⅔⅛⅜⅝⅞/,'\u2019-.:\u00d7")


def written(text: str) -> str:
    """`text` with its amounts, times, dates and numbers in order in one form each; itself where there are none."""
    if not (_HINT.search(text) or any(map(text.__contains__, _SAID))) or len(text) > LONGEST:
        return text
    said = _MARKS.intersection(text).union(_LETTERS.findall(text.lower()))
    if about_form(text, said):
        return text
    if "-" in said:
        text = _SPAN.sub(_spanned, text)
    text = moments(figured(text, said), said)
    if _BLANK.search(text):
        text = _BLANKS.sub(_digits, text)
    if not _COUNTABLE.isdisjoint(said) and not COUNTS.keys().isdisjoint(said):
        text = _COUNTED.sub(_counted, text)
    for gate, pattern, rewrite in _STEPS:
        if not gate.isdisjoint(said):
            text = pattern.sub(rewrite, text)
    return ordered(text, said)


def _digits(found: re.Match[str]) -> str:
    """Without what divides its thousands."""
    return "".join(filter(str.isdigit, found[0]))


def _spanned(found: re.Match[str]) -> str:
    """A span of hours, or of numbers of which the second is more: '4-2' may be a score, and '5 - 3' a sum."""
    first, half, second, later = found.groups()
    timed = half or later or ":" in first or _OPEN.search(found.string)
    rises = "-" in found[0][-1:] and ":" not in second and int(first) < int(second)
    return f"{first}{half or ''} to " if timed or rises else found[0]


def _scaled(number: str, by: str | None) -> str:
    """'1500000' of '1.5' and 'million'; as it is where its point may divide thousands."""
    number = number.removesuffix(".00")
    whole, _, part = number.partition(".")
    digits = _TIMES[by.lower()] if by else 0
    if not by or not whole.isdigit() or len(part) > min(digits, 2) or (part and not part.isdigit()):
        return f"{number} {by}" if by else number
    return str(int(whole + part) * 10 ** (digits - len(part)))


def _led(found: re.Match[str]) -> str:
    return f"{_scaled(found[2], found[3])} {_MONEY[found[1].lower()]}"


def _followed(found: re.Match[str]) -> str:
    return f"{_scaled(found[1], found[2])} {_MONEY[found[3].lower()]}"


def _counted(found: re.Match[str]) -> str:
    """'25' of 'twenty-five', where no longer number goes on."""
    before = found.string[: found.start()].rstrip().rpartition(" ")[2].lower()
    if before in _GOES_ON:
        return found[0]
    first, second = CARDINALS[found[1].lower()], CARDINALS[(found[2] or "zero").lower()]
    if found[2] and (first < 20 or first % 10 or not 0 < second < 10):
        return found[0]
    return f"{first + second} "


def _below(found: re.Match[str]) -> str:
    said = found[2] or found[4]
    return f"{found[1] or ''}-{COUNTS[said.lower()] if said else ''}"


def _bits(found: re.Match[str]) -> str:
    return f"{found[1]} {found[2].lower()}{'ps' if found[3] else 'it'}"


def _fraction(whole: str | None, part: float) -> str:
    """'1.5', '0.3333'."""
    return f"{int(whole or 0) + part:.4f}".rstrip("0")


def _glyph(found: re.Match[str]) -> str:
    return f"{_fraction(found[1], numeric(found[2] or found[4]))}{'' if found[2] else ' '}"


def _slashed(found: re.Match[str]) -> str:
    above, below = int(found[2]), int(found[3])
    return f"{_fraction(found[1], above / below)} " if above < below else found[0]


def _part(found: re.Match[str]) -> str:
    """'Half a cup', 'three quarters of a cup'."""
    many = {"two": 2, "three": 3}.get((found[1] or "").lower(), 1)
    below = _PARTS[found[2].lower()]
    return f"{_fraction(None, many / below)} " if many < below else found[0]


_LEADING: Final = frozenset("€ $ £ ₹ eur usd gbp inr rs".split())
_PAID: Final = frozenset(_MONEY).union(("us",)) - {"us$", "us dollar", "us dollars"}
_OF_UNITS: Final = frozenset(first for name in _UNITS for first in _LETTERS.findall(name)[:1]).union("°²")
_COUNTABLE: Final = frozenset("percent per degrees euro euros dollars rupees".split()).union(
    _NAMES_LONG.split("|")
)
_PERCENTS: Final = frozenset("% percent per pct prozent por pour cento".split())
_GLYPHS: Final = frozenset("¼½¾⅓⅔⅛⅜⅝⅞")
Rewrite = str | Callable[[re.Match[str]], str]
_STEPS: Final[tuple[tuple[Set[str], re.Pattern[str], Rewrite], ...]] = (
    (frozenset(("/", "x", "clock", "seven", "days")), _ALWAYS, "24/7"),
    (frozenset(("'", "\u2019", ",")), _COMMAS, _digits),
    (_GLYPHS, _GLYPH, _glyph),
    (frozenset("/"), _SLASHED, _slashed),
    (frozenset("half third thirds quarter quarters".split()), _PART, _part),
    (frozenset(("minus", "negative")), _BELOW, _below),
    (frozenset(("thousand", "million", "billion")), _SCALED, lambda m: _scaled(m[1], m[2])),
    (_SIGNS.keys(), _SUM, lambda m: f" {_SIGNS[m[1].lower()]} "),
    (frozenset("k"), _ROUNDED, r"\g<1>000"),
    (_LEADING, _LED, _led),
    (_PAID, _FOLLOWED, _followed),
    (_PERCENTS, _PERCENT, r"\1 percent"),
    (frozenset("/"), _RATE, r" per \1"),
    (frozenset(("mb", "gb", "kb", "mbps")), _BITS, _bits),
    (frozenset(("mb", "gb", "kb", "mbps")), _BYTES, lambda m: f"{m[1]} {m[2].lower()}/s"),
    (_OF_UNITS, _MEASURED, lambda m: f"{m[1]} {_UNITS[m[2].lower()]}"),
)
"""In this order; each where one of its words or marks is there."""
