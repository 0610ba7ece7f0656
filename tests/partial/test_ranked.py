"""Documents by functions of them, by no text at all, and in canonical arguments what no schema tells apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy
from cachelayer.partial import additions, ranking, sameness
from cachelayer.partial.documents import Reading
from cachelayer.partial.ranking import Ranking
from cachelayer.partial.retrieval import serves
from cachelayer.partial.sameness import RetrievalDecider
from cachelayer.partial.schemas import canonical
from cachelayer.testing import WordEmbedder
from cachelayer.types import Candidate, Query, Reason

PATIENT = Policy(shadow=0, budgets=Budgets(embed="30s", search="30s", verify="30s"))


def test_functions_read_documents_themselves_not_the_pairs_that_hold_them() -> None:
    reading = Reading("r", lambda one: one.key, lambda one: one.at, lambda one: one.said)
    document = SimpleNamespace(key="a", at=3, said="text")
    for held in (document, (document, 0.5)):
        assert (reading.ids([held]), reading.version(held), reading.text(held)) == (("a",), 3, "text")


async def test_documents_that_tell_no_text_are_taken_in_their_order_and_no_more_than_are_wanted() -> None:
    asked: list[int] = []

    async def ranked(query: str, k: int) -> list[dict[str, Any]]:
        asked.append(k)
        topic = next(word for word in query.split() if word.startswith("topic"))
        return [{"id": f"{topic}-{n}"} for n in range(k)]

    async with CacheLayer(embedder=WordEmbedder(), policy=PATIENT) as layer:
        search = layer.retrieval(ranked, name="search")
        for n in range(40):
            for words in (f"tell me about topic{n}", f"about topic{n} tell me"):
                await search(words, k=2)
                await layer.flush()
        assert (asked[0], {*asked[1:]}) == (8, {2})
        outcome = await search.outcome("me about topic7 tell", k=2)
        assert outcome.match == "similar"
        assert [one["id"] for one in outcome.answer] == ["topic7-0", "topic7-1"]


def test_vectors_and_results_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "DOCUMENTS", 3)
    monkeypatch.setattr(sameness, "SEEN", 3)
    known, decider = Ranking(on=True), RetrievalDecider(lambda: 1.0)
    decider.enlist("f", known)
    for n in range(5):
        vector = np.eye(5, dtype=np.float32)[n]
        known.learn([(f"d{n}", "text")], vector[None])
        decider.observe("f", b"", Query(f"query {n}", vector), [], f"1\nd{n}", None)
    assert [*known._known] == ["d2", "d3", "d4"] and len(decider._functions["f"].seen) == 3
    assert known.order(["d4", "d2"], np.eye(5, dtype=np.float32)[2]) == [1, 0]
    assert known.order(["d4", "d0"], np.eye(5, dtype=np.float32)[2]) is None


@pytest.mark.parametrize(("asked", "found", "k", "enough"), [
    (4, 4, 2, True), (4, 4, 4, True), (4, 4, 5, False), (4, 3, 5, True), (4, 4, None, False), (4, 3, None, False),
    (None, 9, None, True), (None, 9, 2, False),
])  # fmt: skip
def test_a_result_serves_who_wants_no_more_than_was_asked_for_or_found(
    asked: int | None, found: int, k: int | None, enough: bool
) -> None:
    """None where the retriever decides how many: nobody knows then which are the best two."""
    assert serves({"asked": asked, "documents": ["d"] * found}, k) is enough


@pytest.mark.parametrize(("documents", "allowed"), [(10, True), (1, False), (0, False)])
def test_a_comparison_weighs_as_much_as_the_documents_that_were_wanted(documents: int, allowed: bool) -> None:
    decider, one = RetrievalDecider(lambda: 1.0), np.eye(1, 3, dtype=np.float32)[0]
    decider.enlist("f", Ranking(on=False))
    result = sameness.listed(None, [f"d{n}" for n in range(documents)])
    for n in range(7):  # each is compared with all before it
        decider.observe("f", b"", Query(f"{'please ' * n}about the hub", one), [], result, None)
    assert decider.stats() == {"f": {"compared": 21}}
    assert (decider._functions["f"].threshold(0.02) is not None) == allowed


def test_of_results_that_are_gone_it_is_forgotten_whom_they_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "LENT", 2)
    search = CacheLayer(semantic=False).retrieval(lambda query: [])
    for digest in range(9):
        search.additions.lent(digest)
    assert len(search.additions._lent) <= 2


def test_a_result_whose_documents_cannot_be_ranked_yet_serves_no_other_query() -> None:
    known, decider = Ranking(on=True), RetrievalDecider(lambda: 1.0)
    decider.enlist("f", known)
    for _ in range(30):
        decider._functions["f"].add(0.99, 0.0, 10)
    one = np.eye(1, 3, dtype=np.float32)[0]
    near = Candidate(7, 0.995, "the query", "1\nd1")
    asked = "f", b"", Query("query the", one), [near], 0.05
    assert decider.decide(*asked).reason is Reason.UNSURE
    known.learn([("d1", "text")], one[None])
    assert decider.decide(*asked).entry == 7


def test_what_a_schema_does_not_tell_apart_is_taken_as_it_is() -> None:
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    schema = {"properties": {"n": {"type": "number"}, "i": {"type": "integer"}, "x": either}}
    given = {"n": True, "i": False, "x": 2.0}
    assert repr(canonical(given, schema)) == repr(given)


def test_what_is_no_schema_no_template_and_no_tokenizer_is_refused() -> None:
    layer = CacheLayer(semantic=False)
    for call, field in (
        (lambda: layer.tools(print, keep="1m", schema=["city"]), "schema"),  # type: ignore[arg-type]
        (lambda: layer.prompts.template("name", 5), "template"),  # type: ignore[arg-type]
        (lambda: layer.prompts.tokenizer(5, name="t"), "encode"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ConfigurationError, match=f"^{field}="):
            call()


def test_a_retriever_that_is_decorated_with_options_has_them_all() -> None:
    layer = CacheLayer(embedder=WordEmbedder())

    @layer.retrieval(
        corpus="c", k="n", id="key", version="rev", content="said", negative_ttl="7s", wide=3, ttl="9s"
    )
    async def search(query: str, n: int = 2) -> list[Any]:
        return []

    document = {"key": "a", "rev": 4, "said": "text", "id": "x", "version": 0, "text": "another"}
    reading, lasts = search._reading, search.handle.function.policy.ttl
    assert (reading.ids([document]), reading.version(document), reading.text(document)) == (("a",), 4, "text")
    assert (search.corpus, search._wanted(("q",), {"n": 5}), search.wide.fetched(5)) == ("c", 5, 15)
    assert [lasts({"documents": found}) for found in ([], [document])] == [7.0, 9.0]  # type: ignore[operator]
