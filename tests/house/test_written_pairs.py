"""Pairs written by hand: what is reported on was never fitted to."""

from __future__ import annotations

from pathlib import Path

import pytest

REPORTED = (
    "natural_pairs.txt",
    "late_natural_pairs.txt",
    "fresh_natural_pairs.txt",
    "read_natural_pairs.txt",
    "unread_natural_pairs.txt",
    "read_kinds_pairs.txt",
    "unread_kinds_pairs.txt",
    "read_forms_pairs.txt",
    "read_traffic_pairs.txt",
    "unread_traffic_pairs.txt",
    "read_worded_pairs.txt",
    "unread_worded_pairs.txt",
    "handmade_pairs.txt",
    "blind_pairs.txt",
    "late_pairs.txt",
    "asked_pairs.txt",
)


def pairs(path: Path) -> list[tuple[str, str, str]]:
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    found = [tuple(part.strip() for part in line.split(" | ")) for line in lines]
    assert found and all(len(one) == 3 and all(one) for one in found)
    return [(kind, a, b) for kind, a, b in found]


@pytest.fixture(scope="module")
def fitted(root: Path) -> list[tuple[str, str, str]]:
    return [one for path in sorted((root / "benchmarks/decide/written").glob("*.txt")) for one in pairs(path)]


def test_every_pair_that_is_fitted_to_says_which_answer_it_takes_and_stands_once(
    fitted: list[tuple[str, str, str]],
) -> None:
    assert {kind.split()[0] for kind, _, _ in fitted} == {"same", "other"}
    assert len({frozenset((a, b)) for _, a, b in fitted}) == len(fitted)


def test_no_pair_that_is_reported_on_is_fitted_to(root: Path, fitted: list[tuple[str, str, str]]) -> None:
    known = {frozenset((a.lower(), b.lower())) for _, a, b in fitted}
    for name in REPORTED:
        seen = [
            one
            for one in pairs(root / "benchmarks/decide" / name)
            if frozenset((one[1].lower(), one[2].lower())) in known
        ]
        assert not seen, name
