"""Programs that end before the model is loaded, and loops that end before what they answered is written."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cachelayer import CacheLayer, CacheLayerError, Source
from cachelayer.testing import WordEmbedder

PROGRAM = """
import asyncio, time
from concurrent.futures import thread
from cachelayer import CacheLayer
from cachelayer.testing import WordEmbedder

class Slow(WordEmbedder):
    async def start(self):
        await asyncio.to_thread(self.load)
        await asyncio.to_thread(list)
    def load(self):
        while not thread._shutdown:
            time.sleep(0.001)

layer = CacheLayer(embedder=Slow())

@layer.cached
def ask(question: str) -> str:
    return question.upper()

print(ask("hello"), ask("hello"))
"""


def test_a_program_that_ends_while_the_model_loads_says_nothing_of_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "HELLO HELLO\n", "")


def test_what_a_loop_left_unwritten_the_next_one_writes_while_its_backend_is_at_work() -> None:
    """With a loop a call nothing was ever found by meaning."""
    layer = CacheLayer(embedder=WordEmbedder())

    @layer.cached
    async def ask(question: str) -> str:
        if "Peru" in question:
            async with asyncio.timeout(30):
                while not layer.stats()["similar"]["entries"]:
                    await asyncio.sleep(0)
        return question.upper()

    asyncio.run(layer.start())
    asyncio.run(ask("How do I turn on the alarm?"))
    assert asyncio.run(ask("What is the capital of Peru?")) == "WHAT IS THE CAPITAL OF PERU?"
    asyncio.run(layer.aclose())


def test_a_script_of_plain_functions_finds_what_the_one_before_it_answered(tmp_path: Path) -> None:
    """A script that ended at once left nothing in the directory, and nobody was told."""

    def script() -> list[Source]:
        layer = CacheLayer(embedder=WordEmbedder(), index=tmp_path)
        ask = layer.wrap(ascii, name="ask", text="obj")
        with layer:
            return [ask.outcome(f"question {i}").source for i in range(50)]

    assert script() == [Source.BACKEND] * 50
    assert script() == [Source.MEMORY] * 50


async def test_a_layer_that_is_opened_for_scripts_where_a_loop_runs_says_how_instead() -> None:
    layer = CacheLayer(semantic=False)
    with pytest.raises(CacheLayerError, match="async with layer"), layer:
        raise AssertionError


async def test_a_framework_s_lifespan_is_that_of_the_layer() -> None:
    layer = CacheLayer(embedder=WordEmbedder())

    def state() -> str:
        told: str = layer.stats()["similar"]["state"]
        return told

    async with layer.lifespan("an app"):
        assert state() == "ready"
    assert state() == "cold"


def test_a_script_that_closes_its_layer_leaves_no_thread() -> None:
    layer = CacheLayer(embedder=WordEmbedder())
    before = set(threading.enumerate())
    with layer:
        (made,) = {one for one in threading.enumerate() if one.name == "cachelayer"} - before
    assert not made.is_alive()
