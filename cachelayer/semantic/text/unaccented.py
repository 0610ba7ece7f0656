"""Whether two texts of another language are one, typed with and without accents: 'como', 'fuer', 'reinitialiser'.

Whoever types on a foreign keyboard leaves out all accents, and German's dots go by rules of their own ('ue', 'ss').
One accent alone may make another word ('schon' / 'schön', 'tâche' / 'tache'): then it must be of a word that there is
not without it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from .lexicon import CARDINALS

_GERMAN: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_STRUCK: Final = str.maketrans({"ł": "l", "\u0131": "i", "ø": "o", "đ": "d", "æ": "ae"})
"""Letters that are no other letter with an accent."""
_APART: Final = frozenset("masse massen busse bussen".split())
"""German words with 'ss' that are others with 'ß'."""
_ASKING: Final = frozenset(
    "como donde adonde cuando cuanto cuanta cuantos cuantas cual cuales quien quienes que ou perche".split()
)
"""What asks at the beginning of a text; elsewhere it is another word."""
_NEVER: Final = frozenset(
    """contrasena contrasenas telefono telefonos numero numeros tambien aqui asi dia dias direccion espana ultimo ultima
    todavia despues linea pagina codigo credito metodo rapido facil dificil espanol
    reinitialiser telephone probleme problemes apres deja meme etre creer recuperer telecharger verifier securite
    identite delai delais credit ecran fenetre aout francais francaise facon garcon lecon recu ca
    voce nao entao endereco cartao perche piu puo citta
    fur uber konnen konnte mochte mochten zuruck zurucksetzen andern loschen bestatigen gebuhr gebuhren offnen
    uberweisen uberweisung ubertragen kundigen kundigung schlussel gultig verfugbar prufen spater taglich gegenuber
    osterreich""".split()
)
"""Words that there are not, but for their accents."""
_TONES: Final = frozenset("\u0309\u031b\u0323")
"""Marks of Vietnamese, whose words without any may be many."""
_ENDINGS: Final = ("cion", "ciones", "sion", "cao", "coes")


def retyped(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether words are the same but for accents that one side leaves out throughout, dots, and digits for numbers."""
    if len(a) != len(b):
        return False
    differ = [(i, x, y) for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    left = [(i, x, y) for i, x, y in differ if _digits(x) != _digits(y) and not _dotted(x, y)]
    if not left:
        return True
    if not _TONES.isdisjoint(unicodedata.normalize("NFD", "".join((*a, *b)))):
        return False
    mine, theirs = all(map(_unmarked, a)), all(map(_unmarked, b))
    mine = mine and not (theirs and "".join(b).isascii())  # of two with 'ñ' alone, the one without
    spelt = "ñ" in "".join(a if mine else b)
    if not (mine or theirs) or any(_bare(x, spelt) != _bare(y, spelt) for _, x, y in left):
        return False
    plain = {(i, x if mine else y) for i, x, y in left}
    return len({word for _, word in plain}) > 1 or any(_telling(i, word) for i, word in plain)


def _unmarked(word: str) -> bool:
    """Without accents; 'ñ' is a letter with a key of its own."""
    return word.isascii() or word.replace("ñ", "n").isascii()


def _telling(at: int, word: str) -> bool:
    return word in _NEVER or word.endswith(_ENDINGS) or (at == 0 and word in _ASKING)


def _digits(word: str) -> str:
    return str(CARDINALS[word]) if word in CARDINALS else word


def _dotted(x: str, y: str) -> bool:
    """'zurueck' / 'zurück', 'gross' / 'groß'."""
    one, other = x.translate(_GERMAN), y.translate(_GERMAN)
    return one == other and one not in _APART


def _bare(word: str, spelt: bool) -> str:
    """Without its accents; with its 'ñ' where that is typed (`spelt`)."""
    if word.isascii():
        return word
    kept = word.replace("ñ", "\0") if spelt else word
    plain = unicodedata.normalize("NFD", kept.translate(_STRUCK))
    return "".join(c for c in plain if not unicodedata.combining(c))
