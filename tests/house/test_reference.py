"""docs/reference.md names every public name, argument, setting, field and reason, with its default."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import cachelayer
from cachelayer import (
    Budgets,
    CacheLayer,
    Explanation,
    Normalize,
    Outcome,
    Policy,
    Reason,
    Saved,
    Source,
    Trace,
)
from cachelayer.policy import Tightening
from cachelayer.wrap.options import OPTIONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference.md").read_text("utf-8")


def section(title: str) -> str:
    """What stands under a heading, without the sections below it."""
    level, _, _ = title.partition(" ")
    found = re.search(rf"^{re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    assert found is not None, f"docs/reference.md has no section {title!r} at level {level}"
    return found[1]


def rows(text: str) -> dict[str, str]:
    """The first cell of each row of its tables to the second."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {first.strip("`"): second for first, second, *_ in cells}


def table(text: str, head: str) -> dict[str, str]:
    """The rows of the table whose first column is headed so."""
    found = re.search(rf"^\| {re.escape(head)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
    assert found is not None, f"no table headed {head!r}"
    return rows(found[1])


def fields(cls: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


OUTCOME, REASONS = section("## `Outcome`"), section("## `Reason`")


@pytest.mark.parametrize(
    ("told", "there"),
    [
        (rows(section("## What `cachelayer` exports")), cachelayer.__all__),
        (
            rows(section("## `CacheLayer(...)`")),
            set(inspect.signature(CacheLayer.__init__).parameters) - {"self"},
        ),
        (rows(section("## Methods of a layer")), {name for name in dir(CacheLayer) if name[0] != "_"}),
        (rows(section("## Options of `cached` and `wrap`")), OPTIONS),
        (rows(section("## `Policy`")), fields(Policy)),
        (rows(section("### `Budgets`")), fields(Budgets)),
        (rows(section("### `Normalize`")), fields(Normalize)),
        (rows(section("### `Trace`")), fields(Trace)),
        (table(OUTCOME, "field"), fields(Outcome)),
        (table(OUTCOME, "field of `Saved`"), fields(Saved)),
        (table(OUTCOME, "`Source`"), [str(source) for source in Source]),
        (table(OUTCOME, "field of `Explanation`"), fields(Explanation)),
        (rows(REASONS), [str(reason) for reason in Reason]),
    ],
    ids=lambda part: "" if isinstance(part, dict) else f"{len(part)}",
)
def test_the_page_lists_exactly_what_there_is(told: dict[str, str], there: Iterable[str]) -> None:
    assert set(told) == set(there)


@pytest.mark.parametrize(("title", "cls"), [("## `Policy`", Policy), ("### `Budgets`", Budgets)])
def test_defaults_are_those_of_the_code(title: str, cls: Any) -> None:
    for name, default in rows(section(title)).items():
        value = eval(default.strip("`"), {"Budgets": Budgets, "Normalize": Normalize})
        assert getattr(cls(**{name: value}), name) == getattr(cls(), name), f"{name}: {default}"


def test_defaults_of_what_takes_more_than_one_argument_are_those_of_the_code() -> None:
    for name, default in rows(section("### `Normalize`")).items():
        assert eval(default.strip("`")) is getattr(Normalize(), name), name
    told = {
        name: eval(text.strip("`")) for name, text in rows(section("### `Trace`")).items() if name != "path"
    }
    assert told == {name: getattr(Trace(path="x"), name) for name in told}
    for name, default in rows(section("## `CacheLayer(...)`")).items():
        assert eval(default.strip("`")) == inspect.signature(CacheLayer.__init__).parameters[name].default, (
            name
        )


def test_a_wrapped_function_offers_what_the_page_says() -> None:
    layer = CacheLayer(semantic=False)
    offered = rows(section("## What a wrapped function offers"))
    plain = layer.cached(name="plain")(len)
    assert set(offered) == {name for name in vars(plain) if name[0] != "_"} - {"handle"}


def test_all_that_a_request_may_tighten_is_named() -> None:
    told = rows(section("## Methods of a layer"))["tighten"]
    assert {f"`{name}`" for name in fields(Tightening)} <= set(re.findall(r"`\w+`", told))


def test_every_public_name_says_what_it_is() -> None:
    public = [getattr(cachelayer, name) for name in cachelayer.__all__]
    public += [getattr(CacheLayer, name) for name in dir(CacheLayer) if name[0] != "_"]
    mute = [name for name in public if not inspect.getdoc(name)]
    assert not mute
