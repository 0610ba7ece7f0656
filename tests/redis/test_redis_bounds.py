"""What one process remembers of epochs and deletions is bounded: beyond it, the answer is 'maybe', never 'no'."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any, cast

from cachelayer.exact.redis.coherence import REMEMBERED, Coherence
from cachelayer.exact.redis.epochs import LIMIT, NEVER, Known, Table
from cachelayer.exact.redis.names import Names
from cachelayer.exact.redis.seal import Seal
from cachelayer.testing import ManualClock


def known(token: bytes) -> Known:
    return Known(token, 0.0, NEVER, 1e9)


def test_an_epoch_once_known_is_never_taken_for_one_that_nobody_had() -> None:
    random, table = Random(1), Table()
    assert table.forget(bytes(16)) is None
    for n in range(2 * LIMIT):
        table.learn(n.to_bytes(16, "big"), known(b"t" * 8))
        if n % 3 == 0:
            lost = random.randrange(n + 1).to_bytes(16, "big")
            assert table.forget(lost) is not None and table.get(lost) is None
    assert table.overflowed and len(table) <= LIMIT


def test_an_epoch_that_was_looked_for_in_vain_is_doubted_only_if_one_was_known_before() -> None:
    table, new, lost = Table(), b"n" * 16, b"l" * 16
    table.learn(lost, known(b"t" * 8))
    for digest in (new, lost):
        table.learn(digest, known(b""))
    assert (table.forget(new), table.forget(lost)) == (None, b"t" * 8)
    table.learn(lost, known(b"u" * 8))
    table.learn(lost, known(b""))
    assert (table.forget(new), table.forget(lost)) == (None, b"u" * 8)


def test_no_more_are_doubted_than_remembered_and_those_forgotten_are_lost_not_unknown() -> None:
    table = Table()
    for n in range(2 * LIMIT):
        digest = n.to_bytes(16, "big")
        table.learn(digest, known(b"t" * 8))
        assert table.forget(digest) == b"t" * 8
    assert table.forget(bytes(16)) == b""


def test_entries_need_no_comparison_only_while_each_of_their_tokens_is_the_current_one() -> None:
    table, one, other = Table(), b"a" * 16, b"b" * 16
    for change in (lambda: table.learn(one, known(b"2" * 8)), lambda: table.forget(other), table.clear):
        table.learn(one, known(b"1" * 8))
        table.learn(other, known(b"1" * 8))
        deps = one + b"1" * 8 + other + b"1" * 8
        assert table.compare(deps) == [] and deps in table.valid
        change()
        assert deps not in table.valid and table.compare(deps) != []
    deps = [bytes([n]) * 16 + b"1" * 8 for n in range(130)]
    for dep in deps:
        table.learn(dep[:16], known(dep[16:]))
    for one, other in product(deps, deps):
        assert table.compare(one + other) == [] and len(table.valid) <= LIMIT


def test_a_deletion_that_was_heard_counts_against_reads_begun_before_however_many_were_heard_after_it() -> (
    None
):
    names, nowhere = Names("p", Seal()), cast(Any, None)  # nothing is sent
    here = Coherence(names, ManualClock(), nowhere, trust_reloaded=False)
    keys = [n.to_bytes(16, "big") for n in range(2 * REMEMBERED + 10)]
    begun = here.sequence
    for key in keys:
        assert not here.changed_since(key, here.sequence)
        here.pushed([names.tomb(key)])
        assert len(here._marks) <= REMEMBERED
    assert all(here.changed_since(key, begun) for key in keys)
    assert not here.changed_since(b"k" * 16, here.sequence)
    here.missed(everything=True)
    assert here.changed_since(b"k" * 16, here.sequence - 1) and not here.changed_since(keys[0], here.sequence)
