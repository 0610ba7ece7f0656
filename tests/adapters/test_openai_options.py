"""Options of several wrapped clients on one layer."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from cachelayer.adapters.openai import wrap

from cachelayer import CacheLayer, ConfigurationError


def client(layer: CacheLayer, **options: Any) -> openai.OpenAI:
    return wrap(openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="k"), layer=layer, **options)


def picky(layer: CacheLayer, words: int = 3) -> openai.OpenAI:
    return client(layer, cache_if=lambda answer: words, vary=[lambda: "v"], ttl="1h")


def test_two_clients_of_a_layer_have_one_policy_for_an_endpoint() -> None:
    """The second one's was dropped without a word."""
    layer = CacheLayer(semantic=False)
    first = picky(layer)
    assert first.chat.completions.create and first.with_options(timeout=1).chat.completions.create
    assert picky(layer).chat.completions.create  # made anew for each request, say
    vetoes = client(layer, cache_if=lambda answer: False, vary=[lambda: "v"], ttl="1h")
    for other, told in (
        (vetoes, "cache_if="),
        (client(layer, ttl="1m"), "ttl='1m'"),
        (client(layer), "cache_if=None"),
    ):
        with pytest.raises(ConfigurationError, match=told + r".*chat\.completions\.create with"):
            other.chat.completions.create  # noqa: B018
    assert client(layer, ttl="30d").embeddings.create  # nobody else has options for these


def test_a_layer_that_is_none_is_refused_where_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match="layer='redis://x': give a cachelayer"):
        client("redis://x")  # type: ignore[arg-type]


def test_a_notebook_completes_what_a_wrapped_client_has() -> None:
    wrapped = client(CacheLayer(semantic=False))
    assert {"chat", "embeddings", "responses", "with_options"} <= {*dir(wrapped)}
    assert {"create", "parse", "with_raw_response"} <= {*dir(wrapped.chat.completions)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tll": "1h"}, "tll='1h': unknown option; did you mean 'ttl'"),
        ({"ttl": "soon"}, "ttl='soon': give seconds"),
        ({"ignore": "seed"}, "ignore='seed': give a list of strings"),
        ({"text": "prompt"}, "text='prompt': leave it out"),
    ],
)
def test_options_that_cannot_work_are_refused_where_they_are_given(options: Any, said: str) -> None:
    """They were by the first request, or taken no notice of."""
    with pytest.raises(ConfigurationError, match=said):
        wrap(openai.OpenAI(api_key="k"), layer=CacheLayer(semantic=False), **options)
