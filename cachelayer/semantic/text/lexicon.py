"""Closed word classes of English that the guards read; words are lower-case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


Phrases = dict[str, list[tuple[str, ...]]]


def phrases(text: str, at: int = 0) -> Phrases:
    """Phrases, separated by commas, by their first (0) or last (-1) word, long ones first."""
    found: Phrases = {}
    for phrase in sorted({tuple(part.split()) for part in text.split(",")}, key=len, reverse=True):
        found.setdefault(phrase[at], []).append(phrase)
    return found


def begun(words: Sequence[str], at: int, known: Phrases) -> int:
    """How many words the longest phrase has that begins there; 0 if none does."""
    found = known.get(words[at], ()) if at < len(words) else ()
    return next((len(p) for p in found if tuple(words[at : at + len(p)]) == p), 0)


def by_first(groups: str) -> dict[str, str]:
    """Each word of the groups, which '|' parts, with the first one of its group."""
    return {word: group[0] for group in map(str.split, groups.split("|")) for word in group}


FUNCTION_WORDS: Final = _words(
    """a an the this that these those it its it's i i'm i'd i've i'll im ive me my mine myself we us our
    ours you your yours he him his she her hers they them their theirs there here be is am are was were
    been being do does did done doing have has had having will would shall should can could may might
    must ought to of in on at by for from with as into onto about than then and or but so if while when
    where who whom whose which what why how what's how's who's where's that's there's is's let let's
    please pls plz kindly just also too very really quite some any not no nor n't don't doesn't didn't
    isn't aren't wasn't weren't won't wouldn't can't cannot couldn't shouldn't haven't hasn't hadn't
    ain't never none nothing nobody without hi hello hey ok okay thanks thank well oh um uh er like kind
    sort get got gets getting go going gonna wanna want wanted need needs needed know tell say show give
    find help way ways thing things something anything someone somebody one ones each now still yet
    already again even up out off down over under through back"""
)

AUXILIARIES: Final = _words(
    "am is are was were do does did have has had can could may might must shall should will would"
)

NEGATIONS: Final = _words(
    """not no nor never none nothing nobody nowhere neither n't without unless cannot cant dont doesnt didnt isnt
    arent wasnt werent wont wouldnt couldnt shouldnt havent hasnt hadnt aint unable refuse refuses
    refused fail fails failed failing lack lacks lacking absent hardly barely scarcely nope"""
)

NEGATIVE_PREFIXES: Final = ("un", "dis", "in", "im", "ir", "il", "non", "de", "mis", "non-")


def without_prefix(word: str) -> list[str]:
    """What follows a negative prefix: 'lock' of 'unlock'; nothing of most words."""
    if not word.startswith(NEGATIVE_PREFIXES) or word == "into":
        return []
    return [word[len(p) :] for p in NEGATIVE_PREFIXES if word.startswith(p) and word != p]


QUANTIFIERS: Final = {
    "all": "all", "every": "all", "each": "all", "entire": "all", "whole": "all", "everything": "all",
    "everyone": "all", "everybody": "all", "always": "all", "some": "some", "several": "some", "few": "few",
    "sometimes": "some", "many": "many", "most": "most", "mostly": "most", "usually": "most", "only":
    "only", "just": "just", "solely": "only", "exclusively": "only", "both": "both", "either": "either",
    "half": "half", "except": "except", "excluding": "except", "besides": "except", "least": "least",
    "rarely": "few",
}  # fmt: skip

MODALS: Final = {
    "must": "must", "should": "should", "may": "may", "might": "may", "can": "can", "could": "can", "shall":
    "should", "ought": "should", "required": "must", "mandatory": "must", "optional": "may",
}  # fmt: skip

CARDINALS: Final = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12, "twice": 2, "thrice": 3, "couple":
    2, "double": 2, "triple": 3, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8,
    "neun": 9, "zehn": 10, "zwölf": 12, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "huit": 8, "onze": 11,
    "douze": 12, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "doce": 12,
}  # fmt: skip
MULTIPLIERS: Final = {
    "hundred": 100,
    "thousand": 1000,
    **dict.fromkeys(("lakh", "lakhs", "lac", "lacs"), 10**5),
    **dict.fromkeys(("crore", "crores"), 10**7),
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
ORDINALS: Final = {
    "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}  # fmt: skip

UNITS: Final = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "buck": "usd", "bucks": "usd", "€": "eur",
    "eur": "eur", "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "pound": "pound", "pounds":
    "pound", "¥": "jpy", "yen": "jpy", "%": "percent", "percent": "percent", "percentage": "percent", "km":
    "km", "kilometer": "km", "kilometers": "km", "kilometre": "km", "kilometres": "km", "mile": "mile",
    "miles": "mile", "m": "m", "meter": "m", "meters": "m", "metre": "m", "metres": "m", "cm": "cm", "mm":
    "mm", "inch": "inch", "inches": "inch", "foot": "foot", "feet": "foot", "ft": "foot", "yard": "yard",
    "yards": "yard", "kg": "kg", "kilo": "kg", "kilos": "kg", "kilogram": "kg", "kilograms": "kg", "g": "g",
    "gram": "g", "grams": "g", "mg": "mg", "lb": "pound", "lbs": "pound", "oz": "ounce", "ounce": "ounce",
    "ounces": "ounce", "ton": "ton", "tons": "ton", "l": "liter", "liter": "liter", "liters": "liter",
    "litre": "liter", "litres": "liter", "ml": "ml", "gallon": "gallon", "gallons": "gallon", "cup": "cup",
    "cups": "cup", "second": "second", "seconds": "second", "sec": "second", "ms": "ms",
    "minute": "minute", "minutes": "minute", "min": "minute", "hour": "hour", "hours":
    "hour", "hr": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week",
    "month": "month", "months": "month", "year": "year", "years": "year", "yr": "year", "kb":
    "kb", "mb": "mb", "gb": "gb", "tb": "tb", "kbps": "kbps", "mbps": "mbps", "hz": "hz", "khz": "khz",
    "mhz": "mhz", "ghz": "ghz", "w": "watt", "watt": "watt", "watts": "watt", "kw": "kw", "kwh": "kwh", "v":
    "volt", "volt": "volt", "volts": "volt", "mph": "mph", "kph": "kph", "celsius": "celsius", "fahrenheit":
    "fahrenheit", "degree": "degree", "degrees": "degree", "k": "k", "am": "am", "pm": "pm",
    "o'clock": "clock", "times": "times", "x": "times", "inr": "inr", "rupee": "inr", "rupees":
    "inr", "mbit": "mbit", "gbit": "gbit", "gbps": "gbps", "mb/s": "mb/s", "gb/s": "gb/s", "kb/s": "kb/s",
}  # fmt: skip

BEHIND: Final = UNITS | {"hrs": "hour", "mins": "minute", "secs": "second", "yrs": "year"}
"""What may stand right behind a number: '5mins'."""

SPANS: Final = {"fortnight": ("14", "day"), "fortnights": ("14", "day")}
"""Words that are a number of something."""

_MONTH_NAMES = (
    "january jan", "february feb", "", "april apr", "", "june jun", "july jul", "august aug",
    "september sep sept", "october oct", "november nov", "december dec",
)  # fmt: skip
MONTHS: Final = {name: str(i + 1) for i, names in enumerate(_MONTH_NAMES) for name in names.split()}
"""Without 'march' and 'may', which are a verb and a modal far more often."""
MONTHS_OR_VERBS: Final = {"march": "3", "may": "5"}
_MONTH_AFTER: Final = frozenset(
    "in of next since until till by during early late mid from for on before after through around".split()
)


def names_month(word: str, before: list[str]) -> bool:
    """Whether 'may' or 'march' is the month, by the word before it if any: 'in may', 'the 22nd march'."""
    if not before:
        return False
    ordinal = before[0][0].isdigit() and before[0][-1].isalpha()
    return before[0] in _MONTH_AFTER or (ordinal and word == "march")


WEEKDAYS: Final = {
    name: names[:3]
    for names in ("monday mondays mon", "tuesday tuesdays tue tues", "wednesday wednesdays wed",
                  "thursday thursdays thu thur thurs", "friday fridays fri", "saturday saturdays", "sunday sundays")
    for name in names.split()
}  # fmt: skip
RELATIVE_DAYS: Final = {
    "today": "today", "tonight": "tonight", "tomorrow": "tomorrow", "yesterday": "yesterday", "weekend": "weekend",
    "weekends": "weekend", "weekday": "weekday", "weekdays": "weekday", "workday": "weekday", "workdays": "weekday",
    "summer": "summer", "winter": "winter", "autumn": "autumn", "noon": "noon", "midnight": "midnight",
}  # fmt: skip
"""Days and times that are named by what they are. Without 'spring' and 'fall', which are much else besides."""
PERIODS: Final = _words(
    "week month year quarter semester term season decade century weekend night morning evening"
)
WHICH_PERIOD: Final = {
    "this": "this", "current": "this", "next": "next", "coming": "next", "following": "next", "last": "last",
    "past": "last", "previous": "last",
}  # fmt: skip
"""'next year', 'last week': a date that moves."""
SAME_PERIOD: Final = {"this evening": "tonight", "this night": "tonight"} | {
    f"{which} semester": f"{which} term" for which in ("this", "next", "last")
}

DIRECTIONS: Final = _words(
    "from to into onto than by before after over under above below against for with via between"
)

FOREIGN: Final = _words(
    """der das und ich ist nicht mein meine meinen ein eine einen wie auf für mit zu den dem wir sie kann
    wo le la les des et je est pas mon mes une du que qui avec dans sur comment où quel quelle el
    los las y es mi mis por para con como cómo qué una de del se il lo gli che di sono mio mia uno
    meu minha em um uma não het een ik niet mijn voor op hoe kan waar jak nie się jest moje dla
    och jag är inte att på som hur"""
)
"""Function words of other languages in Latin script."""

SHORTENED: Final = _words("dr mr mrs ms prof st no vs etc inc ltd jr sr mt ave dept approx")
"""A stop after these ends no sentence."""

GREETINGS: Final = _words(
    """hi hello hey hallo welcome thanks thank thx ty cheers sorry pardon great good fine nice lovely cool
    awesome perfect
    wonderful excellent alright ok okay haha lol hehe moment sec hold wow pleasure worries glad understood bye
    goodbye see appreciate problem got well hm hmm"""
)
PLEASANTRIES: Final = GREETINGS | _words(
    """please pls excuse
    super lot lots sure oh ah um uh you you're your so very much many a an the my i i'm me is it it's that's
    that this was are be been being for of to all and one minute second just on wait really morning afternoon
    evening day
    there how today going doing no at time anytime happy hear help like what can do may any more questions ask asking
    kind indeed too take isn't weather we let's again bit back here with hope bothering from else anything assist
    assistance"""
)
"""A turn of these alone, one of GREETINGS among them, changes no answer that comes later."""
_SMALL_TALK: Final = _words(
    """actually after always amazing anyway apologies apologize baby bark barking bear before believe best better bored
    bother bothered break breakfast busy came carry cat cats children clear clears clever cloudy coffee cold come
    coming continue crazy days dear desk dinner dog dogs door doorbell drink easier easy eat enjoy enjoying enough
    everybody everyone everything excited exciting expect expected fair fast feel feeling finish finished focus
    forgive forward freezing friend friends fun funny grab grabbing guess ha hang hard heard helpful home honestly hot
    hurry imagine impressive inside interrupt interrupted interruption joke joking keyboard kid kidding kids knew
    later life listen listening little long longer looking looks loud lunch made make making man mean minutes neighbor
    neighbour nervous night noise noisy office only oops outside patience patient phew phone pretty proud quick
    quickly rain raining rainy ready return returned rude rush said same saying seconds seems sleepy slow slowly smart
    snack snow snowing snowy soon sound sounds start stay such sun sunny sunshine tea thinking though thought tired
    tonight totally true typing typo typos ugh understand waiting warm water week weekend whoa wind windy wish worry
    yay"""
)
CHATTER: Final = FUNCTION_WORDS | PLEASANTRIES | _SMALL_TALK
"""A turn of these alone may be chatter: left out where the other conversation says nothing in its place."""
CONSENTS: Final = _words(
    "yes yeah yep yup sure correct right course absolutely definitely please do did have am fine"
)
OWN_ACTS: Final = _words(
    """achieve activate add adjust amend apply approve arrange assemble assign attach avoid back book build buy
    calculate cancel change check claim clean clear close collect combine compile compress configure confirm
    connect contact convert cook correct create customize deactivate debug delete deploy deposit detach develop
    disable disconnect display dispute divide do download draw edit enable exchange export extend file fill
    filter find fit fix format fund generate grow implement import improve increase insert install invest join
    keep key link load make manage measure merge modify mount move open optimize order organize pack paint pair
    pause pay plan plant play prevent print process program proofread protect prove put reactivate rebuild
    recover recycle redeem redirect reduce refund register reinstall remove rename renew rent repair replace
    report request reschedule reset resize resolve restart restore resume return reverse rotate save scan
    schedule search secure send set ship shorten show simplify solve sort split start stop store submit switch
    sync synchronize test transfer translate treat turn uninstall unlink unlock unsubscribe update upgrade upload
    validate verify view wash withdraw write"""
)
"""What people ask how to do themselves. Who asks how an account can be hacked does not want to."""
