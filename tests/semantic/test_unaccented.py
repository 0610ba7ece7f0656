"""Texts of other languages are typed with and without accents; but an accent may make another word."""

from __future__ import annotations

import numpy as np
import pytest

from cachelayer.semantic.pairs.verifier import REPEATED, PairVerifier
from cachelayer.types import Candidate, Query

SAME = """\
¿Cómo cambio mi contraseña? | Como cambio mi contrasena
¿Cómo puedo cambiar mi contraseña? | como puedo cambiar mi contraseña
Quiero cambiar mi contraseña | quiero cambiar mi contrasena
¿Dónde está mi pedido? | donde esta mi pedido?
¿Puedo pedir una devolución de mi dinero? | Puedo pedir una devolucion de mi dinero
¿Qué tiempo hace hoy en Madrid? | que tiempo hace hoy en madrid
Comment réinitialiser mon mot de passe ? | Comment reinitialiser mon mot de passe ?
Où est ma commande ? | Ou est ma commande ?
Wie ändere ich meine Adresse für Österreich? | Wie aendere ich meine Adresse fuer Oesterreich?
Wie hoch sind die Gebühren für eine Überweisung? | Wie hoch sind die Gebuhren fur eine Uberweisung?
Wie groß ist die Packung? | wie gross ist die packung
Wie können wir Gebühren für Österreich früher prüfen? | Wie koennen wir Gebuehren fuer Oesterreich frueher pruefen?
Wann öffnet die Geschäftsstelle in München? | Wann oeffnet die Geschaeftsstelle in Muenchen?
Wo finde ich die Straße auf der Karte? | Wo finde ich die Strasse auf der Karte?
Wie lange habe ich Zeit, 2 Artikel zu prüfen? | Wie lange habe ich Zeit, zwei Artikel zu pruefen?
Combien coûtent 3 billets pour Lyon ? | Combien coûtent trois billets pour Lyon ?
Como faço para mudar a senha da minha conta? Não sei | Como faco para mudar a senha da minha conta? Nao sei"""

APART = """\
Wie schön ist das Wetter heute? | Wie schon ist das Wetter heute?
Wie viel kosten die Drücke? | Wie viel kosten die Drucke?
Darf ich die Maße der Tür ändern? | Darf ich die Masse der Tür ändern?
Puis-je payer une tâche supplémentaire ? | Puis-je payer une tache supplémentaire ?
Où est le pêcheur du village ? | Où est le pécheur du village ?
¿Cuántos años tiene la niña? | cuantos anos tiene la niña
Quiero celebrar mi año nuevo | quiero celebrar mi ano nuevo
Tôi muốn mua bàn ở đây hôm nay la | Toi muon mua ban o day hom nay la
¿Es de mi papá o de otro? | ¿Es de mi papa o de otro?
Combien coûtent 3 billets pour Lyon ? | Combien coûtent deux billets pour Lyon ?
¿Cómo cambio mi contraseña? | Como cambio mi direccion
Wie groß ist die Packung 3? | wie gross ist die packung 4"""


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other in (line.split(" | ") for line in text.splitlines())]


def _judged(one: str, other: str) -> float:
    """The probability of one answer, for texts whose vectors are as near as they come; the same by either door."""
    query, near = Query(one, np.ones(1, np.float32)), [Candidate(0, 0.99, other, None)]
    probability = PairVerifier().judge(query, near)[0][0]
    assert (PairVerifier().repeated(query, near) is not None) is (probability == REPEATED)
    return probability


@pytest.mark.parametrize(("one", "other"), _pairs(SAME))
def test_what_was_typed_without_accents_repeats_what_was_typed_with_them(one: str, other: str):
    assert _judged(one, other) == _judged(other, one) == REPEATED


@pytest.mark.parametrize(("one", "other"), _pairs(APART))
def test_an_accent_that_makes_another_word_makes_another_request(one: str, other: str):
    assert _judged(one, other) == _judged(other, one) == 0.0
