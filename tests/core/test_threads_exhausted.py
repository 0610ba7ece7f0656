"""Where the process gets no further thread, plain functions are answered without the tiers that need one."""

from __future__ import annotations

from no_threads import no_threads
from verifiers import SameWords

from cachelayer import CacheLayer, Policy, Source
from cachelayer.partial.shelf import Absent, Shelf
from cachelayer.testing import ManualClock, WordEmbedder


def made(clock: ManualClock | None = None) -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=0, ttl=60, ttl_jitter=0, stale_while_revalidate=600)
    return CacheLayer(embedder=WordEmbedder(), verifier=SameWords(), policy=policy, clock=clock)


def answer(question: str) -> str:
    return f"about {question}"


def test_a_plain_function_is_answered_where_no_thread_starts_and_cached_in_full_once_one_does() -> None:
    """It waited for ever, for a loop that nobody ran, and so did each later call and the end of the layer."""
    layer = made()
    ask = layer.cached(answer)
    with no_threads():
        assert ask.outcome("my red garden").source is Source.BACKEND
        assert ask("my red garden") == "about my red garden"
        assert layer.stats()["faults"] == {"lookup:RuntimeError": 1, "thread:RuntimeError": 1}
    assert ask.outcome("my blue garden").answer == "about my blue garden"
    assert layer._portal.running
    layer._portal.close()


def test_a_stale_answer_is_served_where_nobody_can_renew_it() -> None:
    clock = ManualClock()
    layer = made(clock)
    ask = layer.cached(semantic=False)(answer)
    assert ask("garden") == "about garden"
    clock.advance(61)
    with no_threads():
        outcome = ask.outcome("garden")
    assert (outcome.answer, outcome.source) == ("about garden", Source.STALE)
    layer._portal.close()


def test_what_is_looked_up_for_a_framework_is_absent() -> None:
    layer = made()
    shelf = Shelf(layer.cached(answer))
    with no_threads():
        assert isinstance(shelf.look_now("garden"), Absent)
        assert all(isinstance(found, Absent) for found in shelf.look_each_now(("garden",), ("house",)))
    layer._portal.close()
