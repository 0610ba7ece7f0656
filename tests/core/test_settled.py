"""There is one of a layer: it is settled when it is made, and stays in its process."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy


@pytest.mark.parametrize(("setting", "value"), [("policy", Policy(ttl=5)), ("tenancy", "required")])
def test_what_is_settled_when_a_layer_is_made_is_refused_later(setting: str, value: Any) -> None:
    """It was taken in silence, and nothing heeded it."""
    layer = CacheLayer(semantic=False)
    before = getattr(layer, setting)
    with pytest.raises(
        AttributeError, match=rf"cannot be changed after a layer is made: CacheLayer\({setting}="
    ):
        setattr(layer, setting, value)
    assert getattr(layer, setting) is before


def test_copies_of_a_layer_are_the_layer_and_pickling_it_says_what_to_do() -> None:
    layer = CacheLayer(semantic=False)
    ask = layer.wrap(lambda text: text, name="ask")
    assert copy.copy(layer) is layer
    for one in (layer, ask.aio):
        assert copy.deepcopy([one])[0] is one
    with pytest.raises(TypeError, match="a CacheLayer cannot be pickled: make one in each process"):
        pickle.dumps(layer)
