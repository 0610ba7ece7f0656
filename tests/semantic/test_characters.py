"""Characters of another keyboard are those of a plain one; where characters are what is asked about they are not."""

from __future__ import annotations

import pytest

from cachelayer import CacheLayer
from cachelayer.semantic.text.characters import plain_characters

ASKED = "How do I cancel my subscription of 10 GB?"


def _wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else "\u3000" if c == " " else c for c in text)


@pytest.mark.parametrize(
    "text",
    [
        _wide(ASKED),
        "How do I cancel my sub\xadscrip\xadtion of 10 GB?",
        "\ufeffHow do I cancel my subscription of 10\u202fGB?",
        "How do I cancel my\xa0subscription of\u200e 10\xa0GB?",
    ],
)
def test_the_same_request_by_another_keyboard(text: str):
    assert plain_characters(text) == ASKED


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\u221210 to \u20135", "-10 to -5"),
        ("9\u20135 o'clock", "9-5 o'clock"),
        ("it broke \u2013 what now?", "it broke \u2013 what now?"),
        ("20 \u2013 5", "20 \u2013 5"),
        ("long\u2011term", "long-term"),
        ("180\xbaC and 5\u2103", "180\xb0C and 5\xb0C"),
        ("1\xa0000\xa0000 euros", "1000000 euros"),
        ("o\ufb03ce \ufb01le", "office file"),
        ("5 \xb5g", "5 \u03bcg"),
        ("請問訂單\uff14\uff17？", "請問訂單47？"),
    ],
)
def test_signs_spaces_and_ligatures_are_those_of_a_plain_keyboard(text: str, read: str):
    assert plain_characters(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "Which unicode character is \uff21?",
        "Is \u201c9\u20135\u201d right?",
        "Should I use a dash in 9\u20135?",
        "naïve café",
        "\u202eHow do I?",
        "می\u200cخواهم",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    ],
)
def test_what_may_be_what_is_asked_about_is_left(text: str):
    assert plain_characters(text) is text


@pytest.mark.parametrize("first", [True, False])
async def test_it_is_served_whichever_came_first(first: bool):
    asked: list[str] = []
    layer = CacheLayer()
    one, other = (ASKED, _wide(ASKED)) if first else (_wide(ASKED), ASKED)

    @layer.cached
    async def ask(question: str) -> str:
        asked.append(question)
        return "in your account"

    async with layer:
        await ask(one)
        await layer.flush()
        assert (await ask.outcome(other)).match == "similar"
    assert asked == [one]
