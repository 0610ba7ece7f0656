"""What counts as the same text: folding by choice, pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from ...policy import Normalize

Fold = Callable[[str], str]

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_END = ".!?,;:…。！？ \t\n"
# Letters that look like Latin ones (a subset of UTS #39 confusables: lower and upper case of the usual tricks).
_LOOKALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανι",
    "aeopcyxijshdqwABEKMHOPCTXIJSABEZHIKMNOPTYXoavi",
)


def folding(rules: Normalize) -> Fold:
    """The function that folds a text by `rules`; the fast one for the defaults."""
    if rules == Normalize():
        return _default
    steps: list[Fold] = []
    if rules.nfc:
        steps.append(_nfc)
    if rules.invisible:
        steps.append(_visible)
    if rules.confusables:
        steps.append(_latin)
    if rules.case:
        steps.append(str.casefold)
        if rules.confusables:
            steps.append(_latin)  # folding can make a letter one that looks Latin, or its neighbour Latin
    if rules.whitespace:
        steps.append(lambda text: _SPACE.sub(" ", text))
    if rules.trim or rules.whitespace:
        steps.append(str.strip)
    if rules.punctuation:
        steps.append(lambda text: text.rstrip(_END) or text)
    if rules.nfc and (rules.case or rules.invisible):
        steps.append(_nfc)  # case folding and dropping characters can undo composition

    def fold(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return fold


def _default(text: str) -> str:
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def _nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _visible(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) != "Cf")


def _latin(text: str) -> str:
    if text.isascii():
        return text
    return _WORD.sub(lambda m: _latin_word(m.group()), text)


def _latin_word(word: str) -> str:
    mixed = not word.isascii() and any(c.isascii() and c.isalpha() for c in word)
    return word.translate(_LOOKALIKE) if mixed else word
