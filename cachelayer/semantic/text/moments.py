"""Times and dates in one form each: '2:05 pm' as '14:05', '5 March 2026' as '2026-03-05', 'July 14th' as 'July 14'.

What may be two of them is left: '3/5/2026', '9:00', '12 am'.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

_HALF: Final = r"([ap])\.? ?m\b\.?(?!\w)"
_HOUR: Final = r"(?<![\w:.,/$\u20ac\xa3+])(0?[1-9]|1[0-2])"
_SPAN: Final = re.compile(
    rf"(?<!-){_HOUR}(:[0-5]\d)? ?(-|to|and|until|till) ?(?=(0?[1-9]|1[0-2])(?::[0-5]\d)? ?{_HALF})",
    re.IGNORECASE,
)
"""'9 to' of '9 to 5 pm'."""
_TWELVE: Final = re.compile(rf"{_HOUR}(?::([0-5]\d))? ?{_HALF}", re.IGNORECASE)
_CLOCK: Final = re.compile(
    r"(?<![\w:.,/+-])([01]\d|2[0-3]):([0-5]\d)(?![\w:/%]|[.,-]\d)(?! ?[ap]\.?m\b)", re.IGNORECASE
)
_PART_OF_DAY: Final = re.compile(
    rf"{_HOUR}(?:(:[0-5]\d)| o'clock) in the (morning|afternoon|evening)\b", re.IGNORECASE
)

_NAMES: Final = (
    "January February March April May June July August September October November December".split()
)
_MONTHS: Final = {
    name: i + 1
    for i, names in enumerate(
        (
            "january jan januar janvier enero", "february feb februar février febrero", "march mar märz mars marzo",
            "april apr avril abril", "may mai mayo", "june jun juni juin junio", "july jul juli juillet julio",
            "august aug août agosto", "september sep sept septembre septiembre", "october oct oktober octobre octubre",
            "november nov novembre noviembre", "december dec dezember décembre diciembre",
        )
    )
    for name in names.split()
}  # fmt: skip
_VERBS: Final = frozenset(("may", "march", "mar"))
_ALL: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_ENGLISH: Final = "|".join((*_NAMES, "Sept", *(name[:3] for name in _NAMES if name != "May")))
_DAY: Final = r"(3[01]|[12]\d|0?[1-9])"
_ALONE: Final = r"(?<![\w.,:/-])"
_YEAR: Final = r"((?:1\d|20)\d\d)(?![\w:/-]|[.,]\d)"
_DAY_OF_YEAR: Final = re.compile(
    rf"(?:\bthe )?{_ALONE}{_DAY}(?:st|nd|rd|th|\.)? (?:of |de )?({_ALL})\.?,? (?:de |of )?{_YEAR}",
    re.IGNORECASE,
)
_MONTH_OF_YEAR: Final = re.compile(rf"\b({_ALL})\.? (?:the )?{_DAY}(?:st|nd|rd|th)?,? {_YEAR}", re.IGNORECASE)
_DAY_OF_MONTH: Final = re.compile(
    rf"(?:\bthe )?{_ALONE}{_DAY}(?:(?:st|nd|rd|th)?( of)|st|nd|rd|th)? ({_ENGLISH})\b\.?(?! \d)",
    re.IGNORECASE,
)
_MONTH_AND_DAY: Final = re.compile(
    rf"\b({_ENGLISH})\.? (?:the )?{_DAY}(?:st|nd|rd|th)?\b(?![:/-]\d|[.,]\d| ?%)", re.IGNORECASE
)
_WORDED: Final = re.compile(
    rf"\b(?:the )?(first|second) of (?=(?:{_ENGLISH})\b)"
    rf"|\b({'|'.join(name for name in _NAMES if name.lower() not in _VERBS)}) (?:the )?(first|second)\b(?! [a-z])",
    re.IGNORECASE,
)
_FIGURES: Final = re.compile(r"(?<![\w.,:/-])(\d{1,4})([./-])(\d\d?)\2(\d{4}|\d\d?)(?![\w:/-]|[.,]\d)")
_MARKS: Final = frozenset("/-.")
_PARTS: Final = frozenset(("morning", "afternoon", "evening"))
_MIDDLES: Final = frozenset(("noon", "midnight"))
_TWELVE_NOON: Final = re.compile(r"(?<![\w:.,/-])12 (?=(?:noon|midnight)\b)", re.IGNORECASE)
_HALVES: Final = _PARTS.union(("m", "am", "pm"))


def moments(text: str, said: Set[str]) -> str:
    """`text` with its times and dates in one form each. `said`: its words, and which of ':/-.' are there."""
    if not _PARTS.isdisjoint(said):
        text = _PART_OF_DAY.sub(
            lambda m: f"{m[1]}{m[2] or ''} {'am' if m[3].lower() == 'morning' else 'pm'}", text
        )
    if not _MIDDLES.isdisjoint(said):
        text = _TWELVE_NOON.sub("", text)
    if not _HALVES.isdisjoint(said):
        text = _TWELVE.sub(_of_twelve, _SPAN.sub(_begun, text))
    if ":" in said:
        text = _CLOCK.sub(_of_day, text)
    if not _MONTHS.keys().isdisjoint(said):
        if "first" in said or "second" in said:
            text = _WORDED.sub(_worded, text)
        text = _DAY_OF_YEAR.sub(lambda m: _iso(m[3], _MONTHS[m[2].lower()], m[1]), text)
        text = _MONTH_OF_YEAR.sub(lambda m: _iso(m[3], _MONTHS[m[1].lower()], m[2]), text)
        text = _DAY_OF_MONTH.sub(_turned, text)
        text = _MONTH_AND_DAY.sub(lambda m: _month_day(m[1], m[2]), text)
    return text if _MARKS.isdisjoint(said) else _FIGURES.sub(_figures, text)


def _begun(found: re.Match[str]) -> str:
    """'9' of '9 to 5 pm' is 9 am, '2' of '2 to 5 pm' is 2 pm."""
    later = int(found[1]) % 12 < int(found[4]) % 12
    half = "pm" if (found[5].lower() == "p") is later else "am"
    return f"{found[1]}{found[2] or ''} {half} {'to' if found[3] == '-' else found[3]} "


def _of_twelve(found: re.Match[str]) -> str:
    """Whole hours and mornings keep their half of the day, which many leave out; '2:05 pm' is '14:05'."""
    hour, minutes, half = int(found[1]), found[2] or "00", found[3].lower()
    if minutes == "00":
        return f"{hour} {half}m"
    if (half == "a") is (hour == 12):
        return f"{'00' if half == 'a' else hour + 12}:{minutes}"
    return f"{hour}:{minutes} {half}m"


def _of_day(found: re.Match[str]) -> str:
    """'14:00' is 2 pm, '09:30' 9:30 am; '10:00' may be in the evening, and what is after midnight is left."""
    hour, minutes = int(found[1]), "" if found[2] == "00" else f":{found[2]}"
    if 0 < hour < 10:
        return f"{hour}{minutes} am"
    return found[0] if hour <= 12 or minutes else f"{hour - 12} pm"


def _worded(found: re.Match[str]) -> str:
    """'1 of' of 'the first of June', 'June 1' of 'June first'."""
    day = 1 if (found[1] or found[3]).lower() == "first" else 2
    return f"{day} of " if found[1] else f"{found[2]} {day}"


def _iso(year: str, month: int, day: str) -> str:
    return f"{year}-{month:02}-{int(day):02}"


def _figures(found: re.Match[str]) -> str:
    """A date in figures; where day and month cannot be told apart, only without zeros that stand before them."""
    first, mark, second, last = found.groups()
    if len(first) == 4 and mark != "." and len(last) < 3 and 0 < int(second) < 13 and 0 < int(last) < 32:
        return _iso(first, int(second), last)
    if len(last) != 4 or len(first) > 2 or mark == "-":
        return found[0]
    one, two = int(first), int(second)
    if 12 < one < 32 and 0 < two < 13:
        return _iso(last, two, first)
    if mark == "/" and 12 < two < 32 and 0 < one < 13:
        return _iso(last, one, second)
    return f"{one}{mark}{two}{mark}{last}"


def _turned(found: re.Match[str]) -> str:
    """'July 14' of '14 July'; 'may' and 'march' in small letters are verbs, but in '5th of may'."""
    return found[0] if found[3] in _VERBS and not found[2] else _month_day(found[3], found[1])


def _month_day(name: str, day: str) -> str:
    if name in _VERBS:
        return f"{name} {int(day)}"
    return f"{_NAMES[_MONTHS[name.lower()] - 1]} {int(day)}"
