"""What people tell beside a question that only sets the scene: 'I'm new here', 'I looked everywhere'.

A pattern is how such a statement begins. What follows must be said by the question as well, or be of `BESIDE`.
"""

from __future__ import annotations

import re
from typing import Final

from .asked import any_of

BESIDE: Final = frozenset(
    """app apps website websites site sites page pages webpage homepage online web faq faqs manual documentation docs
    instructions guide article articles video videos tutorial internet google menu menus button buttons option options
    link links section tab icon place information details question questions everywhere anywhere somewhere
    everything every single hour hours minute minutes day days week weeks month months year years age ages forever long
    time times while whole all morning afternoon evening today now far moment lot lots much more anymore many bit little
    first before ever since last ago recently same ask asked asking hold support service homework essay report paper
    presentation project thesis trip news documentary tv fan luck success here there really settings checkout portal
    dashboard bots robots machines chatbot chatbots""".split()
)
"""Words of content that may follow."""


def _words(text: str) -> str:
    return f"(?:{'|'.join(text.split())})"


_VERY: Final = r"(?:(?:a bit|a little|kind of|{}) )*".format(
    _words(
        """really just still also currently quite very so totally completely pretty rather honestly actually always
        getting only absolutely simply too already recently now all"""
    )
)
_AM: Final = (
    rf"(?:i'm|im|i am|i feel|i was|i've been|i have been|we're|we are|we've been|we have been) {_VERY}"
)
_HAVE: Final = rf"(?:i've|ive|i have|we've|we have|i|we) {_VERY}(?:been )?{_VERY}"
_I: Final = rf"(?:i|we) {_VERY}"
_ID: Final = rf"(?:i|we|i'd|we'd) {_VERY}"
_IT: Final = rf"(?:it's|it is|this is|that's|that is|it was|this was) {_VERY}"
_YOURS: Final = "(?:your|the|this|that) (?:help |web )?"
_CANNOT: Final = r"(?:can't|cannot|can not|couldn't|could not|don't|do not|didn't|did not|haven't|have not)"
_PERSON: Final = _words(
    """friend colleague coworker manager boss son daughter wife husband mother mom mum father dad partner boyfriend
    girlfriend brother sister teacher neighbour neighbor kid kids children child parents roommate flatmate supervisor
    team client grandmother grandfather grandson aunt uncle friends colleagues"""
)
_GUIDE: Final = _words(
    "website site app page manual guide faq faqs documentation docs instructions help menu bot"
)
_FEELING: Final = "(?:not sure|not certain|fed up|losing patience|a nervous|{})".format(
    _words(
        """confused worried curious stuck bored frustrated annoyed excited scared afraid nervous impatient unhappy happy
        glad desperate disappointed angry upset interested concerned unsure struggling clueless puzzled baffled lost
        wondering tired sorry"""
    )
)
_STRANGE: Final = r"(?:driving me \w+|making me \w+|{})".format(
    _words(
        """urgent important annoying frustrating confusing weird strange ridiculous unacceptable hard difficult
        complicated unclear exciting embarrassing"""
    )
)
_SAID: Final = _words(
    "told tells asked asks asking wants want wanted wondered wonders sent recommended suggested mentioned"
)
_KIND: Final = "(?:(?:quick|small|simple|silly|stupid|dumb|little|short|general|basic|easy|naive|weird) )"
_TROUBLE: Final = _words(
    "question questions problem problems issue issues request query concern trouble difficulty difficulties"
)
_NEW: Final = _words("new newbie beginner noob novice newcomer")
_BUYER: Final = _words("fan customer client user")
_DOING: Final = _words(
    "writing doing preparing making studying learning reading building comparing planning researching"
)
_TRIED: Final = _words(
    "tried trying looked looking searched searching googled googling waited waiting spent reading read"
)
_SCENE: Final = re.compile(any_of(rf"""
    {_AM}{_FEELING}\b(?: (?:about|with|by|of|at|from|and))?
    {_AM}(?:a |an )?(?:complete |total |absolute )?{_NEW}\b(?: (?:to|at|with))?
    {_AM}(?:a |an |your )?{_VERY}(?:big |huge |loyal |regular |frequent |happy |long-time )*{_BUYER}\b
    {_AM}(?:trying|looking|searching|waiting)\b(?: (?:to|for|at|on))?
    {_AM}(?:{_DOING}|working on) (?=\w)
    {_AM}(?:on|in|at) (?:your|the|this)\b
    {_AM}in a (?:hurry|rush)
    {_AM}(?:flying|travelling|traveling|staying|shopping|banking) with you$
    {_AM}having (?:{_VERY}|some |a |hard |lots of )*(?:{_TROUBLE}|time)\b
    {_I}(?:{_CANNOT}|never) {_VERY}(?:seem to )?(?:find|found|locate|spot|figure|work out|understand|decide|choose)\b
    {_I}(?:{_CANNOT}|never) {_VERY}(?:know|recall)\b
    {_I}{_CANNOT} {_VERY}(?:seem to )?(?:see|get) (?=\w)
    {_I}(?:am |was )?(?:not able|unable) to (?:find|locate|see|figure out)\b
    {_HAVE}{_TRIED}\b
    {_HAVE}(?:heard|saw|seen|watched|learned|learnt|came across|wondered|asked) (?=\w)
    {_HAVE}asked (?:my|a|the) {_PERSON}\b
    {_HAVE}never (?:done|been|flown|heard of)\b
    {_HAVE}(?:started|joined|downloaded|installed|discovered) (?:here|today|using|your|this)\b
    {_HAVE}(?:a )?(?:loyal |happy |long-time )?(?:customer|client|user|with|shopped|shopping|using|coming|on hold)\b
    {_I}(?:love|like|enjoy|adore) (?:your|this) \w+(?: a lot| so much| very much)?$
    {_I}hope (?:you|someone|somebody) can help(?: me| us)?$
    {_I}(?:need|could use) (?:your |some |a bit of )?(?:help|assistance|advice|information)\b
    {_I}(?:have|had|got) (?:a |an |another |one |some )?{_KIND}*{_TROUBLE}\b
    {_KIND}+{_TROUBLE}\b
    {_I}(?:keep|kept) (?:forgetting|wondering|asking)\b
    {_I}(?:always |often )?(?:forget|wonder|wondered)\b
    {_I}should know (?:this|that|it)
    {_I}changed my mind
    {_I}have no (?:idea|clue)\b
    (?:just )?(?:checking|wondering|asking|curious)\b
    {_IT}{_STRANGE}\b
    {_IT}(?:my|our) (?:very )?first (?:time|day|visit|week)\b
    {_IT}(?:a |an )?{_KIND}+{_TROUBLE}\b
    sorry if (?:this|that|it) (?:is|sounds)\b(?: an?)? {_KIND}*
    (?:my|our|a|the) {_PERSON} (?:just |also |always |and i )?(?:is |was |keeps )?{_SAID}\b(?: (?:me|us|you))?
    (?:my|our) {_PERSON} and i (?:wondered|wonder|want|had|have|disagree|are wondering|were wondering)\b
    {_I}(?:had|have|made) a (?:bet|debate|discussion|disagreement|argument)\b
    (?:nobody|no one|noone) (?:answers|answered|responds|replies|helps|can help|could help|knows)(?: the phone)?\b
    {_YOURS}{_GUIDE} (?:is|are) {_VERY}(?:not )?(?:{_STRANGE}|useless|helpful|unhelpful|clear|great)\b
    {_YOURS}{_GUIDE} (?:doesn't|does not|don't|do not|didn't) (?:say|help|tell|explain|mention)\b
    (?:maybe|perhaps) you can help\b
    (?:great|nice|awesome|lovely|good|cool|amazing) (?:app|site|website|job|work|service|product|shop|store)$
"""))  # fmt: skip
_OWNED: Final = _words(
    """have got own use using bought ordered purchased booked placed made received downloaded installed created forgot
    forgotten noticed feel"""
)
_WISHED: Final = _words("want wanted wanna need needed wish hope plan intend like love prefer appreciate")
_THING: Final = re.compile(any_of(rf"""
    {_HAVE}{_OWNED}\b
    {_ID}(?:would )?{_WISHED}\b
    {_I}(?:was going|have to)\b
    {_AM}(?:hoping|planning|considering|going|about|thinking)\b
    {_I}(?:enjoy|adore|hate|guess|think|believe|suppose|assume)\b
    {_I}(?:{_CANNOT}) (?:remember|recall|want|need|like)\b
    (?:it's|it is|this is) about\b
    (?:the|these|those|my) (?=\w+ (?:is|are) {_VERY}{_STRANGE}$)
"""))  # fmt: skip
"""What must be about a thing that the question names."""
_NO_SCENE: Final = frozenset("no not never yes without you".split())


def scene(text: str) -> tuple[list[str], bool] | None:
    """The words after which nothing but a scene can follow, and whether one must be of the question's; or None.

    `text`: a statement in small letters, words alone.
    """
    found = _SCENE.match(text)
    thing = found is None
    if found is None and (found := _THING.match(text)) is None:
        return None
    rest = text[found.end() :].split()
    if not _NO_SCENE.isdisjoint(rest):
        return None
    return rest, thing
