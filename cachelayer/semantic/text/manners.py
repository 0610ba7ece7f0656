"""Manners around a request: where it begins in earnest, and whether thanks at its end are its writer's own.

They may be what is asked about: 'Play the song Thank You'. Behind a stop they are the writer's own. Without one they
are where nothing before them wants for an object ('What is French for', 'a card with', 'the song'), and where no
question mark makes them a part of the question. Texts that name a language speak of words: 'How is it in Spanish, thank
you'.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Final

PLEASE: Final = frozenset("please pls plz kindly".split())
_BEGGED: Final = PLEASE.union("bitte favor favore plaît aub".split())
CIVIL: Final = PLEASE.union("hi hey hello thanks ok okay so now just and then".split())
"""Before an order these say nothing."""
REQUESTS: Final = frozenset("can could would will".split())
"""'Can you' may order."""
_THANKS: Final = PLEASE.union(
    """thanks thanx thx ty tysm cheers thank help advise regards wishes danke dank bitte gracias favor merci plaît
    grazie favore obrigado obrigada aub""".split()
)
"""A closing with one of these needs no stop before it."""
_OBJECTS: Final = frozenset(
    """a an the my your his its our their no every another for with without to of at about by from as like than into
    onto against called named titled labelled labeled use uses used using play sing sings sang sung singing read
    reads reading reply replies respond responds song songs film movie track album band poem novel episode
    sticker banner mug slogan hashtag emoji gif meme caption greeting greetings für ohne von ein eine einen der
    die das den dem lied para con sin de por en un una el la los las canción pour avec sans une le les des
    chanson per di uno il lo gli canzone com sem um uma os música""".split()
)
"""Behind one of these stands what it is about."""
_JOINING: Final = frozenset("and or nor but und oder y o et ou e".split())
LANGUAGES: Final = frozenset(
    """arabic bengali bulgarian cantonese chinese croatian czech danish dutch english finnish french german greek hebrew
    hindi hungarian indonesian irish italian japanese korean latin malay mandarin norwegian persian polish portuguese
    romanian russian serbian spanish swahili swedish thai turkish ukrainian urdu vietnamese welsh""".split()
)
_TONGUES: Final = LANGUAGES.union(
    """language languages sprache sprachen idioma idiomas langue langues lingua lingue língua englisch deutsch
    französisch spanisch italienisch inglés español alemán francés italiano anglais allemand espagnol italien français
    inglese spagnolo tedesco francese inglês espanhol alemão francês portugués portugais português engels duits
    angielsku polsku niemiecku английски английском по-английски по-русски по-немецки русски русском англійською
    українською ingilizce türkçe almanca engelska svenska engelsk dansk norsk englanniksi suomeksi anglicky česky
    angolul magyarul engleză română αγγλικά ελληνικά inggris الإنجليزية بالإنجليزية العربية אנגלית באנגלית 영어로
    한국어로""".split()
)
_KNOWING: Final = frozenset(
    "out tell know ask see check say says decide sure wonder wondering understand find care matter mind unsure".split()
)
"""Behind one of these 'if' stands for 'whether'."""
_POINTING: Final = frozenset("it that this das es eso esto cela ça questo quello isso isto".split())
_FULL: Final = frozenset(".!?;\n\u061f\u061b")


def earnest(words: Sequence[str], civil: Set[str], start: int = 0) -> int:
    """Where the first word from `start` on stands that is none of `civil`; the number of words, where none does."""
    return next((i for i in range(start, len(words)) if words[i] not in civil), len(words))


def told(words: Sequence[str], civil: Set[str] = CIVIL) -> int:
    """Where what is to be done stands, if they order: behind 'please', 'could you please'."""
    at = earnest(words, civil)
    if at + 1 < len(words) and words[at] in REQUESTS and words[at + 1] == "you":
        return earnest(words, civil, at + 2)
    return at


def speaks_of_languages(words: Iterable[str]) -> bool:
    """Whether one of the lower-case `words` names a language."""
    return not _TONGUES.isdisjoint(words)


def points_back(words: list[str]) -> bool:
    """Whether what stands before may be what is asked about: 'Good morning, what is that in French?'"""
    return not _POINTING.isdisjoint(words) and speaks_of_languages(words)


def wants(word: str) -> bool:
    """Whether the lower-case `word` may have what follows for its object."""
    return word in _OBJECTS


def own(closing: Iterable[str], before: str, stop: str, end: str, *, languages: bool) -> bool:
    """Whether the words of a `closing`, in small letters, are manners.

    `before`: the word before it, `stop` and `end`: the marks between them and behind it; `languages`: whether the text
    names a language.
    """
    if not _FULL.isdisjoint(stop):
        return True
    if languages or ":" in stop:
        return False
    if stop:
        return True
    said = frozenset(closing)
    if "if" in said:
        return before not in _KNOWING and before not in _OBJECTS
    if said.isdisjoint(_THANKS) or before in _OBJECTS:
        return False
    return not said.isdisjoint(_BEGGED) or ("?" not in end and before not in _JOINING)
