"""What cannot work in front of an app is refused where it is given, by field, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cachelayer.adapters.asgi import CHAT, CacheLayerMiddleware, Header, JwtClaim, Route, ScopeMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, ConfigurationError


@pytest.mark.parametrize(("option", "value"), [
    ("layer", None), ("too_large", "maybe"), ("on_leave", "stay"), ("max_body", 0), ("allow", ["x"]),
    ("principal", "x"), ("secret", "short"), ("recheck", -1), ("routes", "twice"), ("routes", ["/x"]),
    ("pace", "slow"), ("pace", -1), ("authorize", "x"), ("vary", "accept-language"), ("vary", ["x user"]),
    ("vary", [1]), ("vary", None), ("allow", "no-cache"), ("public", "false"), ("lifespan", "off"),
    ("routes", None), ("allow", None), ("allow", b""),
])  # fmt: skip
def test_a_wrong_option_is_named(upstream: Upstream, layer: CacheLayer, option: str, value: Any) -> None:
    options: dict[str, Any] = {"layer": layer, option: [CHAT, CHAT] if value == "twice" else value}
    with pytest.raises(ConfigurationError, match=option):
        CacheLayerMiddleware(upstream, **options)


@pytest.mark.parametrize("wrong", [{"text": 5}, {"text": ""}, {"text": ["query"]}, {"openai": 1}])
def test_a_wrong_option_of_a_route_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"^{next(iter(wrong))}="):
        Route("/rerank", **wrong)


@pytest.mark.parametrize("middleware", [CacheLayerMiddleware, ScopeMiddleware])
def test_a_middleware_needs_an_app_and_a_layer(
    middleware: Any, upstream: Upstream, layer: CacheLayer
) -> None:
    for app, mine, field in ((5, layer, "app"), (None, layer, "app"), (upstream, None, "layer")):
        with pytest.raises(ConfigurationError, match=f"^{field}="):
            middleware(app, layer=mine)


def test_a_second_middleware_of_a_layer_is_told_to_have_a_name(upstream: Upstream, layer: CacheLayer) -> None:
    CacheLayerMiddleware(upstream, layer=layer)
    with pytest.raises(
        ConfigurationError, match="name='asgi': another middleware of this layer has it: make a layer"
    ):
        CacheLayerMiddleware(upstream, layer=layer)
    CacheLayerMiddleware(upstream, layer=layer, name="other")


@pytest.mark.parametrize("make", [
    lambda: Header(""), lambda: Header("x user"), lambda: Header("é"),
    lambda: JwtClaim("org", key="k" * 32, header="a b"),
])  # fmt: skip
def test_a_header_that_is_none_is_named(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match="give the name of a header"):
        make()


@pytest.mark.parametrize("wrong", [{"claim": 5}, {"claim": ""}, {"now": 5}])
def test_a_wrong_option_of_a_claim_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"^{next(iter(wrong))}="):
        JwtClaim(**{"claim": "org", "key": "k" * 32, **wrong})


def test_a_key_that_is_none_is_told_by_its_kind_alone() -> None:
    for key, kind in ((None, "NoneType"), ({"k": "hunter2"}, "dict")):
        with pytest.raises(ConfigurationError, match=f"^key=<{kind}>: give what tokens are signed with"):
            JwtClaim("org", key=key)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "begin", ["-----BEGIN PUBLIC KEY-----\n", "-----BEGIN CERTIFICATE-----\n", "ssh-rsa "]
)
def test_a_public_key_is_no_secret(begin: str) -> None:
    """Whoever had it, as anybody may, could sign tokens of any tenant."""
    with pytest.raises(ConfigurationError, match=r"^key=.* tokens of RS256") as raised:
        JwtClaim("org", key=begin + "MIIB" * 20)
    assert "MIIB" not in str(raised.value)
