"""Settings that cannot work are refused where they are given, by field, value and remedy."""

from __future__ import annotations

from typing import Any

import pytest

from cachelayer import CacheLayer, ConfigurationError, Policy


@pytest.mark.parametrize("given", [0, 1, 0.0, "off", None])
@pytest.mark.parametrize(
    "make",
    [
        lambda given: Policy(semantic=given),
        lambda given: CacheLayer(semantic=given),
        lambda given: CacheLayer().cached(semantic=given)(len),
    ],
)
def test_semantic_is_true_false_or_auto_and_no_number_that_equals_one(make: Any, given: object) -> None:
    with pytest.raises(ConfigurationError) as fault:
        make(given)
    assert str(fault.value) == f"semantic={given!r}: give True, False or 'auto'"
