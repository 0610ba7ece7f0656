"""What headers ask, word for word: a limit that makes no sense is the strictest, and of several the strictest holds."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.asgi.directives import DIRECTIVES, NOTHING, Asked, asked

FOREVER = 2.0**31
ALL = frozenset(DIRECTIVES)


@pytest.mark.parametrize(
    ("control", "own", "found"),
    [
        ("max-age=60", "", {"max_age": 60.0}),
        ("max-age=60, Max-Age=20", "", {"max_age": 20.0}),
        ("max-age", "", {"max_age": 0.0}),
        ("max-age=soon", "", {"max_age": 0.0}),
        ("max-age=-1", "", {"max_age": 0.0}),
        ("max-age=99999999999999999999", "", {"max_age": FOREVER}),
        ("min-fresh=5, min-fresh=9", "", {"min_fresh": 9.0}),
        ("min-fresh", "", {"min_fresh": FOREVER}),
        ("max-stale", "", {"max_stale": FOREVER}),
        ("max-stale=soon", "", {"max_stale": 0.0}),
        ("max-stale=60, max-stale", "", {"max_stale": 60.0}),
        ("no-cache; no-store", "", {"no_cache": True, "no_store": True}),
        ("", "max-error-rate=0.05", {"max_error_rate": 0.05}),
        ("", "max-error-rate=0.05, max-error-rate=0.01", {"max_error_rate": 0.01}),
        ("", "max-error-rate", {"max_error_rate": 0.0}),
        ("", "max-error-rate=high", {"max_error_rate": 0.0}),
        ("", "max-error-rate=1.5", {"max_error_rate": 0.0}),
        ("", "max-error-rate=-0.1", {"max_error_rate": 0.0}),
        ("", "max-error-rate=nan", {"max_error_rate": 0.0}),
        ("", 'no-similar, max-error-rate="0.02"', {"no_similar": True, "max_error_rate": 0.02}),
        ("no-similar, max-error-rate=0.01", "no-cache", {}),  # each in its own header
        ("proxy-revalidate, nonsense", "", {}),
    ],
)
def test_each_directive_is_read_in_its_own_header_and_the_strictest_counts(
    control: str, own: str, found: dict[str, Any]
) -> None:
    assert asked(control.encode(), own.encode(), ALL) == (Asked(**found) if found else NOTHING)


def test_what_is_not_allowed_is_passed_over() -> None:
    assert asked(b"no-cache, max-age=0", b"no-similar", frozenset({"max-age"})) == Asked(max_age=0.0)


@pytest.mark.parametrize(
    ("said", "restricted"),
    [
        (Asked(max_age=60.0), {"max_age": 60.0, "max_stale": 0.0}),
        (Asked(max_age=60.0, only_if_cached=True), {"max_age": 60.0, "max_stale": 0.0}),
        (Asked(max_age=60.0, max_stale=5.0), {"max_age": 60.0, "max_stale": 5.0}),
        (Asked(max_age=60.0, max_stale=FOREVER), {"max_age": 60.0}),
        (Asked(only_if_cached=True), {}),
        (Asked(max_stale=60.0), {"max_stale": 60.0}),
        (Asked(max_stale=60.0, min_fresh=5.0), {"max_stale": 0.0}),
        (Asked(min_fresh=5.0), {"max_stale": 0.0}),
        (Asked(max_stale=FOREVER), {}),
        (Asked(max_stale=FOREVER, min_fresh=5.0), {"max_stale": 0.0}),
        (
            Asked(no_cache=True, no_store=True, no_similar=True),
            {"no_cache": True, "no_store": True, "no_similar": True},
        ),
        (
            Asked(max_age=0.0, max_error_rate=0.0),
            {"max_age": 0.0, "max_error_rate": 0.0, "max_stale": 0.0},
        ),
        (NOTHING, {}),
    ],
)
def test_what_is_asked_restricts_the_call_and_nothing_else_in_the_request_loosens_it(
    said: Asked, restricted: dict[str, Any]
) -> None:
    assert said.tightening() == restricted
