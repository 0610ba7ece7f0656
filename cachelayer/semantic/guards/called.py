"""A thing, or what is called by its name: 'How big is a python?' and 'How big is Python?'.

An article that one text has before a word in small letters, and the other leaves out before the same word with a
capital, makes it a name. Behind 'the' that holds for words that are names of companies, programs and places only: 'the
hub' is 'Hub' for those who make it.
"""

from __future__ import annotations

import re
from typing import Final

from ..text.reading import Reading

LONGEST: Final = 300
"""Characters up to which a text is looked at."""
_THINGS: Final = re.compile(r"\b(an?|the) ([a-z]{2,})\b(\W*\w*)")
_NAMES: Final = re.compile(r"(?<![.!?:;\n\"'\u2018\u201c]) \b([A-Z][a-z]+)\b(\W*\w*)")
_DETERMINERS: Final = frozenset(
    "a an the this that these those my your our his her its their some any each every".split()
)
_KNOWN: Final = frozenset(
    """access alphabet amazon apple beetle bing bird bolt box bumble capital chase chef chime chrome delta discord
    discover docker dodge drive echo edge excel express fire flask frontier gap go hinge jaguar julia kindle
    lime line match mercury meta mustang nest notion numbers office opera oracle orange outlook pages prince
    puppet python queen ram react ring ruby rust safari salt saturn shell signal sketch slack slides snowflake
    spark spirit spring square steam stripe swift switch target teams tinder twitch uber unity vault visa
    windows word zoom""".split()
)
"""Names that are things, too."""


def called(a: Reading, b: Reading) -> bool:
    """Whether one speaks of a thing and the other of what has its name."""
    if len(a.text) > LONGEST or len(b.text) > LONGEST:
        return False
    return _named(a.text, b.text) or _named(b.text, a.text)


def _named(thing: str, name: str) -> bool:
    """Whether `name` has a name for what is a thing in `thing`, before the same next word."""
    things = {word: (article, _next(after)) for article, word, after in _THINGS.findall(thing)}
    if not things or name.isupper() or name.istitle():
        return False
    for found in _NAMES.finditer(name):
        article, after = things.get(found[1].lower(), ("", ""))
        if not article or after != _next(found[2]) or (article == "the" and found[1].lower() not in _KNOWN):
            continue
        before = name[: found.start()].rpartition(" ")[2]
        apart = before == name[: found.start()] or not before[:1].isupper()
        if apart and before.lower() not in _DETERMINERS and not re.search(rf"\b{found[1]}\b", thing):
            return True
    return False


def _next(after: str) -> str:
    """The word in what follows; '' at the end of a sentence."""
    return after.strip() if after[:1] == " " else ""
