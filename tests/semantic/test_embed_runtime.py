"""The embedder's runtime does what it is there for: it reports nothing to its makers, and a forked child ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import tiny_bert

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

EMBED = """
import asyncio, os, signal, sys
from cachelayer.semantic.embed.onnx import OnnxEmbedder

async def embed():
    embedder = OnnxEmbedder(sys.argv[1])
    await embedder.start()
    await embedder.embed(["cancel the order"])
    return embedder

kept = asyncio.run(embed())
"""
FORK = """
child = os.fork()
if not child:
    signal.alarm(10)
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
TOLD = "print(os.environ['ORT_DISABLE_TELEMETRY'])"


def said(script: str, model: object, cache: object, **env: str) -> str:
    """What a process of its own prints: the runtime reads its settings once, when it is imported."""
    env = {**os.environ, "CACHELAYER_CACHE": str(cache), **env}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", EMBED + script, str(model)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    return done.stdout.strip()


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    return tiny_bert.save(tmp_path / "tiny")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_after_texts_were_embedded_ends(model, tmp_path):
    assert said(FORK, model, tmp_path) == "7"


def test_the_runtime_reports_its_use_only_where_the_owner_says_so(model, tmp_path):
    assert said(TOLD, model, tmp_path) == "1"
    assert said(TOLD, model, tmp_path, ORT_DISABLE_TELEMETRY="0") == "0"
