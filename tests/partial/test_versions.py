"""Which version of a document was seen last: tenants may share it, or have their own under one id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer
from cachelayer.partial.graph import Versions


class NotComparable:
    """As pandas' NA."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("ambiguous")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "<NA>"


async def test_tenants_with_documents_of_their_own_under_one_id_leave_each_other_s_answers_alone() -> None:
    async with CacheLayer(semantic=False) as layer:
        calls, versions = {"acme": 0, "globex": 0}, {"acme": 1, "globex": 7}

        asking = "acme"

        async def search(query: str) -> list[dict[str, Any]]:
            calls[asking] += 1
            return [{"id": "faq", "version": versions[asking]}]

        retrieve = layer.retrieval(search)
        for number in range(20):
            for asking in calls:
                with layer.scope(tenant=asking):
                    await retrieve("popular")
                    told = await retrieve.outcome(f"new {number}")
                assert f"version {versions[asking]}" in str(layer.explain(told))
        assert max(calls.values()) <= 22
        versions["acme"] = 2
        for asking in calls:
            with layer.scope(tenant=asking):
                await retrieve("another")
                assert (await retrieve("popular"))[0]["version"] == versions[asking]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_of_a_document_that_tenants_share_nothing_is_left_that_an_older_version_made(
    steps: list[tuple[str, bool]],
) -> None:
    versions, version, built = Versions(), 1, set[int]()
    for tenant, edited in steps:
        version += edited
        if versions.see("tag", version, tenant):
            built.clear()
        built.add(version)
        assert built == {version}


def test_who_saw_the_same_old_version_need_not_be_told_again() -> None:
    versions = Versions()
    seen = [versions.see("tag", version, tenant) for version in (1, 2) for tenant in ("a", "b", "c")]
    assert seen == [False, False, False, True, False, False]


def test_the_document_seen_least_recently_is_forgotten_first() -> None:
    versions = Versions(most=2)
    for tag in "abac":
        versions.see(tag, 1)
    assert [versions.get(tag) for tag in "abc"] == [1, None, 1]


def test_all_tenants_of_all_documents_count() -> None:
    versions = Versions(most=100)
    for number in range(4_000):
        versions.see(f"d{number % 50}", 1, f"tenant {number}")
    assert versions._held == sum(map(len, versions._seen.values())) <= 100
    versions.forget([f"d{number}" for number in range(50)])
    assert versions._held == 0


@pytest.mark.parametrize("missing", [float("nan"), np.datetime64("NaT", "s"), NotComparable()])
def test_a_version_that_does_not_compare_is_itself(missing: Any) -> None:
    """A column of a table has NaN, NaT or NA where nothing is said: each retrieval dropped what the one before kept."""
    versions = Versions()
    assert [versions.see("tag", version) for version in (missing, missing, 1)] == [False, False, True]


def test_who_is_told_no_version_learns_nothing_of_the_document() -> None:
    """A retriever whose index was rebuilt without versions, say, changed no document."""
    versions = Versions()
    assert not versions.see("a", 1)
    assert not versions.see("a", None) and versions.get("a") == 1
    assert not versions.see("a", 1) and versions.see("a", 2)


async def test_a_version_that_cannot_be_read_is_none_and_no_fault_of_the_callers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    layer, asked = CacheLayer(semantic=False), []

    async def search(query: str) -> list[dict[str, Any]]:
        asked.append(query)
        return [{"id": "dated", "at": 3}, {"id": "undated"}]

    retrieve = layer.retrieval(search, version=lambda document: document["at"])
    found = [await retrieve("any") for _ in range(2)]
    assert (
        found[0] == found[1] and [one["id"] for one in found[0]] == ["dated", "undated"] and asked == ["any"]
    )
    assert "stage version failed with KeyError at test_versions.py:" in caplog.text
    assert "dated (version 3)" in str(layer.explain(await retrieve.outcome("any")))
