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
    r"(?:is|are) .{1,40} (?:open|closed|delayed)",
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
_ENGLISH_ASKS: Final = re.compile(rf"\b{_ASKS}\b", re.I)
_SENTENCE: Final = re.compile(r"[.!?;\n]+\s*")
_WORDS: Final = re.compile(
    r"\b" + _any(
        "heute", "jetzt", "derzeit", r"aktuell\w*", "momentan", "morgen", "gestern", "wetter", "wechselkurs",
        "aktienkurs", "uhrzeit", "neueste[nrs]?",
        "aujourd'hui", "maintenant", "actuelle?s?", "actuellement", "demain", r"météo", "dernières nouvelles",
        "hoy", "ahora", "actualmente", "mañana", "clima", "tiempo hace", "tipo de cambio", "últimas noticias",
        "oggi", "adesso", "attualmente", "domani", "meteo", "tasso di cambio",
        "hoje", "agora", "atualmente", "amanhã", "taxa de câmbio", "previsão do tempo",
        "vandaag", "momenteel", "wisselkoers",
    ) + r"(?!\w)|今天|现在|目前|天气|最新|汇率|今日|天気|為替|오늘|지금|현재|날씨|최신|환율",
    re.I,
)  # fmt: skip
_STEMS: Final = (
    "heute", "jetzt", "derzeit", "aktuell", "momentan", "morgen", "gestern", "wetter", "wechselkurs", "aktienkurs",
    "uhrzeit", "neueste", "aujourd'hui", "maintenant", "actuel", "demain", "hoy", "ahora", "actualmente", "clima",
    "tiempo hace", "tipo de cambio", "oggi", "adesso", "attualmente", "domani", "meteo", "tasso di cambio", "hoje",
    "agora", "atualmente", "vandaag", "momenteel", "wisselkoers",
)  # fmt: skip
"""What ASCII text holds where `_WORDS` matches; looking for these is thirty times as fast."""
_CLOCK_STEMS: Final = ("time", "date", "what day", "what month", "what year")
MAX_TEXT: Final = 1000
"""Characters read: all of a question; of a longer text its beginning and its end."""


def time_sensitive(text: str) -> str:
    """The words that make a question time-sensitive, or ''."""
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT // 2]}\n{text[-MAX_TEXT // 2 :]}"
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    foreign = _WORDS.search(text) if _holds(text, _STEMS) else None
    if foreign is not None:
        return foreign.group()
    for sentence in _SENTENCE.split(text):
        cue = _asked(sentence)
        if cue:
            return cue
    return ""


def _holds(text: str, stems: tuple[str, ...]) -> bool:
    """Whether `text` holds one of these, in any case; of text beyond ASCII nothing is ruled out."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(stem in lower for stem in stems)


def _asked(sentence: str) -> str:
    """The cue in one English sentence that asks for a state of the world."""
    clock = _ENGLISH_CLOCK.search(sentence) if _holds(sentence, _CLOCK_STEMS) else None
    if clock is not None:
        return clock.group()
    if _PROCEDURE.search(sentence) or _TOLD.search(sentence):
        return ""
    state = _ENGLISH_STATE.search(sentence)
    when = _ENGLISH_WHEN.search(sentence)
    if state is None and when is None:
        return ""
    brief = len(sentence.split()) <= 8 and state is not None
    if not brief and _ENGLISH_ASKS.search(sentence) is None:
        return ""
    return (state or when).group()  # type: ignore[union-attr]
