"""Words of which either says what the other does: 'purchase a movie' is 'buy a film', 'every week' is 'weekly'.

What does is in phrasebook.txt. 'Turn the lights on' is 'turn on the lights'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .particles import joined
from .phrasebook import BEGIN, END, phrasebook
from .repeats import SPELLED
from .written import COUNTS

PASSES: Final = 3
"""How often a text is read for phrases at most: what one line makes, another may know."""
_ASKS: Final = "?"
FORMS: Final = {word: n for word, n in COUNTS.items() if int(n) <= 20}
"""Words that are written otherwise wherever they stand."""
_RATES: Final = {"day": "daily", "night": "nightly", "week": "weekly", "month": "monthly", "year": "yearly"}
_PAID: Final = frozenset(
    "fee fees price prices cost costs rate rates charge charges rent salary wage wages pay payment limit".split()
)
NAMES: Final = frozenset(
    """ai artificial intelligence 2fa tv eu uk usa european union united kingdom states america czech republic czechia
    new york city nyc javascript typescript ts kubernetes ceo python vitamin c pdf pdfs csv sms atm ac ssn prs
    env html css ruby rust php kotlin swift dob eta otp otps mfa hr pto gdp apy un nations uae arab emirates vpn api
    cpu gpu ssd llm llms nlp roi seo bmi adhd mri faq faqs asap mount mt everest fuji kilimanjaro rushmore
    rainier etna vesuvius olympus whitney hood elbrus cv resume curriculum vitae""".split()
)
"""Words of phrases that may be written as names are. Where another one is, it may be a title: 'Who stars in Mom?'."""
_OF_NAMES: Final = SPELLED.union(
    """synonym synonyms antonym antonyms rhyme rhymes define defined definition etymology plural noun verb name names
    called call calls stand stands abbreviation title stars starred starring sang sings song lyrics novel
    directed released soundtrack command commands keyword keywords attribute attributes column columns vba npm docker
    kubectl systemctl sudo""".split()
)
"""With one of these words may be what is asked about, or a title."""
_NAMED: Final = frozenset(("name", "names"))
_STATEMENTS: Final = (("drop", "table"), ("create", "table"), ("alter", "table"), ("insert", "into"))


def unvaried(words: Sequence[str]) -> tuple[str, ...]:
    """`words` with the first phrase of each line for all others, particles behind their verbs, and no hyphens."""
    if _about_names(words) or tuple(words[:2]) in _STATEMENTS or {"select", "from"} <= {*words}:
        return tuple(words)
    parts = " ".join(words).replace("-", " ").split()
    asks = [parts.pop()] if parts[-1:] == [_ASKS] else []
    parts = joined([FORMS.get(part, part) for part in parts])
    book = phrasebook()
    for _ in range(PASSES):
        before = parts
        parts = book.restated(
            [part for part in book.replaced([BEGIN, *parts, END]) if part not in (BEGIN, END)]
        )
        if parts == before:
            break
    return (*_rated(parts), *asks)


def _about_names(words: Sequence[str]) -> bool:
    """Whether a phrase may be a title; not by 'the names of the students', which asks for them."""
    if _OF_NAMES.isdisjoint(words):
        return False
    after = (*words[1:], "")
    return any(a in _OF_NAMES and not (a in _NAMED and b == "of") for a, b in zip(words, after, strict=True))


def _rated(words: list[str]) -> list[str]:
    """'The fee a month' is 'the monthly fee'."""
    for at, (what, a, time) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if a == "a" and what in _PAID and time in _RATES:
            words[at : at + 3] = [_RATES[time], what]
            break
    return words
