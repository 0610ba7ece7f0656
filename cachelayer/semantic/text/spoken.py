"""Numbers spelled out in several words.

'half past six' is 6:30, 'half an hour' 30 minutes, 'two and a half' 2.5, 'two-factor authentication' 2FA; and 'order
no.' is an order's number, not a refusal.
"""

from __future__ import annotations

import re
from typing import Final

from .lengths import measure

_NUMBERS: Final = {
    word: i
    for i, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
}
_COUNTS: Final = {word: i for word, i in _NUMBERS.items() if 1 <= i <= 12}
_COUNT: Final = rf"(?:{'|'.join(_COUNTS)}|1[0-2]|[1-9])(?![\w:-]|[.,]\d)"
_MINUTES: Final = {"quarter": 15, "half": 30, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_CLOCK: Final = re.compile(
    rf"\b(?:a )?(quarter|half|five|ten|twenty(?:[- ]five)?|5|10|20|25)( minutes)? (past|after|to|till) ({_COUNT})",
    re.IGNORECASE,
)
_HALVED: Final = r"((?:second|minute|hour|day|week|month|year)s?|million|billion)\b"
_HALF: Final = re.compile(rf"\b(?:half an?|a half)[ -](?:{_HALVED}|(dozen)\b)", re.IGNORECASE)
_AND_A_HALF: Final = re.compile(
    rf"\b(?:(an?|{_COUNT}) )?(?:{_HALVED} and a half\b|and a half\b(?: {_HALVED})?)", re.IGNORECASE
)
_NUMBERED: Final = re.compile(
    r"\b(account|acct|phone|telephone|mobile|tel|fax|contact|order|routing|tracking|invoice|reference|ref|customer|card|model"
    r"|serial|policy|flight|room|house|booking|ticket|case|member|membership|student|registration|tax|part|id) no"
    r"(?:\.|(?=\s*(?:[#:]?\s*\d|\?|$)))",
    re.IGNORECASE,
)
_DIGITS: Final = {word: str(i) for word, i in _NUMBERS.items() if i < 10} | {"oh": "0"}
_DIGIT: Final = "|".join(_DIGITS)
_TEENS: Final = {word: str(i) for word, i in _NUMBERS.items() if i >= 10}
_TENS: Final = {word: str(i) for i, word in enumerate("twenty thirty forty fifty".split(), start=2)}
_HALF_DAY: Final = re.compile(
    rf"(\d|\b(?:{'|'.join((*_COUNTS, *_TEENS, *_TENS))})) ([ap])(?:\.m\b\.?| ?m\b)", re.IGNORECASE
)
"""'7 p.m.', 'seven p m'."""
_TOLD: Final = re.compile(
    rf"\b({_COUNT}) (?:(?:oh|o|0) (?P<few>{_DIGIT})|(?P<teen>{'|'.join(_TEENS)})"
    rf"|(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<ones>{_DIGIT}))?|(?P<figures>[0-5]\d)) (?=[ap]m\b)",
    re.IGNORECASE,
)
"""'Six fifteen pm', 'seven oh five am', '6 30 pm'."""
_NAMING: Final = re.compile(
    r"\b(?:number|account|card|pin|code|order|ending|ends|id|phone|flight|ticket|case|invoice|policy|reference|zip)\b",
    re.IGNORECASE,
)
_SPELLED_OUT: Final = re.compile(rf"\b(?:{_DIGIT})(?: (?:{_DIGIT})){{3,}}\b", re.IGNORECASE)
"""'Four two seven one'."""
_FACTORS: Final = re.compile(r"\b(?:two|2)[- ]factor +auth(?:entication)?\b", re.IGNORECASE)
_WITH: Final = re.compile(r"\bw/(?= )")
_HOW_TO: Final = re.compile(r"\b(how) 2 (?=[a-z])", re.IGNORECASE)


def joined(text: str) -> str:
    """`text` with one number for what several words tell."""
    if "ast " in text or "uarter" in text or "utes to" in text:
        text = _CLOCK.sub(_clock, text)
    if "alf" in text:
        text = _HALF.sub(_half, _AND_A_HALF.sub(_and_a_half, text))
    if _HALF_DAY.search(text):
        text = _TOLD.sub(_told, _HALF_DAY.sub(r"\1 \2m", text))
    if _SPELLED_OUT.search(text) and _NAMING.search(text):
        text = _SPELLED_OUT.sub(_spelled_out, text)
    if "w/ " in text:
        text = _WITH.sub("with", text)
    if " no" in text or " No" in text:
        text = _NUMBERED.sub(r"\1 number", text)
    if "actor" in text:
        text = _FACTORS.sub("2fa", text)
    return _HOW_TO.sub(r"\1 to ", text) if "ow 2 " in text else text


def _count(said: str) -> int:
    return _COUNTS.get(said.lower()) or int(said)


def _clock(found: re.Match[str]) -> str:
    """The time of day; 'ten to five' without 'minutes', and 'half after', may be anything."""
    said, side, hour = found[1].lower().replace(" ", "-"), found[3].lower(), _count(found[4])
    sure = side == "past" or said == "quarter" or (found[2] and said != "half")
    if not sure:
        return found[0]
    many = _MINUTES.get(said) or int(said)
    return f"{hour}:{many:02}" if side in ("past", "after") else f"{(hour - 2) % 12 + 1}:{60 - many:02}"


def _told(found: re.Match[str]) -> str:
    if found["few"]:
        minutes = "0" + _DIGITS[found["few"].lower()]
    elif found["teen"]:
        minutes = _TEENS[found["teen"].lower()]
    else:
        tens = found["tens"]
        minutes = found["figures"] or _TENS[tens.lower()] + _DIGITS[(found["ones"] or "zero").lower()]
    return f"{_count(found[1])}:{minutes} "


def _spelled_out(found: re.Match[str]) -> str:
    return "".join(_DIGITS[word.lower()] for word in found[0].split())


def _half(found: re.Match[str]) -> str:
    return "6" if found[2] else _measured("0", found[1])


def _and_a_half(found: re.Match[str]) -> str:
    """'An hour and a half', 'two and a half hours', 'one and a half'; 'and a half' alone is left."""
    many, unit = found[1] or "a", found[2] or found[3] or ""
    counted = many.lower() not in ("a", "an")
    if not counted and not found[2]:
        return found[0]
    return _measured(str(_count(many) if counted else 1), unit)


def _measured(whole: str, unit: str) -> str:
    """'30 minutes' of 'half an hour', '2.5 cups' as they are."""
    singular = unit.lower().removesuffix("s")
    value, other = measure(f"{whole}.5", singular)
    return f"{value} {unit if other == singular else f'{other}s'}".rstrip()
