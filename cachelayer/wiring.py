"""Which parts stand behind the doors: from what is installed and what the owner gave."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from .errors import ConfigurationError, MissingExtra
from .flow.attempt import Faults
from .flow.background import Background
from .protocols import Decider, Embedder, VectorIndex, Verifier
from .semantic.tier import SimilarTier

BY_CHOICE = "semantic=False"
_LOCAL = ("onnxruntime", "tokenizers")


def require_similar() -> None:
    """Raise MissingExtra where the embedded model cannot run."""
    for package in _LOCAL:
        if find_spec(package) is None:
            raise MissingExtra("semantic=True", package, "local")


def similar_tier(
    semantic: bool | Literal["auto"],
    *,
    embedder: Embedder | Callable[..., Any] | str | None,
    index: VectorIndex | None,
    verifier: Verifier | Decider | None,
    faults: Faults,
    background: Background,
    random: Callable[[], float],
) -> tuple[SimilarTier | None, str]:
    """The tier and '', or None and why there is none. Raises MissingExtra where it is asked for and cannot be."""
    if semantic is False:
        return None, BY_CHOICE
    if embedder is None or isinstance(embedder, str):
        missing = next((package for package in _LOCAL if find_spec(package) is None), None)
        if missing is not None:
            if semantic is True:
                require_similar()
            return None, f"{missing} is not installed (pip install 'cachelayer[cpu,local]')"
        from .semantic.embed.onnx import OnnxEmbedder

        embedder = OnnxEmbedder(embedder)
    elif not isinstance(embedder, Embedder):
        raise ConfigurationError(
            "embedder",
            embedder,
            "give an Embedder (identity, dimension, start, embed, aclose), or a model's name",
        )
    return SimilarTier(
        embedder=embedder, index=index, decider=_decider(verifier), faults=faults, background=background,
        make_index=_make_index,
    ), ""  # fmt: skip


def _decider(verifier: Verifier | Decider | None) -> Decider:
    from .semantic.decide import PairDecider

    if verifier is None or isinstance(verifier, Verifier):
        return PairDecider(verifier)
    if isinstance(verifier, Decider):
        return verifier
    raise ConfigurationError(
        "verifier", verifier, "give a Verifier (judge) or a Decider (decide, observe, ...)"
    )


def _make_index(dimension: int) -> VectorIndex:
    from .semantic.index.packed import PackedIndex

    return PackedIndex(dimension)
