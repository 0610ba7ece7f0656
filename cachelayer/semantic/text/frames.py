"""One question in another frame: 'How can a standing order be set up?' asks how I set up a standing order.

'What do I have to do to open it', 'What are the steps to open it', 'I want to open it, how?' ask how I open it; 'In
Java, how do I' is 'How do I in Java', 'what does it cost' is 'how much is it', 'is it possible to' is 'can I'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Final

from .commands import asking
from .direct import direct
from .fronted import behind
from .lexicon import OWN_ACTS
from .repeats import SPELLED

LONGEST: Final = 300
"""Characters up to which a text is looked at."""
_BEGIN: Final = r"(?:^|(?<=[.!?,;:] )|(?<=\band )|(?<=\bso ))"
"""Where a question begins."""
_IS: Final = "(?:'s| is| are| would be)"
_ACT: Final = r"to (?!be\b|not\b|get )"
_ACTING: Final = r"(?:of|for|in) (?=[a-z]+ing\b)"
_DO: Final = "(?:can|could|do|must|should|will|would)"


def _begins(*patterns: str) -> re.Pattern[str]:
    return re.compile(f"{_BEGIN}(?:{'|'.join(patterns)})", re.IGNORECASE)


_BEFALLING: Final = (
    r"(?:be|have|not|ever|possibly|forget|miss|lose|fail|let|die|break|think|believe|doubt|know|say)\b"
)
"""'How could I forget it' asks no way to."""
_STAYING: Final = r"(?:live|work|sit|stand|sleep|stay|study|belong|be|come)\b"
"""'Where do I live' asks for a fact, 'where can I live' for a place."""
_WISH: Final = _begins(
    r"(?:i(?:'d| would)? (?:like|love|want|need|wish)|i(?:'m| am) (?:trying|looking|hoping)) to ([^,.;:?!]+?)"
    rf"(?:[,.;:?!]+ (?:and |but |so )?how(?: {_DO} i(?: (?:do|go about) (?:that|this|it|so))?"
    r"| does (?:that|this) work)?"
    r"|,? but (?:i )?(?:don't|do not) know how(?: to(?: do (?:that|this|it|so))?)?)\s*[?.!]*$"
)
"""'I want to close my account, how do I do that?', 'but I don't know how'"""
_PASSIVE: Final = _begins(
    r"how (can|could|should) (?!(?:i|we|you|he|she|they|it|this|that|there)\b)"
    r"([^\s,.;:?!]+(?: [^\s,.;:?!]+){0,5}) be ([a-z]{3,})( (?:up|off|on|out|down|back))?(?![\w'-])"
)
_HOW: Final = _begins(
    rf"how {_DO} (?:i|we|one) go about (?=[a-z]+ing\b)",
    rf"how (?:can|could|would) (?:i|we|one) (?!{_BEFALLING})",
    "how (?:does one|do we) ",
    r"how to (?!be\b|not\b)",
    rf"what {_DO} (?:i|we|one) (?:have to |need to )?do (?:in order )?{_ACT}",
    rf"what (?:do i (?:have|need) to|must i) do if i (?:want|wish) {_ACT}",
    r"(?:please )?(?:(?:can|could|would|will) you )?(?:please )?(?:walk|guide|talk) me through "
    r"(?:how to |(?=[a-z]+ing\b))",
    rf"what{_IS} the (?:(?:right|correct|proper|usual) )?way (?:{_ACT}|{_ACTING})",
    rf"what{_IS} the (?:steps?|process|procedure) (?:{_ACT}|{_ACTING})",
)
_GERUND: Final = re.compile(r"([a-z]{2,})ing\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"\b((?:tell|told) (?!me\b|us\b|you\b)(?:my )?[a-z]+|i think|make sure|i hope) that "
    r"(?=(?:i|i'm|he|she|we|they|it|you|the|my|our|your)\b)",
    re.IGNORECASE,
)
"""'Tell Ann that I'm late' tells her I'm late."""
_SINCE: Final = _begins(
    r"why (has|have) ([^\s,.;:?!]+(?: [^\s,.;:?!]+){0,3}?) been (?=[a-z]+(?:ed|en|nt|ld)\b)"
)
"""'Why has it been sent twice' is 'why was it sent twice'."""
_HOW_COME: Final = re.compile(r"how come (?=\S+ \S)", re.IGNORECASE)
_EXPLAIN: Final = re.compile(
    r"(?:please )?(?:(?:can|could|would|will) you )?(?:please )?explain (?:to (?:me|us) )?(?=(?:how|why) \S+ \S)",
    re.IGNORECASE,
)
"""'Explain how it works' asks how it does."""
_VERBS: Final = (
    "(?:am|is|are|was|were|do|does|did|can|could|may|might|must|will|would|shall|should|has|have|had"
    "|[a-z]+n't)"
)
_UNTURNED: Final = re.compile(
    rf"(?:why|how(?! (?!(?:i|you|we|they|he|she|it|there|one) )(?:[a-z]*[^s]|[a-z]*[us]s) {_VERBS}\b)) "
    rf"(?!(?:{_VERBS}|not|to|come|about|many|much|long|often|far)\b)[a-z]+ [^,;:]+$",
    re.IGNORECASE,
)
"""'Why oceans are salty?' has the order of a statement; 'How expensive is it?' has not."""
_PRICE: Final = _begins(
    r"(?:how much|what) (?:do|does) ([^,.;:?!]+?) cost(?= *\??$)",
    rf"what{_IS} the (?:price|cost) (?:of|for) ([^,.;:?!]+)",
)
_OLD: Final = {
    "height": "tall", "depth": "deep", "width": "wide", "weight": "heavy", "age": "old", "length": "long",
    "duration": "long", "size": "big", "speed": "fast",
}  # fmt: skip
_MEASURE: Final = _begins(
    rf"what{_IS} the ({'|'.join(_OLD)}) of ([^,.;:?!]+)",
    rf"what{_IS} ([^,.;:?!]+?)(?:'s|(?<=s)') ({'|'.join(_OLD)})(?= *\??$)",
)
_WEIGHT: Final = _begins(r"how much (?:do|does) ([^,.;:?!]+?) weigh(?= *\??$)")
_DID: Final = dict(
    pair.split("/")
    for pair in """author/wrote writer/wrote inventor/invented founder/founded director/directed discoverer/discovered
    composer/composed creator/created designer/designed winner/won owner/owns""".split()
)
_DOER: Final = _begins(rf"who(?:'s| is| are| was| were) the ({'|'.join(_DID)})s? of (?=[a-z0-9])")
_TIMES: Final = _begins(
    r"(how often|how long|when|where) (can|could|should|must) (?!(?:i|we|you|he|she|they|it|this|that|there)\b)"
    r"([^\s,.;:?!]+(?: [^\s,.;:?!]+){0,5}) be ([a-z]{3,})( (?:up|off|on|out|down|back))?(?![\w'-])"
)
_SAID: Final[tuple[tuple[frozenset[str], re.Pattern[str], str], ...]] = tuple(
    (frozenset(hints.split()), _begins(*frames), plain)
    for hints, plain, *frames in (
        ("are", r"how \1 is ", f"how (much|{'|'.join(_OLD.values())}) are "),
        ("cause causes", "what causes ", rf"what{_IS} the causes? (?:of|for|behind) "),
        ("which", "what ", "which (?!of |one |ones )"),
        ("ways", "what is the best way to ", rf"what{_IS} the best ways to "),
        ("differences", "what is the difference ", rf"what{_IS} the differences "),
        ("some", "what are the ", "what are some (?:of the )?"),
        ("where", "where do I ", rf"where (?:(?:can|could) (?:i|we|one) (?!{_STAYING})|(?:do we|does one) )"),
        ("do", "what do ", r"what (?:can|should) (?=(?:i|we) do(?: (?:if|when|about|after|now)\b| *[?.!]*$))"),
        (
            "possible way able may could", "can I ", rf"(?:may|could) i (?!{_BEFALLING})",
            "(?:is it|would it be) possible (?:for me )?to ", "is there (?:a|any) way to ", "am i able to ",
        ),
    )
)  # fmt: skip
"""Frames that are replaced as they stand; a text has one of the words before each."""
_PARTICIPLES: Final = dict(
    pair.split("/")
    for pair in """sent/send paid/pay made/make done/do written/write shown/show built/build held/hold cut/cut set/set
    put/put found/find shut/shut given/give taken/take seen/see worn/wear left/leave kept/keep broken/break
    bought/buy sold/sell read/read brought/bring lent/lend spent/spend told/tell taught/teach frozen/freeze
    driven/drive eaten/eat hidden/hide chosen/choose drawn/draw forgotten/forget got/get run/run split/split
    reset/reset rebuilt/rebuild undone/undo won/win caught/catch fed/feed hung/hang""".split()
)

FRAMES: Final = frozenset(
    """how can could do does should would will must i we one to have need what what's is are be get the way steps step
    process procedure for of in order right correct proper usual go about i'd want like love wish and but so that this
    it am able possible me there a any much cost price where which ways difference differences some whats who who's whos
    where's wheres how's hows come why""".split()
)
"""Words that a frame has."""
TELLING: Final = frozenset("cause causes weigh explain costs".split()).union(
    _OLD, _OLD.values(), _DID, _DID.values(), (doer + "s" for doer in _DID)
)
"""Words that the rarer frames have."""
BESIDE: Final = frozenset(
    """was were often long when behind by please you us if may try trying look looking hope hoping don't know work
    walk guide talk through has have been that""".split()
)
"""Words that these have besides."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_SHOWING: Final = re.compile(r"[\"\u201c\u201d\u2018:`\n<>{}\[\]]")


def framed(text: str, known: Container[str]) -> str:
    """`text` with its question in the commonest frame; `text` as it is where it shows something or speaks of words.
    `known`: words that there are."""
    words = frozenset(_WORD.findall(text.lower()))
    if len(text) > LONGEST or _SHOWING.search(text) or not SPELLED.isdisjoint(words):
        return text
    said = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    said = _HOW_COME.sub("why ", asking(said)) if "come" in words else asking(said)
    if found := _UNTURNED.match(said):
        said = direct(said.split())
    elif found := _EXPLAIN.match(said):
        said = direct(said[found.end() :].split())
    said = behind(said)
    if "that" in words:
        said = _CLAUSE.sub(r"\1 ", said)
    if "been" in words and (found := _SINCE.search(said)):
        was = "was" if found[1].lower() == "has" or found[2].lower() == "i" else "were"
        return f"{said[: found.start()]}why {was} {found[2]} {said[found.end() :]}"
    if found := _WISH.search(said):
        return f"{said[: found.start()]}how do I {found[1]}?"
    for hints, frame, reframed in _REFRAMED:
        if not hints.isdisjoint(words) and (found := frame.search(said)):
            return reframed(said, found, known)
    for hints, frame, plain in _SAID:
        if not hints.isdisjoint(words) and (found := frame.search(said)):
            return said[: found.start()] + found.expand(plain) + said[found.end() :]
    return said


def _measured(text: str, found: re.Match[str], known: Container[str]) -> str:
    what, of = (found[1], found[2]) if found[1] else (found[4], found[3])
    return f"{text[: found.start()]}how {_OLD[what.lower()]} is {of}{text[found.end() :]}"


def _weighs(text: str, found: re.Match[str], known: Container[str]) -> str:
    return f"{text[: found.start()]}how heavy is {found[1]}{text[found.end() :]}"


def _did(text: str, found: re.Match[str], known: Container[str]) -> str:
    return f"{text[: found.start()]}who {_DID[found[1].lower()]} {text[found.end() :]}"


def _timed(text: str, found: re.Match[str], known: Container[str]) -> str:
    """'How often should the filter be changed' is 'how often should I change the filter'."""
    asked, may = found[1].lower(), found[2].lower()
    act = _act(found[4].lower(), may, known)
    if not act:
        return text
    asks = "where do I" if asked == "where" and may in ("can", "could") else f"{asked} {may} I"
    return f"{text[: found.start()]}{asks} {act}{found[5] or ''} {found[3]}{text[found.end() :]}"


def _active(text: str, found: re.Match[str], known: Container[str]) -> str:
    act, particle = _act(found[3].lower(), found[1].lower(), known), found[4] or ""
    if not act:
        return text
    return f"{text[: found.start()]}how do I {act}{particle} {found[2]}{text[found.end() :]}"


def _how(text: str, found: re.Match[str], known: Container[str]) -> str:
    rest = text[found.end() :]
    if (gerund := _GERUND.match(rest)) and (act := _plain(gerund[1].lower(), known)):
        rest = act + rest[gerund.end() :]
    return f"{text[: found.start()]}how do I {rest}"


def _price(text: str, found: re.Match[str], known: Container[str]) -> str:
    return f"{text[: found.start()]}how much is {found[1] or found[2]}{text[found.end() :]}"


Reframe = Callable[[str, re.Match[str], Container[str]], str]
_REFRAMED: Final[tuple[tuple[frozenset[str], re.Pattern[str], Reframe], ...]] = (
    (frozenset(("be",)), _PASSIVE, _active),
    (frozenset("how do way step steps process procedure walk guide talk".split()), _HOW, _how),
    (frozenset(("cost", "price")), _PRICE, _price),
    (frozenset(("be",)), _TIMES, _timed),
    (frozenset(_OLD), _MEASURE, _measured),
    (frozenset(("weigh",)), _WEIGHT, _weighs),
    (frozenset(_DID).union(doer + "s" for doer in _DID), _DOER, _did),
)


def _act(verb: str, may: str, known: Container[str]) -> str:
    """The verb of a participle, where it is an act of who asks; or ''. What should be done always is."""
    act = _PARTICIPLES.get(verb) or (_plain(verb[:-2], known) if verb.endswith("ed") else "")
    return act if may == "should" or act in OWN_ACTS else ""


def _plain(short: str, known: Container[str]) -> str:
    """The verb that was shortened for its ending: 'delet', 'install', 'cancell', 'appli'; or ''."""
    forms = [short + "e", short]
    if short[-2:-1] == short[-1:]:
        forms.append(short[:-1])
    if short.endswith("i"):
        forms.insert(0, short[:-1] + "y")
    return next((form for form in forms if form in known), "")
