"""Conversations that grow turn by turn: every request brings all that was said before, and it is held once."""

from __future__ import annotations

import gc
import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.semantic.conversations import Conversations
from cachelayer.testing import WordEmbedder
from cachelayer.types import Turn

ZERO = np.zeros(3, np.float32)
WORDS = "lamp tent boat shoe ring coat drum fork sail desk bell rope".split()
spoken = st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), st.sampled_from("ab"))).map(tuple)


async def test_what_was_said_in_a_long_conversation_is_held_once_however_many_answers_follow_it() -> None:
    patient = Budgets(embed="30s", search="30s", verify="30s")
    async with CacheLayer(embedder=WordEmbedder(), policy=Policy(shadow=0, budgets=patient)) as layer:

        @layer.cached
        async def ask(messages: list[dict[str, Any]]) -> str:
            return "held once: " + messages[-1]["content"]

        said: list[dict[str, Any]] = []
        for word in WORDS:
            said.append({"role": "user", "content": f"held once: where is the {word}?"})
            said.append({"role": "assistant", "content": await ask(json.loads(json.dumps(said)))})
            await layer.flush()
        assert layer.stats()["similar"]["entries"] == len(WORDS)
        gc.collect()
        turns = [one for one in gc.get_objects() if type(one) is Turn]
        held = [turn.text for turn in turns if turn.text.startswith("held once")]
        assert len(held) == len(set(held)) == 2 * len(WORDS) - 2


@given(st.lists(st.tuples(st.integers(0, 3), spoken, st.booleans()), max_size=20))
def test_turns_are_the_same_whatever_else_is_held(steps: list[tuple[int, tuple[Turn, ...], bool]]) -> None:
    talks = Conversations()
    for entry, turns, there in steps:
        shared = talks.shared(b"scope", turns)
        assert shared == turns
        if there:
            talks.add(entry, b"scope", shared, ZERO)
        else:
            talks.drop(entry, b"scope", turns)
