"""A program that ends before the model is loaded ends quietly."""

from __future__ import annotations

import subprocess
import sys

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
