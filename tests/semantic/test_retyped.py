"""What was only typed otherwise is found by its words: no vector, the same scope and conversation, compared in full."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from counting import Counting
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.pairs.repeated import repeats
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.retyped import FEW, LONGEST, Retyped
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.repeats import akin, core
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.spelling import Spelling
from cachelayer.semantic.text.words import words
from cachelayer.semantic.types import Ask, Entry
from cachelayer.testing import WordEmbedder
from cachelayer.types import Candidate, Outcome, Query, Turn

ASKED = "How do I reset the Hub 3?"
TYPED = "Hello, how do i reset the hub 3"
Ask_ = Callable[..., Awaitable[Outcome]]


async def kept(layer: CacheLayer, answers: Callable[[str], str] = str.casefold) -> Ask_:
    async def ask(question: str, turns: str = "") -> str:
        return answers(question)

    asked: Ask_ = layer.wrap(ask, text="question", name="ask").outcome
    await layer.start()
    await asked(ASKED)
    await layer.flush()
    return asked


def layer_of(embedder: WordEmbedder, shadow: float = 0.0, quarantine: int = 0) -> CacheLayer:
    policy = Policy(max_error_rate=0.01, shadow=shadow, quarantine=quarantine)
    return CacheLayer(policy=policy, embedder=embedder)


async def test_a_request_typed_otherwise_is_served_without_a_vector() -> None:
    embedder = Counting()
    async with layer_of(embedder) as layer:
        asked = await kept(layer)
        made = len(embedder.texts)
        for typed in (TYPED, ASKED.upper(), f"{ASKED} Many thanks!"):
            outcome = await asked(typed)
            assert (outcome.source, outcome.answer, outcome.similarity) == ("index", ASKED.casefold(), 1.0)
            assert "embed" not in outcome.timings
        assert len(embedder.texts) == made


async def test_what_differs_beside_the_text_is_not_found_by_words() -> None:
    async with layer_of(Counting()) as layer:
        asked = await kept(layer)
        assert (await asked(TYPED, turns="others")).source == "backend"
        with layer.scope(tenant="another"):
            assert (await asked(TYPED)).source == "backend"


async def test_words_that_are_the_same_are_compared_in_full() -> None:
    async with layer_of(Counting()) as layer:
        asked = await kept(layer)
        await asked("print xs[2:] of it")
        await layer.flush()
        assert (await asked("print xs[:2] of it")).source == "backend"


async def test_an_entry_that_is_gone_is_not_found_by_its_words() -> None:
    async with layer_of(Counting()) as layer:
        asked = await kept(layer)
        first = await asked(ASKED)
        assert await layer.report_wrong(first)
        assert layer._similar is not None and not layer._similar._retyped._entries
        assert (await asked(TYPED)).source == "backend"


async def test_an_answer_in_quarantine_is_not_found_by_its_words() -> None:
    async with layer_of(Counting(), quarantine=2) as layer:

        async def ask(question: str) -> str:
            return question.casefold()

        asked = layer.wrap(ask, text="question").outcome
        await layer.start()
        with layer.scope(tenant="t", principal="ann"):
            await asked(ASKED)
        await layer.flush()
        with layer.scope(tenant="t", principal="bob"):
            assert (await asked(TYPED)).source == "backend"


async def test_checks_of_such_hits_teach_that_a_function_heeds_how_it_is_asked() -> None:
    embedder = Counting()
    async with layer_of(embedder, shadow=1.0) as layer:
        asked = await kept(layer, answers=lambda question: question)
        assert (await asked(TYPED)).answer == ASKED
        await layer.flush()
        assert TYPED in embedder.texts  # what the check teaches, it teaches of neighbours
        assert layer.stats()["functions"]["ask"]["shadow_checks"] == 1
        assert (await asked(ASKED.lower())).source == "backend"


def entry(text: str, partition: bytes = b"", turns: tuple[Turn, ...] = ()) -> Entry:
    return Entry("f", partition, text, turns, None, None)


def ask(text: str, partition: bytes = b"", turns: tuple[Turn, ...] = ()) -> Ask:
    return Ask("f", partition, text, turns, 0.01)


def test_the_latest_entries_are_found_first_and_only_a_few() -> None:
    retyped, entries = Retyped(), {n: entry(ASKED + "?" * n) for n in range(FEW + 3)}
    for n, one in entries.items():
        retyped.add(n, one)
    assert [c.entry for c in retyped.near(ask(TYPED), entries)] == list(range(FEW + 2, 2, -1))


@pytest.mark.parametrize("text", ["", "Hi", "thanks lots", "?!", f"{ASKED} {'so ' * LONGEST}"])
def test_too_few_words_or_too_many_are_not_found_by(text: str) -> None:
    retyped, entries = Retyped(), {1: entry(text)}
    retyped.add(1, entries[1])
    assert retyped.near(ask(text), entries) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([ASKED, TYPED, "what is the time of the day"]),
                          st.sampled_from([b"", b"x"])), max_size=40))  # fmt: skip
def test_what_is_found_is_what_is_held_in_that_scope(steps: list[tuple[int, str, bytes]]) -> None:
    retyped = Retyped()
    entries: dict[int, Entry] = {}
    for n, text, partition in steps:
        if n in entries:
            retyped.drop(n, entries.pop(n))
        else:
            entries[n] = entry(text, partition)
            retyped.add(n, entries[n])
        for wanted in (b"", b"x"):
            found = {c.entry for c in retyped.near(ask(ASKED, wanted), entries)}
            assert found == {
                i for i, e in entries.items() if "Hub" in e.text.title() and e.partition == wanted
            }
    for n, one in entries.items():
        retyped.drop(n, one)
    assert not retyped._entries


_TEXTS = st.lists(st.sampled_from(["hi", "dear", "acme", "team", "how", "do", "i", "i'm", "i", "am", "reset",
                                   "rseet", "the", "hub", "please", "thanks", "a", "lot"]), max_size=8)  # fmt: skip


@given(_TEXTS, _TEXTS)
def test_the_quick_look_passes_over_no_repeat(mine: list[str], theirs: list[str]) -> None:
    a, b = signature(" ".join(mine)).words, signature(" ".join(theirs)).words
    known = Spelling((), {"reset", "how"})
    cores = core(" ".join(mine), a, known), core(" ".join(theirs), b, known)
    assert akin(set(a), set(b)) or not cores[0] or cores[0] != cores[1]


_TYPED = st.permutations(
    [("reset", "rseet", "resett"), ("the", "teh"), ("colour", "color"), ("livin gin", "living in"), ("why", "hi why"),
     ("don't", "do not"), ("réinitialiser", "reinitialiser"), ("für", "fuer"), ("accommodation", "acomodation")]
).flatmap(lambda forms: st.tuples(*map(st.sampled_from, forms[:5])))  # fmt: skip


@given(_TYPED, st.data())
def test_the_quick_look_at_candidates_passes_over_no_repeat(
    mine: tuple[str, ...], data: st.DataObject
) -> None:
    forms = dict(zip(mine, mine, strict=True)) | {
        "resett": "reset",
        "rseet": "reset",
        "fuer": "für",
        "teh": "the",
    }
    theirs = [data.draw(st.sampled_from([word, forms[word]])) for word in mine]
    one, other = " ".join(mine), " ".join(theirs)
    query = Query(one, np.zeros(2, np.float32), (), "", False)
    found = PairVerifier().repeated(query, [Candidate(1, 1.0, other, None)])
    assert (found is not None) == repeats(read(one, words()), read(other, words()))
