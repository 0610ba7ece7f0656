"""Guard: what one text shows, instead of saying it, differs from what the other shows.

Shown are the sentence whose commas are to be checked, a quotation, a mark that stands for itself. Habits of typing
that mean nothing elsewhere are what is asked about there.
"""

from __future__ import annotations

import re
from typing import Final

from ..text.reading import Reading

_ABOUT: Final = frozenset(
    """punctuation punctuate punctuated punctuating proofread proofreading proof-read proof-reading copyedit
    copy-edit grammar grammatical grammatically ungrammatical capitalize capitalise capitalized capitalised
    capitalizing capitalising capitalization capitalisation uppercase lowercase upper-case lower-case
    comma commas semicolon semicolons apostrophe apostrophes hyphen hyphens hyphenate hyphenated
    typo typos misspelled misspelt misspelling misspellings spelled spelling run-on shouting readability
    whitespace whitespaces komma kommas zeichensetzung rechtschreibung rechtschreibfehler großschreibung
    grossschreibung grammatik grammatikfehler schreibt schreiben ponctuation orthographe virgule virgules
    majuscule majuscules grammaire puntuación ortografía mayúscula mayúsculas gramática punteggiatura ortografia
    maiuscola maiuscole grammatica pontuação vírgula vírgulas maiúscula maiúsculas interpunctie hoofdletter
    hoofdletters""".split()
)
"""Words of which one is there where a text is about how another is written."""
_COUNTED: Final = frozenset(
    "characters letters words sentences lines spaces vowels consonants syllables".split()
)
_MENDED: Final = frozenset(
    """sentence sentences text texts paragraph paragraphs mistake mistakes error errors english writing essay email
    letter heading title""".split()
)
_MARKED: Final = frozenset("case caps capital marks mark points point stop stops".split())
_HINTS: Final = _ABOUT | _COUNTED | _MENDED | _MARKED
_PHRASE: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_ABOUT))}|(?:upper|lower|title|sentence|camel|snake) cased?|all[ -]caps|capital letters?"
    r"|(?:full|exclamation|question|quotation) (?:stop|mark|point)s?"
    rf"|(?:correct|fix|edit|check|revise|polish) (?:(?:this|the|my|these|following|any|all) )+(?:{'|'.join(_MENDED)})"
    r"|(?:spot|find) (?:(?:the|all|any) )*(?:mistake|error)s?"
    r"|(?:format|write|type) (?:this|the) \w+ (?:consistent|correct)ly"
    rf"|(?:count|how many)(?: of)?(?: the)? (?:{'|'.join(_COUNTED)}))\b",
    re.IGNORECASE,
)
_MISSPELLED: Final = frozenset("typo typos misspelled misspelt misspelling".split())
_NAME: Final = re.compile(r"\b(?:my|our|his|her|the) (?:\w+ )?(?:name|surname|address)\b", re.IGNORECASE)
_SHOWN: Final = re.compile(r"[:?.!]\s+(?=\S)|\n|(?<!\w)[\"\u201c\u201e\xab'\u2018`](?=\S)")
"""Where what is shown may begin."""
_AFTER_QUOTE: Final = re.compile(r"([\"\u201d\xbb'\u2019`])[?.!]+$")
_QUOTED: Final = re.compile(
    r"\"([^\"\n]+)\"|[\u201c\u201e]([^\u201c\u201d\u201e\n]+)[\u201c\u201d]|\xab([^\xab\xbb\n]+)\xbb"
)
_QUOTING: Final = re.compile('["\u201c\u201e\xab]')
_MARK: Final = re.compile(r"\s[^\w\s]")
_ALONE: Final = re.compile(
    r"(?:\b(?:does|do|did|the|an?|of|between|use)\s+|(?<=\s)(?:and|or)\s+)([^\w\s]{1,3})(?=\s|[?.]?\s*$)",
    re.IGNORECASE,
)
"""A mark where a word is due: 'what does ; do', 'the difference between " and \'', not 'well , I think'."""


def mentions(a: Reading, b: Reading) -> bool:
    """What the one shows is not, mark for mark, what the other shows."""
    if a.text == b.text:
        return False
    about = a.signature.vocabulary, b.signature.vocabulary
    if not any(map(_HINTS.isdisjoint, about)) and _examples(a.text, b.text):
        return True
    return _quotations(a.text, b.text) or _alone(a.text) != _alone(b.text)


def _examples(a: str, b: str) -> bool:
    """Both are about writing, and what they show differs: in a comma, a capital, a space."""
    left, right = _PHRASE.search(a), _PHRASE.search(b)
    if left and right and _of_a_name(a, left[0]) and _of_a_name(b, right[0]):
        return False
    return left is not None and right is not None and _shown(a, left.end()) != _shown(b, right.end())


def _of_a_name(text: str, about: str) -> bool:
    """'My name is misspelled on the ticket' shows nothing."""
    return (
        about.lower() in _MISSPELLED
        and bool(_NAME.search(text))
        and ":" not in text
        and not _QUOTING.search(text)
    )


def _shown(text: str, at: int) -> str:
    """What stands behind the words about writing that end at `at`, else before them."""
    found = _SHOWN.search(text, at) or _SHOWN.search(text)
    return _AFTER_QUOTE.sub(r"\1", text[found.start() :].lstrip(":?.!").strip()) if found else ""


def _quotations(a: str, b: str) -> bool:
    """Both quote, and other words or marks."""
    if not _QUOTING.search(a) or not _QUOTING.search(b):
        return False
    left, right = _quoted(a), _quoted(b)
    return bool(left and right) and left != right


def _quoted(text: str) -> list[str]:
    """Without case and the stop at the end of each."""
    found = ("".join(groups) for groups in _QUOTED.findall(text.replace("\u2019", "'")))
    return sorted(" ".join(one.lower().rstrip(" .,;").split()) for one in found)


def _alone(text: str) -> list[str]:
    return _ALONE.findall(text) if _MARK.search(text) else []
