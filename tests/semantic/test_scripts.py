"""Vowels and points that are written as marks are part of the word."""

from __future__ import annotations

import numpy as np
import pytest

from cachelayer.semantic.evidence.prose import ONE, read_prose, relation
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.signature import signature
from cachelayer.types import Candidate, Query

ZERO = np.zeros(384, np.float32)
VOWELS = [
    ("मेरी बिल्ली बीमार है, पानी चाहिए", "मेरा बिल्ली बीमार है, पानी चाहिए"),
    ("यह दिन कितना अच्छा है", "यह दान कितना अच्छा है"),
    ("বাবা কোথায় আছে, মা কি ভালো", "বাবা কোথায় আছে, মি কি ভালো"),
    ("ข้าวราคาเท่าไร ขาวไหม ป้า", "ขาวราคาเท่าไร ข้าวไหม ป้า"),
    ("\u05d9\u05b6\u05dc\u05b6\u05d3 \u05e7\u05b8\u05d8\u05b8\u05df \u05d1\u05bc\u05b8\u05d0",
     "\u05d9\u05b8\u05dc\u05b6\u05d3 \u05e7\u05b6\u05d8\u05b8\u05df \u05d1\u05bc\u05b8\u05d0"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), VOWELS)
def test_another_vowel_or_tone_makes_another_word(a: str, b: str) -> None:
    verifier = PairVerifier()
    assert verifier.repeated(Query(a, ZERO), [Candidate(1, 1.0, b, None)]) is None
    assert verifier.judge(Query(a, ZERO), [Candidate(1, 0.999, b, None)])[0][0] == 0.0
    assert verifier.judge(Query(a, ZERO), [Candidate(1, 0.999, f"{a}.", None)])[0][0] > 0.99


def test_a_word_of_such_a_script_is_read_whole() -> None:
    assert signature("लड़की कहाँ है?").words == ("लड़की", "कहाँ", "है")
    assert not signature("लड़की कहाँ है?").ids


def test_answers_that_differ_in_a_vowel_are_not_one() -> None:
    here, there = (
        read_prose(text.encode(), text, np.ones(4, np.float32))
        for text in ("यह बात लड़की ने कल माँ से कही थी और फिर घर गई", "यह बात लड़का ने कल माँ से कही थी और फिर घर गई")
    )
    assert relation(here, there)[0] != ONE
