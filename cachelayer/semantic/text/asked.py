"""What a request asks, without the polite phrases around it.

'Hi, hope you're well, I was wondering how long it takes, if you don't mind my asking' asks 'how long it takes'.
"""

from __future__ import annotations

import re
from typing import Final

from .characters import plain_characters
from .courtesies import OF_WORDS
from .direct import direct
from .fluent import fluent
from .manners import own, points_back, speaks_of_languages

LEAST: Final = 3
"""Words that must be left."""
LONGEST: Final = 600
"""Characters up to which a text is looked at."""


def any_of(patterns: str) -> str:
    """One pattern a line."""
    return "(?:" + "|".join(line.strip() for line in patterns.strip().splitlines()) + ")"


_PLEASE = "(?:(?:please|pls|plz|kindly|possibly|maybe|perhaps|just|quickly) )*"
_YOU = "(?:you|u|ya|someone|somebody|anyone|anybody)"
_COULD = f"{_PLEASE}(?:can|could|would|will|cud|wud) {_YOU} {_PLEASE}"
_ASK = "(?:ask|know|find out|learn)(?: you)?"
_KIND = "(?:quick|simple|small|silly|dumb|stupid|random)"
_NICE = "(?:good|great|nice|lovely|wonderful)"
_TIME = "(?:day|morning|afternoon|evening|night|week|weekend|time|one)"
_KINDLY = (
    "(?:kind|great|quick|prompt|possible|further|future|wonderful|amazing|excellent|fantastic|continued)"
)
_WELL = "(?:great|ok|okay|perfect|cool|alright|right|well|oh|ah)"
_MUCH = " a lot| so much| very much| again"
_NO_TROUBLE = r"""if (?:it|that)(?:(?:'s| is) (?:no|not (?:too much|a))|(?: isn't|'s not) (?:too much|a))
 (?:trouble|to ask|bother|problem|hassle)""".replace("\n", "")
_NEXT = r"""(?=(?:how|what|when|where|who|whose|whom|which|why|if|whether|is|are|was|were|do|does|did|can|could|may|
should|will|has|have|what's|how's|where's)\b)""".replace("\n", "")
"""What may follow where a question is put off."""
_NOW = r"(?!(?:when|if|whether)\b)"
"""'Let me know when it is done' asks for a message then."""
_GREETING = rf"""(?:hi+|hey+|hello+|heya|hiya|yo|greetings|good (?:morning|afternoon|evening|day))
(?: (?:there|all|everyone|everybody|guys|folks|team|again))?\s*
(?:[,.!;\u2013\u2014-]+\s|{_NEXT}|(?=(?:sorry|hope|quick|just|thanks|please|pls|any)\b))""".replace("\n", "")
_ASIDE = any_of(rf"""
    (?:excuse|pardon) me
    (?:so )?sorry(?: (?:to|for) (?:bother|bothering|disturb|disturbing|trouble)(?: you)?)?
    (?:i )?hope (?:you(?:'re| are)|this finds you|all is) (?:doing )?(?:well|fine|ok|okay|good|great)
    (?:i )?hope you(?:'re| are) having a {_NICE} {_TIME}
    (?:just )?(?:a )?{_KIND} (?:question|one|q)(?: for you)?
    (?:i have|i've got|got) a (?:{_KIND} )?question(?: for you)?
    thanks in advance
    (?:just )?(?:out of curiosity|curious)
    no rush
    pretty please
    forgive (?:me|my ignorance)
    if you don't mind(?: (?:my|me) asking)?
    {_NO_TROUBLE}
    (?:{_WELL},? )?(?:many )?(?:thx|thanks|thank you|ty|cheers)(?:{_MUCH})?
    if i may ask
    if possible
    dear (?:sir|madam|sir or madam|all|team|support|assistant|friends?)
""")
_PUTTING_OFF = any_of(rf"""
    {_COULD}(?:help me (?:out )?(?:and )?)?(?:tell|show|advise|explain to) (?:me|us) {_PLEASE}
    {_COULD}check (?:for (?:me|us) )?\b
    {_COULD}let (?:me|us) know {_PLEASE}{_NOW}
    {_COULD}point me to \b
    {_PLEASE}(?:tell|remind) (?:me|us) {_PLEASE}{_NOW}
    {_PLEASE}advise (?:(?:me|us) )?(?:on )?{_NOW}
    {_PLEASE}let (?:me|us) know {_PLEASE}{_NOW}
    (?:would|do) you mind (?:telling|showing|explaining to) (?:me|us) \b
    i don't suppose you (?:happen to )?know \b
    i (?:(?:can't|cannot|couldn't) (?:figure|work|find) out|(?:don't|do not) (?:know|understand|see)) \b
    (?:do|does|would) {_YOU} (?:happen to |maybe |by chance |by any chance )?know \b
    any (?:idea|clue|chance you know) \b
    i(?:'m| am| was|'ve been| have been) (?:just |only )?(?:wondering|curious|trying to find out)(?:,\s| )(?:about )?
    (?:just )?wondering \b
    (?:i )?(?:just )?(?:want|wanted|need|wish|would like|'d like|'d love|would love|like) to {_ASK} \b
    i'd (?:like|love) to {_ASK} \b
    (?:may|can|could|might) i (?:just |please |quickly )?ask(?: you)?[,:]? \b
    my question is[,:]? \b
""")
_FIRST: Final = re.compile(
    rf"\s*(?:{_GREETING}|{_ASIDE}\s*[,.!:;\u2013\u2014-]+\s|(?:{_COULD}do me a fav(?:or|our)|{_PLEASE}go ahead) and |"
    rf"(?P<off>{_PUTTING_OFF}){_NEXT})",
    re.IGNORECASE,
)
_THEN: Final = re.compile(rf"(?:and|so|but|also|now)(?:,)? {_NEXT}", re.IGNORECASE)
"""What may join a question to what was cut before it."""
_CLOSING = any_of(rf"""
    (?:(?:so )?many )?(?:thanks+|thanx|thx|ty|tysm|cheers|thank (?:you+|u))
    (?:thanks|thank you|thx) (?:a (?:lot|bunch|million|ton)|so much|very much|again)
    (?:many )?(?:thanks|thank you|thx)(?: (?:so|very) much)? in advance
    (?:many )?(?:thanks|thank you|thx) for (?:your|any|the|all(?: the| your| of your)?) (?:{_KINDLY} )?help
    (?:please|pls|plz)
    (?:it|that|this) would (?:mean a lot|help a lot|be (?:great|lovely|awesome|(?:very |so )?helpful))
    (?:any help|it|that|this)(?: is| would be|'d be)? (?:much |greatly |really )?appreciated
    much (?:appreciated|obliged)
    i(?:'d| would)? (?:really )?appreciate (?:it|that|any help)
    if (?:that's|that is|it's) (?:ok|okay|alright|possible)(?: (?:with|for) you)?
    {_NO_TROUBLE}(?: for you)?
    if (?:possible|i may ask|you don't mind(?: (?:my|me) asking)?|you (?:could|can)|you (?:happen to )?know)
    (?:have a|enjoy your) (?:{_NICE} )?(?:day|evening|weekend|one)
    (?:just )?(?:curious|wondering|asking)
    no rush
""")
_LAST: Final = re.compile(
    rf"(?P<stop>[\s,.!;?\u2013\u2014-]+)(?P<closing>{_CLOSING})(?P<end>[\s.!?,;)]*)$", re.IGNORECASE
)
_FAR: Final = 80
"""Characters from the end within which what is cut begins."""
_BEGINS: Final = frozenset(
    """hi hey hello heya hiya yo greetings good dear excuse pardon so sorry i i'm i've i'd do hope just a quick
    quickly simple small silly dumb stupid random got thanks out curious no pretty if forgive please pls plz
    thx ty cheers many great ok okay perfect cool alright right well oh ah
    kindly possibly maybe perhaps can could would will cud wud tell remind advise go inform let does any wondering
    want wanted need wish like may might my""".split()
)
"""Words that a text must begin with for anything to be cut there."""
_ENDS: Final = frozenset(
    """thanks thanx thx ty tysm cheers you u much again lot bunch million ton advance help please pls plz great
    lovely awesome helpful appreciated obliged it that ok okay alright possible trouble ask bother asking mind
    problem hassle could can know day evening weekend one curious wondering rush""".split()
)
"""Words that a text must end with for anything to be cut from its end."""
_QUOTING: Final = re.compile(r"[\"\u201c\u201d\u2018:`\n<>{}\[\]]")
_WORD: Final = re.compile(r"[^\W\d_]+")


def asked(text: str) -> str:
    """`text` without what frames it; `text` itself where there is nothing of the kind, or where it speaks of words."""
    text = plain_characters(text)
    if len(text) > LONGEST:
        return text
    text = fluent(text)
    said = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    at, off = _begin(said)
    end = _finish(said, at)
    rest = said[at:end]
    if len(rest) == len(text) or len(rest.split()) < LEAST or _QUOTING.search(said):
        return text
    words = _WORD.findall(said.lower())
    if not OF_WORDS.isdisjoint(words) or points_back(words):
        return text
    if off:
        return direct(rest.split())
    if at:
        return " ".join(rest.split())
    return f"{rest}?" if "?" in said[end:] else rest


def _begin(text: str) -> tuple[int, bool]:
    """Where the request begins, and whether it was put off there: 'can you tell me', but not 'hi'."""
    at, off = 0, False
    first = text[:30].split(None, 1)
    if first and _squeezed(first[0]) in _BEGINS:
        while found := _FIRST.match(text, at):
            at, off = found.end(), found["off"] is not None
            if then := _THEN.match(text, at):
                at = then.end()
    return at, off


def _finish(text: str, at: int) -> int:
    """Where it ends."""
    end = len(text)
    while _squeezed(text[max(end - 30, 0) : end].rstrip(" .!?,;)").rpartition(" ")[2]) in _ENDS:
        found = _LAST.search(text, max(at, end - _FAR), end)
        if not found or not _mannered(found, text):
            break
        end = found.start()
    return end


def _mannered(found: re.Match[str], text: str) -> bool:
    """Whether what `_LAST` found is the writer's own."""
    before = _WORD.findall(text[max(0, found.start() - 30) : found.start()].lower())
    languages = speaks_of_languages(_WORD.findall(text.lower()))
    closing, stop = found["closing"].lower().split(), found["stop"].replace(" ", "")
    return own(closing, before[-1] if before else "", stop, found["end"], languages=languages)


def _squeezed(word: str) -> str:
    """In small letters, without stops and letters drawn out at its end: 'heyyy', 'youuu'."""
    word = word.strip(" .!?,;:)\u2013\u2014-").lower()
    return word.rstrip(word[-1]) + word[-1] if word else ""
