"""One order in other words: 'I need a poem about autumn' and 'Could you write me a poem about autumn' are 'Write a poem
about autumn', and 'a function in Python that checks whether' is 'a Python function to check if'.

Texts with 'write' may be about words, so no other phrase of them is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from .direct import infinitive

_CODE: Final = (
    r"(?:function|script|program|query|regex|regexp|regular expression|method|macro|class|one-liner)"
)
_KIND: Final = f"(?:{_CODE}|" + "|".join(
    """email e-mail letter message note poem haiku limerick sonnet story essay article post speech toast slogan tagline
    headline caption bio paragraph description ad tweet reply review formula dockerfile makefile unit_test test outline
    quiz lesson_plan checklist itinerary survey joke song dialogue dialog invitation announcement memo agenda
    press_release newsletter resume cv)""".split()
).replace("_", " ")
"""What is there only once it is written."""
_WANTED: Final = (
    "(?:function|script|query|regex|regexp|regular expression|one-liner|formula|dockerfile|makefile|unit test|email"
    "|e-mail|letter|poem|haiku|limerick|sonnet|essay|speech|slogan|tagline|headline|caption|paragraph|outline"
    "|press release|newsletter)"
)
"""Of these who needs one wants it written; a test, a class or a review may be wanted otherwise."""
_ASKED: Final = "(?:(?:can|could|would|will) you |i (?:want|need|would like) you to )?(?:please )?"
_WRITE: Final = "(?:help me (?:to )?)?(?:write|draft|compose|create|generate)(?: me| us)?"
_NEED: Final = "(?:give me|i need|i want|i'd like|i would like)"
_GOES_ON: Final = (
    "(?:to|for|about|that|which|who|whose|in|with|using|of|on|as|when|where|asking|inviting|thanking|announcing"
    "|explaining|declining)"
)
_LINKS: Final = "(?:of|for|to|from|in|on|at|by|about|with|this|that|the|my|your|our|which|who)"


def _order(verb: str, kind: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?:please|hi|hey|hello)[, ]+)*{_ASKED}{verb}"
        rf" an? ((?:(?!{_LINKS}\b)[\w+#'-]+ ){{0,3}}?{kind}(?: {_GOES_ON}\b.*?)?)(?:,? please)?[\s.?!]*$",
        re.IGNORECASE,
    )


_ORDERS: Final = (_order(_WRITE, _KIND), _order(_NEED, _WANTED))
_TONGUE: Final = (
    "(python|java|javascript|typescript|go|golang|rust|c|ruby|php|kotlin|swift|scala|bash|sql|r|perl|vba)"
)
_SPOKEN: Final = re.compile(rf"({_CODE}) in {_TONGUE}\b", re.IGNORECASE)
_LAST: Final = re.compile(rf"({_CODE})\b(.*) in {_TONGUE}$", re.IGNORECASE)
_DOING: Final = re.compile(rf"({_CODE}) (?:that|which) (?!is\b|has\b|does\b|was\b)([a-z]+s)\b", re.IGNORECASE)
_WHETHER: Final = re.compile(r"\b(check|determine|test|verify) whether\b", re.IGNORECASE)
MAKING: Final = frozenset("write draft compose create generate give need want like help".split())
"""Words that may come, go or be others where something is to be written."""


def making(text: str, known: Container[str]) -> str:
    """`text` in the commonest words, or '' if it orders nothing of the kind. `known`: words that there are."""
    found = next(filter(None, (order.match(text) for order in _ORDERS)), None)
    if found is None:
        return ""

    def doing(what: re.Match[str]) -> str:
        verb = infinitive(what[2].lower())
        return f"{what[1]} to {verb}" if verb in known else what[0]

    said = _LAST.sub(r"\3 \1\2", _SPOKEN.sub(r"\2 \1", found[1]))
    return "write a " + _WHETHER.sub(r"\1 if", _DOING.sub(doing, said))
