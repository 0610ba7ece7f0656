"""What the similar tier let go of, since answers changed or too many were wrong, comes back word for word alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from verifiers import SameWords

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import Gate, WordEmbedder

MANY = 70
"""More than are encoded in one turn of the loop."""


class Life:
    """A layer on a directory, from a start to a close."""

    def __init__(self, directory: Path) -> None:
        policy = Policy(max_error_rate=0.05, shadow=0)
        self.layer = CacheLayer(index=directory, policy=policy, embedder=WordEmbedder(), verifier=SameWords())
        self.gate = Gate(lambda question: f"answer to {question}", opened=True)
        self.ask = self.layer.wrap(self.gate, name="ask")


@pytest.mark.parametrize("tenant", [None, "acme"])
async def test_what_was_let_go_of_is_found_by_meaning_no_more_after_a_restart(
    tmp_path: Path, tenant: str | None
) -> None:
    first = Life(tmp_path)
    async with first.layer:
        with first.layer.scope(tenant=tenant, principal="ann"):
            for number in range(MANY):
                await first.ask(f"where is parcel {number}x")
            await first.layer.flush()
            tier = first.layer._similar
            assert tier is not None
            decider: Any = tier.decider
            (here,) = decider._functions["ask"].scopes.values()
            decider._restart(here)  # as it does where answers changed, or too many were wrong
            await first.ask("where is a violin")
            await first.layer.flush()
            assert (await first.ask.outcome("is where parcel 3x")).source is Source.BACKEND
    second = Life(tmp_path)
    async with second.layer:
        with second.layer.scope(tenant=tenant, principal="bob"):
            assert (await second.ask.outcome("a violin is where")).source is Source.INDEX
            for number in range(MANY):
                assert (await second.ask.outcome(f"where is parcel {number}x")).source is Source.MEMORY
            found = [await second.ask.outcome(f"parcel where is {number}x") for number in range(4, MANY)]
        assert {one.source for one in found} == {Source.BACKEND}
        assert await second.layer.erase() == 2 * MANY - 2
