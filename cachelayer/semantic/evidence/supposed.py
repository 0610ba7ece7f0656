"""What a scope would know of a request if those in flight had their answers, each another one.

An answer with which no request is labelled is none that the risk model knows from anywhere: it would seem doubtful
whatever the texts say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...types import Query
from .scope import Scope


@contextmanager
def supposed(here: Scope, query: Query, flights: Sequence[tuple[int, Query]]) -> Iterator[None]:
    """Requests in flight, by the ids under which they are candidates, are entries meanwhile; nothing of it stays."""
    hood, words, learned = here.hood, here.hood.word_counts, list[tuple[str, ...]]()
    fits = [one for one in flights if not one[1].turns]
    try:
        for entry, _ in flights:
            here.keep(entry, f"\0in flight {entry}")
        for entry, flight in fits:
            hood.answers.add(here.entries[entry], flight.vector, flight.principal)
            said = hood.shared.signatures(flight.text).words
            words.learn(here.entries[entry], said)
            learned.append(said)
        hood.metric.suppose(query.vector, [flight.vector for _, flight in fits])
        yield
    finally:
        hood.metric.recall()
        for said in learned:
            words.unlearn(said)
        for entry, _ in flights:
            here.drop(entry)
