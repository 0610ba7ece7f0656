"""Greetings and thanks of many languages are the writer's own, set apart by a stop; not where words are asked about."""

from __future__ import annotations

import numpy as np
import pytest

from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query

SAME = """\
Wie ändere ich mein Passwort? | Bitte, wie ändere ich mein Passwort?
Comment changer mon mot de passe ? | Comment changer mon mot de passe s'il vous plaît ?
Hoe wijzig ik mijn wachtwoord? | Goedemorgen, hoe wijzig ik mijn wachtwoord? Alvast bedankt!
Hoe wijzig ik mijn wachtwoord? | hoe wijzig ik mijn wachtwoord aub
Jak zmienić hasło do konta? | Dzień dobry, jak zmienić hasło do konta? Z góry dziękuję
Hur ändrar jag mitt lösenord? | Hej, hur ändrar jag mitt lösenord? Tack så mycket!
Hvordan endrer jeg passordet mitt? | Hei! Hvordan endrer jeg passordet mitt? På forhånd takk
Miten vaihdan salasanani tänään? | Hyvää päivää, miten vaihdan salasanani tänään? Kiitos
Jak změním heslo ke svému účtu? | Dobrý den, jak změním heslo ke svému účtu? Děkuji
Hogyan tudom megváltoztatni jelszavamat? | Jó napot! Hogyan tudom megváltoztatni jelszavamat? Köszönöm
Cum îmi schimb parola contului? | Bună ziua, cum îmi schimb parola contului? Mulțumesc
Hesabımın şifresini nasıl değiştiririm? | Merhaba, hesabımın şifresini nasıl değiştiririm? Teşekkürler
Bagaimana cara mengganti kata sandi? | Selamat pagi, bagaimana cara mengganti kata sandi? Terima kasih
Как изменить пароль от почты? | Здравствуйте, как изменить пароль от почты? Заранее спасибо
Як змінити пароль від пошти? | Добрий день, як змінити пароль від пошти? Дякую
Πώς αλλάζω τον κωδικό μου; | Γεια σας, πώς αλλάζω τον κωδικό μου;
كيف أغير كلمة المرور الخاصة بي؟ | مرحبا، كيف أغير كلمة المرور الخاصة بي؟ شكرا
איך משנים את הסיסמה שלי? | שלום, איך משנים את הסיסמה שלי? תודה
비밀번호를 어떻게 변경할 수 있나요? | 안녕하세요, 비밀번호를 어떻게 변경할 수 있나요?"""

BEGUN = """\
Ich möchte mein Konto löschen | Ich würde gerne mein Konto löschen, danke
Was kostet der Versand? | Guten Tag, wie viel kostet der Versand?
Haben Sie sonntags geöffnet? | Habt ihr sonntags geöffnet?
Je veux annuler mon abonnement | J'aimerais annuler mon abonnement
Comment puis-je annuler ma commande ? | Comment faire pour annuler ma commande ?
Avez-vous une chambre libre ? | Est-ce que vous avez une chambre libre ?
Quiero cambiar mi contraseña | Quisiera cambiar mi contraseña
¿Cuánto cuesta el envío? | cuanto vale el envío
Vorrei cambiare la mia password | Voglio cambiare la mia password
Warum wurde meine Karte abgelehnt? | Wieso wurde meine Karte abgelehnt?
Comment activer le mode sombre ? | Comment est-ce que je peux activer le mode sombre ?
Où trouver mon contrat ? | Où puis-je trouver mon contrat
Puis-je changer de date ? | Est-il possible de changer de date ?
¿Qué tengo que hacer para cambiar mi contraseña? | como hago para cambiar mi contrasena
¿Puedo cambiar mi vuelo antes de facturar? | ¿Es posible cambiar mi vuelo antes de facturar?
Como pagar a fatura? | O que devo fazer para pagar a fatura?
Come posso disdire l'abbonamento? | Come faccio a disdire l'abbonamento?
Jak włączyć powiadomienia? | Jak mogę włączyć powiadomienia?
Как включить уведомления? | Как можно включить уведомления?
Можно ли вернуть товар после 14 дней? | Могу ли я вернуть товар после 14 дней?
Wo ist meine Bestellung gerade? | Wo befindet sich meine Bestellung gerade?
Combien coûte le billet pour Lyon ? | quel est le prix du billet pour Lyon
¿Cuánto cuesta el envío? | ¿Cuál es el precio del envío?
Dov'è il mio ordine? | Dove si trova il mio ordine?
Onde está meu pedido? | Cadê meu pedido?
Где находится вокзал? | где находится вокзал
Где мой заказ сейчас? | Где находится мой заказ сейчас?
Làm thế nào để đổi mật khẩu? | Làm sao để đổi mật khẩu?"""

OTHER = """\
Ich möchte mein Konto löschen | Ich will mein Konto eröffnen
Je veux annuler mon abonnement | J'aimerais suspendre mon abonnement
Ich möchte sonntags nicht arbeiten | Ich will sonntags arbeiten
Comment activer le mode sombre ? | Comment puis-je désactiver le mode sombre ?
Quelle est la capitale de l'Italie ? | C'est quoi la monnaie de l'Italie ?
Quel est le prix du billet ? | Quel est le nom du billet ?
¿Puedo cambiar mi vuelo ya? | ¿No puedo cambiar mi vuelo ya?
¿Por qué puedo cambiar mi vuelo? | ¿Cómo puedo cambiar mi vuelo?
Czy mogę zwrócić towar po 14 dniach? | Czy muszę zwrócić towar po 14 dniach?
Как включить уведомления? | Как можно выключить уведомления?
Можно ли вернуть товар вовремя? | Я могу вернуть товар вовремя
Можно ли вернуть товар вовремя? | Нельзя ли вернуть товар вовремя?
Как по-английски будет спасибо? | Как по-английски будет пожалуйста?
Как переводится слово «спасибо»? | Как переводится слово «пожалуйста»?
Jak powiedzieć po angielsku dziękuję? | Jak powiedzieć po angielsku proszę?
Hur säger man tack på engelska? | Hur säger man hej på engelska?
Hoe zeg je bedankt in het Engels? | Hoe zeg je alstublieft in het Engels?
Quién escribió la canción Por favor? | Quién escribió la canción Gracias?
Wer hat das Lied Bitte geschrieben? | Wer hat das Lied Danke geschrieben?
Merhaba, bu İngilizce nasıl denir? | Selam, bu İngilizce nasıl denir?
Здравствуйте, как изменить пароль? | Здравствуйте, как удалить пароль?
Hej, hur slår jag på larmet? | Hej, hur stänger jag av larmet?
Cześć, jak włączyć alarm w domu? | Cześć, jak wyłączyć alarm w domu?
Merhaba, alarmı nasıl açarım? | Merhaba, alarmı nasıl kapatırım?
Dobrý den, kde je moje zásilka? | Dobrý den, kdy je moje zásilka?
Kim is at home today, tack | Kim is at home today?"""


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other in (line.split(" | ") for line in text.splitlines())]


def _repeats(one: str, other: str) -> bool:
    query, near = Query(one, np.ones(1, np.float32)), [Candidate(0, 0.99, other, None)]
    return PairVerifier().repeated(query, near) is not None


@pytest.mark.parametrize(("one", "other"), _pairs(BEGUN))
def test_a_wish_or_a_question_is_the_same_in_the_other_beginnings_of_its_language(
    one: str, other: str
) -> None:
    assert _repeats(one, other) and _repeats(other, one)


@pytest.mark.parametrize(("one", "other"), _pairs(SAME))
def test_a_request_is_the_same_with_the_courtesies_of_its_language(one: str, other: str) -> None:
    assert _repeats(one, other) and _repeats(other, one)


@pytest.mark.parametrize(("one", "other"), _pairs(OTHER))
def test_courtesies_that_are_asked_about_are_not_taken_away_nor_is_what_they_frame(
    one: str, other: str
) -> None:
    assert not _repeats(one, other) and not _repeats(other, one)
