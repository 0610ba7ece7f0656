"""Questions whose right answer changes by the hour: prices, weather, scores, "now", "today", "latest". Pure.

English is read by frames: a word such as "today" counts only where the sentence asks for a state of the world, not
where it tells what happened ("my card was declined today") or how something is done ("how do I pay now"). German,
French, Spanish, Italian, Portuguese, Dutch, Chinese, Japanese and Korean are read by words alone, so more is flagged
there; other languages are never flagged.
"""

from __future__ import annotations

import re
from typing import Final


def _any(*parts: str) -> str:
    return "(?:" + "|".join(parts) + ")"


_OF_WHAT: Final = r"(?! (?:of|my|that|i|when|for|limit|zone|frame|it|we|the|a)\b)"
"""What follows where the time or date is not the present one."""
_MONEY: Final = _any(
    "dollars?", "euros?", "pounds?", "sterling", "yen", "yuan", "pesos?", "rupees?", "francs?", "usd", "eur", "gbp",
    "jpy", "cad", "aud", "cny", "inr", "chf", "bitcoins?", "btc", "currency", "currencies",
)  # fmt: skip
_WHEN: Final = _any(
    r"right now", r"just now", r"(?<!until )(?<!till )(?<!by )(?<!from )now(?! on\b)", "today(?:'s)?",
    "tonight(?:'s)?", "tomorrow(?:'s)?", "currently", "current", "latest", "newest", r"most recent", "nowadays",
    r"these days", r"at the moment", r"at present", r"as of", r"up[- ]to[- ]date", r"so far", "lately", "upcoming",
    r"still (?:open|available|in stock|alive|in office)",
    r"this (?:week|month|year|season|quarter|weekend|morning|afternoon|evening)(?:'s)?",
    r"(?:last|past|next|coming) (?:\d+ )?(?:hours?|days?|weeks?|months?|weekend|game|match)",
    r"next (?:train|bus|tram|ferry|flight|episode)",
)  # fmt: skip
_STATE: Final = _any(
    "weather", "forecast", r"(?:what(?:'s| is) the|current|outside) temperature", r"temperature (?:outside|in|at)",
    r"(?:rain|snow|storm)(?:ing|y)?", "sunny", "windy", "cloudy", "humid(?:ity)?", "umbrella", r"wind speed",
    r"how (?:hot|cold|warm|chilly) (?:is|will) it", r"(?:exchange|conversion) rates?",
    rf"{_MONEY}\b.{{0,30}}\b(?:in|to|into|for|per|against|worth|and)\b.{{0,20}}\b{_MONEY}",
    r"(?:stock|share|gas|gold|oil|bitcoin|btc|eth) (?:prices?|market)", r"price of", r"in stock", r"market cap",
    r"stocks? (?:of|doing|trading|at)", r"(?:game|match|final|live) score", r"score of", "standings", "headlines",
    r"who (?:won|is winning|'s winning)", r"(?:the|any|breaking|latest) news", "traffic", r"(?:flight|order) status",
    r"status of", r"arrival time", r"wait(?:ing)? times?", r"(?:account|bank|my|the) balance", r"balance of",
    r"(?:is|are) .{1,40} (?:open|closed|delayed)", r"(?:is|are) .{1,40} (?:down|on time)\s*$",
)  # fmt: skip
_CLOCK: Final = _any(
    r"what time (?:is|will) it", r"(?:time|date) (?:is it|right now)", r"today's date",
    rf"what(?:'s| is) the (?:exact |current )?(?:time|date){_OF_WHAT}", r"do you (?:know|have) the time",
    rf"(?:tell|give) me the (?:exact |current )?(?:time|date){_OF_WHAT}",
    r"what (?:day|date|month|year) is (?:it|today)",
)  # fmt: skip
_ASKS: Final = _any(
    "what(?:'s|s)?", "which", "who(?:'s|s)?", "where(?:'s)?", r"when(?:'s| is| are| does| do| will)",
    r"how (?:much|many|high|low|far|is|are|hot|cold|warm|busy|long)", r"how's", r"is it", r"is there", r"are there",
    r"(?:is|are|will|did|has|have) (?:the|it|my|any)", "any", "show", "tell", r"give (?:me|us)", "find", "check",
    "list", "look up", "display", "(?:need|want|like) to (?:know|see|check)",
)  # fmt: skip
_PROCEDURE: Final = re.compile(
    r"\bhow (?:do|can|could|should|would|to|did|come|long (?:does|do|will|is|until|before))\b|\bwhy\b"
    r"|\bwhat (?:should|can|do|if|happens|does|would|could|to)\b"
    r"|\bcalculated?\b|\bdetermined?\b|\bdefin|\bmean(?:s|ing)?\b|\bexplain\b",
    re.I,
)
_TOLD: Final = re.compile(
    r"\b(?:i|we|it|they|you) (?:was|were|got|had|have|has|tried|made|did|just|received|sent|noticed|used|paid|went|saw"
    r"|think|thought|can't|cannot|couldn't|didn't|don't)\b|\bi'(?:ve|m)\b|\b(?:wrong|incorrect|declined|charged)\b",
    re.I,
)
_ENGLISH_CLOCK: Final = re.compile(rf"\b{_CLOCK}\b", re.I)
_ENGLISH_STATE: Final = re.compile(rf"\b{_STATE}\b", re.I)
_ENGLISH_WHEN: Final = re.compile(rf"\b{_WHEN}(?!\w)", re.I)
_ENGLISH_OPENING: Final = re.compile(
    r"\s*(?:the )?(?:latest|newest|most recent|upcoming|current|today's|next) ", re.I
)
"""What a fragment begins with that asks without a verb: 'latest version of node'."""
_ENGLISH_ASKS: Final = re.compile(rf"\b{_ASKS}\b", re.I)
_WORDS: Final = re.compile(
    r"\b" + _any(
        "heute", "jetzt", "derzeit", r"aktuell\w*", "momentan", "morgen", "gestern", "wetter", "wechselkurs",
        "aktienkurs", "uhrzeit", "neueste[nrs]?",
        "aujourd'hui", "maintenant", "actuel(?:le)?s?", "actuellement", "demain", r"météo", "dernières nouvelles",
        "hoy", "ahora", "actualmente", "mañana", "clima", "tiempo hace", "tipo de cambio", "últimas noticias",
        "oggi", "adesso", "attualmente", "domani", "meteo", "tasso di cambio",
        "hoje", "agora", "atualmente", "amanhã", "taxa de câmbio", "previsão do tempo",
        "vandaag", "momenteel", "wisselkoers",
        r"wie spät ist es", r"wie ?viel uhr", r"quelle heure est[- ]il", r"qu[eé] hora es", r"che or[ae] (?:è|sono)",
        r"que horas são", r"hoe laat is het",
    ) + r"(?!\w)|今天|现在|目前|天气|最新|汇率|今日|天気|為替|오늘|지금|현재|날씨|최신|환율",
    re.I,
)  # fmt: skip
_PARTS: Final = ("aktuell", "as of")
"""What a text in ASCII holds where an expression matches none of the words below."""
_FOREIGN: Final = frozenset(
    "heute jetzt derzeit momentan morgen gestern wetter wechselkurs aktienkurs uhrzeit neueste neuesten "
    "neuester neuestes aujourd maintenant actuel actuels actuelle actuelles actuellement demain hoy ahora "
    "actualmente clima tiempo tipo uhr heure hora ore laat oggi adesso attualmente domani meteo tasso "
    "hoje agora atualmente vandaag momenteel wisselkoers".split()
)
_CLOCK_WORDS: Final = frozenset(("time", "date", "day", "month", "year"))
_STATE_WORDS: Final = frozenset(
    "weather forecast temperature rain raining rainy snow snowing snowy storm storming stormy sunny windy cloudy humid "
    "humidity umbrella wind hot cold warm chilly exchange conversion dollar dollars euro euros pound pounds sterling "
    "yen yuan peso pesos rupee rupees franc francs usd eur gbp jpy cad aud cny inr chf bitcoin bitcoins btc currency "
    "currencies price prices market stock stocks score standings headlines won winning news traffic status arrival "
    "wait waiting balance open closed delayed down time".split()
)
_WHEN_WORDS: Final = frozenset(
    "now today tonight tomorrow currently current latest newest recent nowadays days moment present date far lately "
    "upcoming still week month year season quarter weekend morning afternoon evening last past next coming".split()
)
"""Each expression matches only where one of its words stands: most texts hold none, and finding that out is many times
as fast as searching. (The expressions for CJK and accented words are searched in every text beyond ASCII.)"""
_WORD: Final = re.compile(r"\w+")
_APART: Final = str.maketrans({chr(c): " " for c in range(128) if not (chr(c).isalnum() or chr(c) == "_")})
_ANY: Final = frozenset(word.encode() for word in (*_FOREIGN, *_CLOCK_WORDS, *_STATE_WORDS, *_WHEN_WORDS))
_BYTES: Final = bytes(
    c if (chr(c).isalnum() and c < 128) or c == 95 else 32 for c in bytes(range(256)).lower()
)
"""Lower case, and a space for what is no part of a word."""
MAX_TEXT: Final = 1000
"""Characters read: all of a question; of a longer text its beginning and its end."""


def time_sensitive(text: str) -> str:
    """The words that make a question time-sensitive, or ''."""
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT // 2]}\n{text[-MAX_TEXT // 2 :]}"
    if text.isascii() and _says_nothing(text.encode()):
        return ""
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    lower, ascii_only = text.lower(), text.isascii()
    words = set(lower.translate(_APART).split() if ascii_only else _WORD.findall(lower))
    if not ascii_only or _PARTS[0] in lower or not words.isdisjoint(_FOREIGN):
        foreign = _WORDS.search(text)
        if foreign is not None:
            return foreign.group()
    clocks, states, whens = words & _CLOCK_WORDS, words & _STATE_WORDS, words & _WHEN_WORDS
    if _PARTS[1] in lower:
        whens.add(_PARTS[1])
    if clocks or states or whens:
        for end in "!?;\n":
            text = text.replace(end, ".")
        for sentence in text.split("."):
            cue = _asked(sentence, clocks, states, whens)
            if cue:
                return cue
    return ""


def _says_nothing(text: bytes) -> bool:
    """Whether a text in ASCII holds no word that matters here, as most do, found out in half the time."""
    words = text.translate(_BYTES)
    return _ANY.isdisjoint(words.split()) and b"aktuell" not in words and b"as of" not in words


def _asked(sentence: str, clocks: set[str], states: set[str], whens: set[str]) -> str:
    """The cue in one English sentence that asks for a state of the world. The sets: which words the text has."""
    lower = sentence.lower()
    clock = _ENGLISH_CLOCK.search(sentence) if _holds(lower, clocks) else None
    if clock is not None:
        return clock.group()
    about, when_too = _holds(lower, states), _holds(lower, whens)
    if not (about or when_too) or _PROCEDURE.search(sentence) or _TOLD.search(sentence):
        return ""
    state = _ENGLISH_STATE.search(sentence) if about else None
    when = _ENGLISH_WHEN.search(sentence) if when_too else None
    if state is None and when is None:
        return ""
    brief = len(sentence.split()) <= 8 and (state is not None or bool(_ENGLISH_OPENING.match(sentence)))
    if not brief and _ENGLISH_ASKS.search(sentence) is None:
        return ""
    return (state or when).group()  # type: ignore[union-attr]


def _holds(lower: str, words: set[str]) -> bool:
    for word in words:  # noqa: SIM110 - a generator takes three times as long
        if word in lower:
            return True
    return False
