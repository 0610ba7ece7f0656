"""Words of which either says what the other does: 'purchase a movie' is 'buy a film', 'every week' is 'weekly'.

Two stand in one line only where no thing is known to which one does something else: 'activate' and 'turn on' do not (a
licence, a lamp), nor 'pick' and 'choose' (a lock), nor 'raise' and 'increase' (a child), nor do 'a purchase order' and
'a buy order'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .frames import FRAMES
from .lexicon import FUNCTION_WORDS
from .repeats import SPELLED

_SAME: Final = """
film, movie
films, movies
child, kid
children, kids
to buy, to purchase
i buy, i purchase
we buy, we purchase
you buy, you purchase
bought, purchased
buying, purchasing
enable, activate
enabled, activated
enabling, activating
disable, deactivate
disabled, deactivated
disabling, deactivating
turn on, switch on
turn off, switch off
turning on, switching on
turning off, switching off
login to, login into, log in to, log into, log on to, log onto, sign in to, sign into
login, log in, log on, logon, sign in, signin
logged in, logged on, signed in
logging in, logging on, signing in
logout, log out, log off, logoff, sign out
logged out, logged off, signed out
logging out, logging off, signing out
sign up for, register for
mobile phone, cell phone, cellphone
mobile phones, cell phones, cellphones
luggage, baggage
restart, reboot
restarted, rebooted
restarting, rebooting
fastest, quickest
easiest, simplest
start, begin
starts, begins
biggest, largest
how big, how large
remove, get rid of
removing, getting rid of
take care of, look after, care for
taking care of, looking after, caring for
contact, get in touch with
tv, television
tvs, televisions
fridge, refrigerator
photo, photograph
photos, photographs
plane, airplane, aeroplane
planes, airplanes, aeroplanes
ad, advert, advertisement
ads, adverts, advertisements
flu, influenza
get, obtain
choose, select
choosing, selecting
repair, fix
repaired, fixed
repairing, fixing
allowed, permitted
doctor, physician
doctors, physicians
lawyer, attorney
lawyers, attorneys
my mother, my mom, my mum
my father, my dad
grandmother, grandma
grandfather, grandpa
someone, somebody
anyone, anybody
everyone, everybody
nobody, no one
until, till
while, whilst
hourly, every hour, each hour
daily, every day, each day, everyday
nightly, every night, each night
weekly, every week, each week
monthly, every month, each month
yearly, annual, annually, every year, each year
an hour, per hour
a day, per day
a night, per night
a week, per week
a month, per month
a year, per year
a person, per person
how is the weather, what is the weather like, how is the weather like, what is the weather
the usa, the united states, the united states of america
the uk, the united kingdom
the eu, the european union
ai, artificial intelligence
2fa, two factor authentication
driving license, driver's license, drivers license, driver license
postcode, postal code, zip code
any more, anymore
checkout, check out
checkin, check in
i back up, i backup
to back up, to backup
i set up, i setup
to set up, to setup
create an account, make an account
"""
"""A line is what says one thing, the word or phrase that stands for it first."""
_MEANT: Final = {
    tuple(said.split()): tuple(line.split(", ")[0].split())
    for line in _SAME.strip().splitlines()
    for said in line.split(", ")
}
_BY_FIRST: Final = {
    first: sorted((said for said in _MEANT if said[0] == first), key=len, reverse=True)
    for first in {said[0] for said in _MEANT}
}
_RATES: Final = {"day": "daily", "night": "nightly", "week": "weekly", "month": "monthly", "year": "yearly"}
_PAID: Final = frozenset(
    "fee fees price prices cost costs rate rates charge charges rent salary wage wages pay payment limit".split()
)
VARIANTS: Final = frozenset(word for said in _MEANT for word in said)
"""Words of all of these."""
SAYING: Final = (
    VARIANTS - FUNCTION_WORDS - FRAMES - frozenset("day night week month year hour person email".split())
)
"""Of these, words of which one differs wherever a phrase does."""
COMMON: Final = SAYING - frozenset(
    "ai artificial intelligence 2fa tv eu uk usa european union united kingdom states america".split()
)
"""Those that are no names; where one is written as a name is, it may be a title: 'Who stars in Mom?'."""
_OF_NAMES: Final = SPELLED.union(
    """synonym synonyms antonym antonyms rhyme rhymes define defined definition etymology plural noun verb name names
    called call calls stand stands abbreviation title stars starred starring sang sings song lyrics novel
    directed""".split()
)
"""With one of these words may be what is asked about, or a title."""


def unvaried(words: Sequence[str]) -> tuple[str, ...]:
    """`words` with the first of each line for all others, and no hyphens."""
    if not _OF_NAMES.isdisjoint(words):
        return tuple(words)
    parts = " ".join(words).replace("-", " ").split()
    out: list[str] = []
    at = 0
    while at < len(parts):
        word, end = parts[at], at + 1
        for said in _BY_FIRST.get(word, ()):
            if tuple(parts[at : at + len(said)]) == said:
                out += _MEANT[said]
                end = at + len(said)
                break
        else:
            out.append(word)
        at = end
    return tuple(_rated(out))


def _rated(words: list[str]) -> list[str]:
    """'The fee a month' is 'the monthly fee'."""
    for at, (what, a, time) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if a == "a" and what in _PAID and time in _RATES:
            words[at : at + 3] = [_RATES[time], what]
            break
    return words
