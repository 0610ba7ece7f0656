"""Guard: of two searches, or two orders, one says more.

'Lasagna recipe' / 'vegan lasagna recipe', 'hotels in Rome' / 'hotels in Rome with a pool', 'python jobs' / 'remote
python jobs', 'play jazz' / 'play jazz in the kitchen'. What neither asks how or why nor tells of someone is put
together of what is wanted, and each word of it narrows that, but for those that only ask.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Final

from ..text.lexemes import stem
from ..text.lexicon import begun, phrases
from ..text.manners import CIVIL, earnest
from ..text.signature import Signature

_LONG: Final = 12
"""Words from which on a text says more than what is wanted."""
_FRAMES: Final = phrases(
    """are there any,do you have,have you got,what are some,what are some of,can you,could you,
    would you,will you,i want,i need,i want to,i need to,i would like,i'd like,i would like to,i'd like to,i'm,i am,im,
    can i get,can i find,can i see,can i buy,can i have,where can i,where do i find,where to,we need,we want,
    i want you to,i would like you to,i'd like you to,let me,let's"""
)

NEVER_SOUGHT: Final = frozenset(
    """what what's whats which how how's why why's when when's where where's whether who who's whom whose if because
    since than that that's while as is are am was were be been being do does did done has had have having can could
    would should must shall may might will won't wont didn't don't dont doesn't isn't aren't wasn't weren't can't
    cannot cant couldn't i i'm i'd i'll i've im you your you're he she they we him them his their our it its it's
    mean means difference vs versus compare explain define""".split()
)
"""None of these is in what is only sought or ordered."""
IDLE: Final = frozenset(
    map(
        stem,
        """search searching look looking seek seeking list lists display see view browse check hear listen buy purchase
        book booking reserve reservation order rent rental renting hire love available availability online
        possible recommend recommended recommendation recommendations suggest suggestion suggestions advise help
        good best better great nice top popular favorite favourite place places spot spots site sites shop shops
        store stores website websites service services company option options choice choices offer offers deal
        deals selection result results item items product products type types variety varieties brand brands
        idea ideas tip tips example examples recipe recipes dish food information detail details name names
        color colour playlist game music song songs genre radio appointment year account contact contacts new
        latest current currently right today existing other another more different various all every many much
        serve serves serving sell sells selling sold offering provide provides exist exists play playing open
        pull area city town location time times people user start turn set put make change switch give have
        house home room device system machine app nearby near close around local neighborhood neighbourhood
        alexa siri olly google ai together actual actually real exact personal voice stay under below above over
        lets until till total forecast calendar equation convert send use obtain sign request assist assistance
        try trying keep interested learn know report perform revert reset begin immediately ahead problem share
        inform level bank resource resources connect remember initiate apply reorder hands tell rate mode once
        human word words common general main brief overview author band singer artist film films movie movies
        season cleaner algorithm television between using style happening happen watch ride tune tunes
        write draft compose create generate per each tone manner""".split(),
    )
)
"""What only asks, or goes without saying."""
_ACTS: Final = {
    stem(verb): acts
    for acts in (
        frozenset(map(stem, line.split()))
        for line in """stop cancel end quit halt|continue resume unpause|begin start launch|delete remove erase clear
        |raise increase boost|lower decrease reduce|find locate|close shut|call phone ring telephone dial|fix repair
        |change modify update alter adjust edit|choose pick select|write compose draft|dim darken|brighten lighten
        |hide conceal|hang mount|wash clean|fetch bring|copy duplicate|rename relabel|abort terminate""".split(
            "|"
        )
    )
    for verb in acts
}
"""Of one line any verb may order what another does (WordNet 3.0's synsets)."""
_VERBS: Final = frozenset(_ACTS)
_ALIKE: Final = frozenset((stem("similar"),))
_WISHING: Final = frozenset("i i'd would should we you looks look feel sounds".split())


def searches(a: Signature, b: Signature) -> bool:
    """Both only say what is wanted, and the one says more of it than the other."""
    if not (a.stems <= b.stems or b.stems <= a.stems) and not _ordered_alike(
        a.stems - b.stems, b.stems - a.stems
    ):
        return False
    return not _said(a) ^ _said(b) <= IDLE | _VERBS and seeks(a) and seeks(b)


def _ordered_alike(mine: Set[str], theirs: Set[str]) -> bool:
    """'Cancel the timer' / 'stop the timer for the eggs': two verbs for one thing, and but one names something else."""
    deeds = mine & _VERBS
    if len(deeds) != 1 or len(mine) > 1 < len(theirs):
        return False
    (deed,) = deeds
    return len(theirs & _ACTS[deed]) == 1


def _said(s: Signature) -> frozenset[str]:
    """What is said; 'books like Dune' are not Dune."""
    liked = "like" in s.vocabulary and any(
        like == "like" and word not in _WISHING for word, like in pairwise(s.words)
    )
    return s.stems | _ALIKE if liked else s.stems


def seeks(s: Signature) -> bool:
    """Whether it names things, or orders something to be done with them."""
    return len(s.words) <= _LONG and s.english and NEVER_SOUGHT.isdisjoint(_unframed(s.words))


def _unframed(words: Sequence[str]) -> Sequence[str]:
    """Without 'could you please', 'I'm looking for'."""
    at = earnest(words, CIVIL)
    return words[at + begun(words, at, _FRAMES) :]
