"""A command that asks: 'List the risks of fasting' asks what they are, 'Count the users' how many there are.

'Show the ruler' may be a command to a program, and 'what is the ruler' a question about the program; so what is named
must be several things, or be told by what stands behind it: 'the price of', 'the room that'.
"""

from __future__ import annotations

import re
from typing import Final

_PLEASE: Final = "(?:please )?(?:(?:can|could|would|will) you )?(?:please )?"
_ME: Final = "(?: me| us)?"
_TELL: Final = rf"{_PLEASE}(?:(?:find|list|show|display|give|name|tell){_ME}"
_SEE: Final = r"|i(?:'d| would)? (?:want|like|need) to (?:know|see))"
_ALL: Final = r"(?:(?:an? |the )?(?:full |complete )?list of )?(?:all )?(?:of )?"
_COMMAND: Final = re.compile(rf"{_TELL}{_SEE} {_ALL}(the |my |our |)([^.;:?!]+)", re.IGNORECASE)
_LIST: Final = re.compile(
    rf"(?:what are all (?:of )?(?:the )?|who are (?:all (?:of )?)?the "
    rf"|{_PLEASE}give{_ME} some (?:of the )?(?=[a-z ]*?s\b))",
    re.IGNORECASE,
)
_TALLY: Final = re.compile(
    rf"{_PLEASE}(?:what(?:'s| is)|(?:count|find|show|give|tell|return|get|determine|calculate|compute)"
    rf"{_ME}) (?:the )?(?:total |overall )?(?:number|count) of (?:the )?(?=[a-z])",
    re.IGNORECASE,
)
_COUNT: Final = re.compile(rf"{_PLEASE}count (?:up )?(?:all )?(?:of )?(?:the )?(?=[a-z ]*s\b)", re.IGNORECASE)
_MANY: Final = re.compile(
    r"how many ([^,.;:?!]+?) (?:are there|exist|do we have)(?: in total| altogether| overall)?\s*\??$",
    re.IGNORECASE,
)
_DOING: Final = re.compile(
    r"how many ((?:[a-z]+ ){1,3}?)are "
    r"([a-z]+(?:(?<!e)ed|ing)|made|built|held|sold|known|born|written|taught|taken|given)\b",
    re.IGNORECASE,
)
_WHO: Final = re.compile(r"what is the number of ((?:[a-z]+ ){1,3}?)(?:who|that|which) ", re.IGNORECASE)
_BEHIND: Final = frozenset(
    """of for with without that who which whose in on at to from between and or by where when before after under over
    about as than during per via near around named called located available required needed""".split()
)
"""What may stand behind a thing that is named."""
_TELLING: Final = frozenset("of for between that who whose which with".split())
"""Behind a single thing these tell which it is."""
_SEVERAL: Final = frozenset("people men women children data".split())
_NO_THING: Final = frozenset(
    """a an the this that these those it me my your our his her their how what why who where when which whether if to
    is are was were be been do does did can could not no""".split()
)
_FARTHEST: Final = 5
"""Words of a thing at most."""

COMMANDS: Final = frozenset(
    """please find list show display give name tell return all full complete number count many total overall altogether
    get determine calculate compute exist know see our my""".split()
)
"""Words that such a command has."""


def asking(text: str) -> str:
    """The question that the command asks, or `text`."""
    if found := _TALLY.match(text) or _COUNT.match(text):
        return _counted(f"what is the number of {text[found.end() :]}")
    if found := _MANY.match(text):
        return f"what is the number of {found[1]}?"
    if found := _DOING.match(text):
        return f"what is the number of {found[1]}{found[2]}{text[found.end() :]}"
    if found := _LIST.match(text):
        return f"what are the {text[found.end() :]}"
    if found := _COMMAND.match(text):
        return _listed(text, found)
    return text


def _counted(text: str) -> str:
    """'The number of guests who smoke' is 'how many guests smoke'."""
    if found := _WHO.match(text):
        return asking(f"how many {found[1]}{text[found.end() :]}")
    return text


def _listed(text: str, found: re.Match[str]) -> str:
    words = found[2].lower().split()
    at = next((i for i, word in enumerate(words) if word in _BEHIND), len(words))
    first = next((word for word in words[:at] if word.endswith(",")), words[at - 1] if at else "").rstrip(",")
    if not 0 < at <= _FARTHEST or not _NO_THING.isdisjoint(words[:at]):
        return text
    rest = text[found.start(2) :].rstrip(" .!?") + "?"
    whose = found[1] or "the "
    if first in _SEVERAL or (first.endswith("s") and not first.endswith(("ss", "us", "is"))):
        return f"what are {whose}{rest}"
    return f"what is {whose}{rest}" if found[1] and words[at : at + 1] and _tells(words[at:]) else text


def _tells(behind: list[str]) -> bool:
    """Whether what stands behind a single thing tells which it is: 'the name and size of the park'."""
    return behind[0] in _TELLING or (behind[0] == "and" and "of" in behind)
