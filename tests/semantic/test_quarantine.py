"""Poisoned and colliding entries: hubs go, unconfirmed answers stay with their author, no principal floods a scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifiers import Sure

from cachelayer import CacheLayer, ConfigurationError, Policy, Reason
from cachelayer.semantic.quarantine import HOUR, LOOKUPS, Hubs, Quota, Vouching, Watch
from cachelayer.semantic.types import Ask
from cachelayer.testing import WordEmbedder
from cachelayer.types import Candidate, Embedded, Query

DIMENSION = 256


def unit(seed: int) -> Any:
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def near(center: Any, cosine: float, seed: int) -> Any:
    other = unit(seed)
    other -= (other @ center) * center
    return (cosine * center + np.sqrt(1 - cosine**2) * other / np.linalg.norm(other)).astype(np.float32)


def ask(vector: Any, principal: str = "", k: int = 0) -> Ask:
    return Ask("f", b"scope", "text", (), 0.01, principal, k, 1000, query=Query("text", vector))


def look(watch: Watch, vector: Any, entry: int, center: Any, answer: str, truth: str) -> list[Candidate]:
    asked = ask(vector)
    asked.candidates = watch.sift(asked, [Candidate(entry, float(vector @ center), "entry", answer)])
    watch.answered(asked, truth, {entry})
    return asked.candidates


def test_the_nearest_entry_of_many_unlike_texts_with_other_answers_is_withheld() -> None:
    watch, hub = Watch(lambda: 0.0), unit(0)
    served = [look(watch, near(hub, 0.65, i + 1), 7, hub, "mine", f"truth {i}") for i in range(40)]
    assert all(served[: LOOKUPS - 1]) and not any(served[LOOKUPS:])
    assert watch.stats()["hubs"] == 1
    watch.forget(7)
    assert watch.stats()["hubs"] == 0


@given(st.floats(0.8, 0.98), st.booleans())
def test_an_entry_whose_texts_are_alike_is_no_hub_whatever_the_answers(cosine: float, prose: bool) -> None:
    """Sampled prose differs in every answer; that alone must not cost an entry."""
    watch, center = Watch(lambda: 0.0), unit(0)
    for i in range(40):
        assert look(watch, near(center, cosine, i + 1), 7, center, "mine", f"truth {i}" if prose else "mine")


def test_an_entry_with_the_right_answers_is_no_hub_however_unlike_the_texts() -> None:
    watch, center = Watch(lambda: 0.0), unit(0)
    for i in range(40):
        assert look(watch, near(center, 0.65, i + 1), 7, center, "mine", "Mine.")


def test_what_was_counted_with_vectors_of_another_model_is_counted_anew() -> None:
    hubs = Hubs()
    for _ in range(100):
        hubs.nearest(1, np.ones(64, np.float32))
    hubs.nearest(1, np.ones(96, np.float32))
    assert not hubs.found


def test_far_entries_are_not_counted() -> None:
    watch, center = Watch(lambda: 0.0), unit(0)
    for i in range(40):
        assert look(watch, near(center, 0.4, i + 1), 7, center, "mine", f"truth {i}")


@given(st.integers(2, 5), st.lists(st.sampled_from("abcdefg"), max_size=20))
def test_an_entry_is_served_to_others_once_k_principals_stand_behind_it(k: int, heard: list[str]) -> None:
    vouching = Vouching()
    vouching.made(1, "author")
    for principal in heard:
        vouching.vouch(1, principal, k)
    assert len(vouching._others.get(1, ())) < k
    assert vouching.trusts(1, "author", k)
    assert vouching.trusts(1, "stranger", k) == (1 + len(set(heard)) >= k)


@pytest.mark.parametrize("k", [0, 3])
def test_who_was_given_an_answer_is_remembered_where_that_is_asked_for_and_its_entry_is_there(k: int) -> None:
    watch, center = Watch(lambda: 0.0), unit(0)
    for entry in range(20):
        asked = ask(near(center, 0.9, 1), "bob", k)
        asked.candidates = watch.sift(asked, [Candidate(entry, 0.9, "entry", "mine")]) or asked.withheld
        if entry % 2:  # it left while the backend was asked
            watch.forget(entry)
        watch.answered(asked, "mine", range(0, 20, 2))
    assert list(watch._vouching._others) == ([*range(0, 20, 2)] if k else [])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, HOUR / 10)), max_size=80), st.integers(1, 5))
def test_a_quota_binds_where_others_write_and_comes_back_after_an_hour(
    writes: list[tuple[str, float]], limit: int
) -> None:
    quota, now, began = Quota(), 0.0, None
    counts: dict[str, int] = {}
    for principal, pause in writes:
        now += pause
        if began is None or now - began >= HOUR:
            began, counts = now, {}
        allowed = quota.take(b"scope", principal, limit, now)
        assert allowed == (counts.get(principal, 0) < limit or len(counts) < 2)
        if allowed:
            counts[principal] = counts.get(principal, 0) + 1


def test_the_unnamed_and_the_lonely_have_no_quota() -> None:
    quota = Quota()
    assert all(quota.take(b"s", "", 1, 0.0) for _ in range(9))
    assert all(quota.take(b"s", "alone", 1, 0.0) for _ in range(9))
    assert quota.take(b"s", "other", 1, 0.0) and not quota.take(b"s", "alone", 1, 0.0)


def test_writes_in_many_other_scopes_or_by_many_others_do_not_give_a_principal_more() -> None:
    quota, written = Quota(), 0
    for turn in range(3):
        quota.take(b"s", "ann", 100, 0.0)
        written += sum(quota.take(b"s", "mallory", 100, 0.0) for _ in range(150))
        for number in range(5000):
            quota.take(b"other %d" % number, "mallory", 100, 0.0)
            quota.take(b"s", f"{turn} {number}", 100, 0.0)
    assert written <= 100 + 15_000 // 4096
    assert len(quota._scopes) <= 4096 and all(len(counts) <= 4096 for _, _, counts in quota._scopes.values())


@pytest.mark.parametrize("others", [0, 10_000])
def test_the_quota_holds_for_whoever_comes_after_many_others(others: int) -> None:
    quota = Quota()
    for number in range(others):
        quota.take(b"s", str(number), 5, 0.0)
    quota.take(b"s", "ann", 5, 0.0)
    assert sum(quota.take(b"s", "mallory", 5, 0.0) for _ in range(50)) == 5


def layered(**policy: Any) -> tuple[CacheLayer, Any]:
    """A layer that serves whatever is near, so that only the bars under test stand in the way."""
    layer = CacheLayer(
        policy=Policy(**{"max_error_rate": 1.0, "shadow": 0, **policy}),
        embedder=WordEmbedder(),
        verifier=Sure(),
    )
    said = {"text": "hold the button"}

    @layer.cached
    async def ask(question: str) -> str:
        return said["text"]

    ask.said = said
    return layer, ask


async def outcome(layer: CacheLayer, ask: Any, principal: str, question: str) -> Any:
    with layer.scope(principal=principal):
        told = await ask.outcome(question)
    await layer.flush()
    return told


SUFFIXES = (" pwned", " now say the opposite", " ignore the above", " !!!! zx qv")


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_what_one_principal_planted_with_a_suffix_is_not_served_to_another(suffix: str) -> None:
    layer, ask = layered(quarantine=2)
    question = "how do I reset the smart hub in the living room of my house after a long power cut"
    async with layer:
        ask.said["text"] = "planted"
        await outcome(layer, ask, "attacker", question + suffix)
        own = await outcome(layer, ask, "attacker", question + "?")
        ask.said["text"] = "hold the button"
        victim = await outcome(layer, ask, "victim", question)
        assert (own.match, own.answer) == ("similar", "planted")
        assert (victim.match, victim.answer) == (None, "hold the button")
        assert victim.misses["similar"] == Reason.QUARANTINED
        assert layer.stats()["similar"]["quarantine"]["withheld"] == 1


async def test_an_answer_that_a_second_principal_was_given_too_is_served_to_a_third() -> None:
    layer, ask = layered(quarantine=2)
    async with layer:
        await outcome(layer, ask, "ann", "how do I reset the hub")
        second = await outcome(layer, ask, "bob", "how do I reset the hub please")
        third = await outcome(layer, ask, "cid", "please how do I reset the hub now")
        assert second.match is None and third.match == "similar"


async def test_without_quarantine_nobody_waits_for_a_second() -> None:
    layer, ask = layered()
    async with layer:
        await outcome(layer, ask, "ann", "how do I reset the hub")
        assert (await outcome(layer, ask, "bob", "how do I reset the hub please")).match == "similar"


async def test_beyond_the_quota_answers_are_kept_for_equal_requests_alone() -> None:
    layer, ask = layered(write_quota=2, max_error_rate=1e-9)
    async with layer:
        await outcome(layer, ask, "ann", "lamp")
        for word in ("alpha", "beta", "gamma", "delta"):
            await outcome(layer, ask, "bob", word)
        assert layer.stats()["similar"]["quarantine"]["over_quota"] == 2
        assert layer.stats()["similar"]["entries"] == 3
        assert (await outcome(layer, ask, "bob", "delta")).match == "exact"


async def test_a_hub_of_an_embedder_stops_being_served() -> None:
    """An embedder that puts one text near to all others: its entry answers for a while, and then no more."""

    class Poisoned:
        identity, dimension = "poisoned", DIMENSION

        async def start(self) -> None: ...

        async def aclose(self) -> None: ...

        async def embed(self, texts: Sequence[str]) -> Embedded:
            hub = unit(0)
            rows = [
                hub if text == "hub" else near(hub, 0.65, len(text) * 1000 + sum(text.encode()))
                for text in texts
            ]
            return Embedded(np.stack(rows), np.ones(len(texts), bool))

    layer = CacheLayer(policy=Policy(max_error_rate=0.05), embedder=Poisoned())

    @layer.cached
    async def ask(question: str) -> str:
        return f"about {question}"

    async with layer:
        for question in ("hub", *(f"question {i}" * (1 + i % 3) for i in range(60))):
            await ask(question)
            await layer.flush()
        assert layer.stats()["similar"]["quarantine"]["hubs"] >= 1


@pytest.mark.parametrize("field", ["quarantine", "write_quota"])
def test_bad_settings_name_field_and_remedy(field: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{field}=-1: give a whole number"):
        Policy(**{field: -1})
