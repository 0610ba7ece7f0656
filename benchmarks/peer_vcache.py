"""vCache as a peer, from a checkout of its repository: no package index has it (licence CC BY-NC-ND: run, not copied).

    git clone https://github.com/vcache-project/vCache && git -C vCache checkout 5829293

What its imports ask for and a static threshold never calls (LangChain, vLLM, Chroma, the OpenAI client, hnswlib) is
stood in for. Its own faster parts are taken: FAISS rather than hnswlib, and the static policy at .8, as GPTCache has;
the verified one, which it is known for, fits a logistic regression a lookup on top.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

_UNUSED = "langchain langchain_community openai chromadb vllm hnswlib statsmodels".split()


class _StandIn(ModuleType):
    """A module in which every name is a class that does nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *_, **__: None})


class _StandIns(MetaPathFinder, Loader):
    """Finds stand-ins for `_UNUSED` and all below them."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name.split(".")[0] in _UNUSED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def vcache(
    checkout: Path,
    embed: Callable[[str], np.ndarray],
    entries: Sequence[tuple[str, str, np.ndarray]],
    threshold: float = 0.8,
) -> Callable[[str], Awaitable[bool]]:
    """Asks a vCache that holds `entries` (text, answer, vector): whether the text was answered from one."""
    sys.path.insert(0, str(checkout))
    sys.meta_path.insert(0, _StandIns())
    try:
        import vcache as peer
    finally:
        del sys.meta_path[0]

    class Embedder(peer.EmbeddingEngine):  # type: ignore[misc]  # not installed for checks: Any
        def get_embedding(self, text: str) -> Any:
            vector = filling.get(text)
            return vector if vector is not None else embed(text)

    class Backend(peer.InferenceEngine):  # type: ignore[misc]  # not installed for checks: Any
        def create(self, prompt: str, system_prompt: str | None = None) -> str:
            return "backend"

    config = peer.VCacheConfig(Backend(), Embedder(), peer.FAISSVectorDB())
    policy = peer.BenchmarkStaticDecisionPolicy(threshold)
    system = peer.VCache(config, policy)
    filling = {text: vector for text, _, vector in entries}
    for text, answer, _ in entries:
        policy.cache.add(prompt=text, response=answer, id_set=-1)
    filling.clear()

    async def ask(text: str) -> bool:
        answer = system.infer(text)  # it has no other door: the loop waits
        await asyncio.sleep(0)
        return bool(answer != "backend")

    return ask
