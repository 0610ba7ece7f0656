"""What cannot work is refused where it is given, by field, value and remedy: it failed later, elsewhere, or never."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.observe.cost import Prices
from cachelayer.semantic.embed.http import HttpEmbedder
from cachelayer.semantic.embed.onnx import OnnxEmbedder


def search(query: str, k: int = 5) -> list[Any]:
    return []


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda layer: CacheLayer(semantic=False, verifier=5), "verifier"),
        (lambda layer: layer.explain(None), "outcome"),
        (lambda layer: layer.retrieval(search, k=["k"]), "k"),
        (lambda layer: layer.retrieval(search, k=None), "k"),
        (lambda layer: layer.tools(search, name=5), "name"),
        (lambda layer: layer.tools(search, name=""), "name"),
        (lambda layer: layer.tools(search, keep="1m", schema="{}"), "schema"),
        (lambda layer: layer.tools.decision(search, name=None), "name"),
        (lambda layer: layer.prompts.template(None, "{a}"), "name"),
        (lambda layer: layer.prompts.template("a", None), "template"),
        (lambda layer: layer.prompts.tokenizer(search, name=None), "name"),
        (lambda layer: OnnxEmbedder(precision="fp16"), "precision"),  # type: ignore[arg-type]
        (lambda layer: OnnxEmbedder(download="no"), "download"),  # type: ignore[arg-type]
        (lambda layer: OnnxEmbedder(5), "model"),  # type: ignore[arg-type]
        (lambda layer: Prices({"m": (1, 2)}), "prices"),  # type: ignore[dict-item]
        (lambda layer: Prices([]), "prices"),  # type: ignore[arg-type]
        (lambda layer: layer.trace(TracerProvider(), prompts="false"), "prompts"),
        (lambda layer: HttpEmbedder(None, model="m"), "url"),  # type: ignore[arg-type]
        (lambda layer: HttpEmbedder("http://host/v1", model=None), "model"),  # type: ignore[arg-type]
        (lambda layer: HttpEmbedder("http://host/v1", model="m", api_key=b"k"), "api_key"),  # type: ignore[arg-type]
    ],
)
def test_it_is_named(make: Callable[[Any], Any], field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{field}=.*: (give|name|use)"):
        make(CacheLayer(semantic=False))


@pytest.mark.parametrize("dry_run", [None, 0, "no"])
async def test_what_removes_answers_counts_only_where_it_is_told_so_in_so_many_words(dry_run: Any) -> None:
    layer = CacheLayer(semantic=False)
    for removes in (layer.erase(dry_run=dry_run), layer.invalidate(tags=["t"], dry_run=dry_run)):
        with pytest.raises(ConfigurationError, match=r"^dry_run=.*: give True or False"):
            await removes
