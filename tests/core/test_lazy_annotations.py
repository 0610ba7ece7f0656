"""Python 3.14 evaluates annotations when asked: names that only a type checker imports do not exist then."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from cachelayer import CacheLayer
from cachelayer.exact.wire.hints import types_from

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")

SOURCE = """
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from nowhere import Session

async def ask(question: str, db: Session | None = None) -> Session:
    return question.upper()

def plain(passage: str, db: Session | None = None) -> Session:
    return passage.upper()

class Bot:
    async def ask(self, question: str, db: Session | None = None) -> Session:
        return question.upper()

@dataclass
class Leaf:
    name: str

@dataclass
class Answer:
    leaf: Leaf
    db: Session

class Form(TypedDict):
    leaf: Leaf
    db: Session

def form(question: str) -> Form:
    return {"leaf": Leaf(question), "db": 1}

def with_form(question: str, form: type) -> str:
    return question
"""


@pytest.fixture
def user() -> Any:
    module = ModuleType("user")
    exec(compile(SOURCE, "user.py", "exec", dont_inherit=True), module.__dict__)
    return module


async def test_a_coroutine_function_is_cached_by_its_parameters(user: Any) -> None:
    ask = CacheLayer().wrap(user.ask, ignore=["db"])
    assert await ask("why", db=1) == "WHY"
    assert (await ask.outcome(question="why")).source == "memory"


def test_a_plain_function_is_compared_by_its_only_text(user: Any) -> None:
    plain = CacheLayer(semantic=False).wrap(user.plain)
    assert plain("why") == "WHY"
    assert plain.outcome(passage="why", db=None).source == "memory"
    assert plain.function.identifier.text == "passage"


async def test_a_method_is_known_as_one_and_binds(user: Any) -> None:
    layer = CacheLayer(semantic=False)
    user.Bot.ask = layer.cached(share_self=True)(user.Bot.ask)
    assert await user.Bot().ask("why") == "WHY"
    assert (await user.Bot().ask.outcome(question="why")).source == "memory"


def test_a_bound_method_tells_what_can_be_evaluated_of_its_annotations(user: Any) -> None:
    from annotationlib import Format, get_annotations  # type: ignore[import-not-found, unused-ignore]

    user.Bot.ask = CacheLayer(semantic=False).cached(share_self=True)(user.Bot.ask)
    told = get_annotations(user.Bot().ask, format=Format.FORWARDREF)
    assert told["question"] is str


def test_what_stands_for_a_function_tells_what_can_be_evaluated_of_its_annotations(user: Any) -> None:
    layer = CacheLayer(semantic=False)
    for told in (layer.wrap(user.plain).aio, layer.retrieval(user.plain, text="passage")):
        assert told.__annotations__["passage"] is str


def test_classes_of_answers_are_found_and_what_does_not_resolve_is_left_out(user: Any) -> None:
    assert types_from(user.Answer) == {user.Answer, user.Leaf}
    assert types_from(user.Form) == {user.Leaf}


def test_a_class_as_argument_is_known_by_its_fields(user: Any) -> None:
    cached = CacheLayer(semantic=False).wrap(user.with_form)
    cached("why", user.Form)
    assert cached.outcome("why", user.Form).source == "memory"
    user.Leaf.__doc__ = "a leaf, edited"
    edited: dict[str, Any] = {}
    source = SOURCE.replace(
        "leaf: Leaf\n    db: Session\n\ndef form", "leaf: str\n    db: Session\n\ndef form"
    )
    assert source != SOURCE
    exec(compile(source, "user.py", "exec", dont_inherit=True), {"__name__": "user"}, edited)
    assert cached.outcome("why", edited["Form"]).source == "backend"
