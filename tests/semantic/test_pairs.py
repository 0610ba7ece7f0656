"""The pair verifier: what one answer may serve, from two texts alone."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.protocols import Verifier
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.pairs.features import FEATURES, features
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import KIN, OPPOSITE, OTHER, SAME, SLIP, words
from cachelayer.semantic.weights.boosted import LEAVES, Trees
from cachelayer.types import Candidate, Query

ZERO = np.zeros(384, np.float32)


def judge(a: str, b: str, cosine: float | None = None) -> tuple[float, str]:
    """As the default embedder sees them, or with a similarity given."""
    seen = similarity(a, b) if cosine is None else cosine
    return PairVerifier().judge(Query(a, ZERO), [Candidate(1, seen, b, None)])[0]


def similarity(a: str, b: str) -> float:
    async def embed() -> np.ndarray:
        embedder = OnnxEmbedder(workers=1)
        await embedder.start()
        try:
            return (await embedder.embed([a, b])).vectors
        finally:
            await embedder.aclose()

    one, other = asyncio.run(embed())
    return float(one @ other)


TRAPS = [
    ("numbers", "how long can I park for 2 euros", "how long can I park for 3 euros"),
    ("numbers", "show flats under 900 euros", "show flats under 1,900 euros"),
    ("numbers", "is a dose of 5 mg safe", "is a dose of 5 ml safe"),
    ("dates", "is the library open on weekdays", "is the library open on weekends"),
    ("dates", "when do the trains leave on Sundays", "when do the trains leave on Mondays"),
    ("dates", "what was the turnover last year", "what was the turnover this year"),
    ("identifiers", "where is parcel ZX-204", "where is parcel ZX-240"),
    ("identifiers", "open https://example.com/a", "open https://example.com/b"),
    ("", "which plants need direct sun", "which plants do not need direct sun"),
    ("", "how do I lock the screen", "how do I unlock the screen"),
    ("", "how tall is Mount Ararat", "how tall is Mount Elbrus"),
    ("", "can I swap oats for barley in a soup", "can I swap barley for oats in a soup"),
    ("", "ferries from Calais to Dover", "ferries from Dover to Calais"),
    ("", "delete one photo", "delete all photos"),
    ("", "are guide dogs allowed on the bus", "are dogs allowed on the bus"),
    ("", "who founded the museum", "when was the museum founded"),
]


@pytest.mark.parametrize(("guard", "a", "b"), TRAPS)
def test_one_edit_that_changes_the_answer_is_not_served_at_five_percent(guard: str, a: str, b: str) -> None:
    for p, spoke in (judge(a, b), judge(b, a)):
        assert 1.0 - p > 0.05, p
        assert guard in ("", spoke)


@pytest.mark.parametrize("guard", ["numbers", "dates", "identifiers"])
def test_facts_forbid_whatever_the_similarity(guard: str) -> None:
    for name, a, b in TRAPS:
        if name == guard:
            assert judge(a, b, 0.9999) == (0.0, guard)


@pairs(
    ("How do I renew my library card?", "how do i renew my library card"),
    ("How do I renew my library card?", "Hi, how do I renew my library card please?"),
    ("How do I renew my library card?", "How do I renew my libary card?"),
    ("What is the fee for 2 adults?", "what's the fee for two adults"),
    ("Is 7km too far to walk?", "is 7 km too far to walk"),
    ("Is a loan of 12,000 euros too much?", "is a loan of 12000 euros too much"),
    ("Can I return shoes that I bought online?", "Could I return shoes that I bought online"),
)
def test_near_repeats_are_served_at_five_percent(one: str, other: str) -> None:
    assert 1.0 - judge(one, other)[0] <= 0.05


def test_a_foreign_text_is_served_to_its_repeat_alone() -> None:
    assert judge("wie kündige ich meinen Vertrag?", "wie verlängere ich meinen Vertrag?") == (0.0, "language")
    assert judge("wie kündige ich meinen Vertrag?", "Wie kündige ich meinen Vertrag")[0] > 0.9


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("le chat mange la souris", "la souris mange le chat"),
        ("¿Juan le debe dinero a Pedro?", "¿Pedro le debe dinero a Juan?"),
        ("der Hund beißt den Mann", "den Hund beißt der Mann"),
        ("Bilgisayar telefondan pahalı mı", "Telefondan bilgisayar pahalı mı"),
        ("犬 が 猫 を 見た", "猫 が 犬 を 見た"),
    ],
)
def test_who_does_what_in_another_language_is_told_by_the_order_of_its_words(a: str, b: str) -> None:
    assert judge(a, b, 0.99)[0] == judge(b, a, 0.99)[0] == 0.0


@pairs(
    ("Annuler ma commande", "Confirmer ma commande"),
    ("abra a conta", "feche a conta"),
    ("cancelar mi pedido", "confirmar mi pedido"),
    ("Stornieren Sie meine Reise", "Buchen Sie meine Reise"),
    ("zamknij moje konto", "otwórz moje konto"),
    ("как дела", "какие дела"),
    ("今天天气怎么样", "明天天气怎么样"),
)
def test_texts_in_other_languages_that_differ_in_a_word_are_refused_whatever_the_similarity(
    one: str, other: str
) -> None:
    assert judge(one, other, 0.99) == (0.0, "language")
    assert judge(one, one.lower() + " ?", 0.99)[0] > 0.9


@pytest.mark.parametrize(
    "text",
    [
        "how do I grow basil indoors",
        "track my FedEx parcel",
        "who is Zbigniew?",
        "convert celsius to fahrenheit",
        "explain chmod +x",
    ],
)
def test_rare_words_and_names_do_not_make_a_text_foreign(text: str) -> None:
    assert not read(text, words()).foreign


@pytest.mark.parametrize(
    ("a", "b"), [("what is 7 + 8", "what is 7 * 8"), ("\U0001f44d", "\U0001f44e"), ("is x < 3", "is x > 3")]
)
def test_signs_are_no_punctuation(a: str, b: str) -> None:
    assert judge(a, b, 1.0) == (0.0, "identifiers")


text = st.text("abcdefg ?.,0123XYZ'-%$éß", max_size=60)


@settings(max_examples=60, deadline=None)
@given(text, text, st.floats(-1, 1))
def test_probability_is_symmetric_and_a_probability(a: str, b: str, cosine: float) -> None:
    p, guard = judge(a, b, cosine)
    assert 0.0 <= p <= 1.0
    assert judge(b, a, cosine) == (pytest.approx(p), guard)


@settings(max_examples=60, deadline=None)
@given(text, text)
def test_features_are_finite_and_as_many_as_named(a: str, b: str) -> None:
    table = words()
    row = features(read(a, table), read(b, table), 0.5, table)
    assert len(row) == len(FEATURES)
    assert np.isfinite(row).all()


def test_it_stands_behind_the_door_of_verifiers() -> None:
    assert isinstance(PairVerifier(), Verifier)
    assert PairVerifier().judge(Query("a", ZERO), []) == []


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [("buy", "purchase", SAME), ("cancel", "cancellation", KIN), ("cheap", "expensive", OPPOSITE),
     ("lock", "unlock", OPPOSITE), ("receive", "recieve", SLIP),
     ("zorbita", "zorbitu", OTHER), ("notes.txt", "notes.txtz", OTHER)],
)  # fmt: skip
def test_two_words_are_related_the_same_either_way_round(a: str, b: str, relation: int) -> None:
    assert words().relation(a, b) == relation
    assert words().relation(b, a) == relation


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_trees_by_bit_masks_equal_trees_walked_node_by_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth, trees, width = 5, 4, 6
    feature = rng.integers(0, width, (trees, LEAVES - 1)).astype(np.int16)
    threshold = rng.normal(size=(trees, LEAVES - 1)).astype(np.float32)
    value = rng.normal(size=(trees, LEAVES)).astype(np.float32)
    mask = np.zeros((trees, LEAVES - 1), np.uint32)
    for node in range(LEAVES - 1):  # a full tree in breadth-first order
        level = (node + 1).bit_length() - 1
        span = LEAVES >> level
        first = (node + 1 - (1 << level)) * span
        mask[:, node] = 0xFFFFFFFF & ~(((1 << span // 2) - 1) << first)
    x = rng.normal(size=(3, width)).astype(np.float32)
    got = Trees(feature, threshold, mask, value, 0.25).logits(x)
    for row, logit in zip(x, got, strict=True):
        total = 0.25
        for t in range(trees):
            node = 0
            for _ in range(depth):
                node = 2 * node + (1 if row[feature[t, node]] <= threshold[t, node] else 2)
            total += float(value[t, node - (LEAVES - 1)])
        assert logit == pytest.approx(total, abs=1e-5)
