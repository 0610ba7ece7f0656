"""What is part of a key beside the arguments as they come: versions, defaults, declared types, what `key` says."""

from __future__ import annotations

import enum
import inspect
import uuid
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any, Literal

import pytest

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.exact.keys.identity import Identifier

UNSET: ContextVar[str] = ContextVar("unset")


class Mode(enum.StrEnum):
    FAST = "fast"


class Way(enum.StrEnum):
    FAST = "fast"


async def ask(question: Any, depth: Any = 1) -> str:
    return "answer"


async def streamed(question: Any, depth: Any = 1) -> AsyncIterator[str]:
    yield "answer"


async def deeper(question: Any, depth: Any = 2) -> str:
    return "answer"


async def rectangle(rows: int, columns: int) -> str:
    return "answer"


async def open_to_all(question: Any, **more: Any) -> str:
    return "answer"


OPENAI: list[dict[str, Any]] = [
    {"user": "ann"},
    {"n": 1},
    {"metadata": {}},
    {"background": True},
    {"store": True},
]
"""What changes no answer of OpenAI's, or is not asked for an answer alone."""


async def complete(messages: Any, model: Any) -> str:
    return "answer"


complete.cachelayer_wire = True  # type: ignore[attr-defined]


def canonical(fn: Callable[..., Any], *args: Any, of: dict[str, Any] | None = None, **kwargs: Any) -> bytes:
    cached = CacheLayer(semantic=False).wrap(fn, name="one name", **(of or {}))
    found: bytes = cached.handle.now(args, kwargs).canonical
    assert found
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (canonical(ask, "q"), canonical(ask, "q", of={"version": "2"})),
        (canonical(ask, "q", of={"version": "1"}), canonical(ask, "q", of={"version": "2"})),
        (canonical(ask, "q"), canonical(streamed, "q")),
        (canonical(ask, "q"), canonical(deeper, "q")),
        (canonical(open_to_all, "q", one=1), canonical(open_to_all, "q", other=1)),
        (canonical(ask, ["no", "text"], 1), canonical(ask, ["no", "text"], 2)),
        *[(canonical(open_to_all, "q"), canonical(open_to_all, "q", **of_openai)) for of_openai in OPENAI],
    ],
)
def test_what_else_changes_the_answer_tells_calls_apart(one: bytes, other: bytes) -> None:
    assert one != other


SAID = [{"role": "user", "content": "q"}]


@pytest.mark.parametrize("of", ["q", SAID, [*SAID, {"role": "assistant", "content": "a"}, *SAID], ["q"], 1])
def test_requests_are_near_each_other_only_where_all_else_is_equal(of: Any) -> None:
    def complete(messages: Any, model: str, seed: int = 0) -> None: ...

    identifier = Identifier("f", inspect.signature(complete), fold=str.strip)
    one, again, *others = (
        identifier.identify(args, {}, tenant)
        for args, tenant in [
            ((of, "m"), None),
            ((of, "m", 0), None),
            ((of, "n"), None),
            ((of, "m", 1), None),
            ((of, "m"), "t"),
        ]
    )
    assert one is not None and again is not None and one.partition() == again.partition()
    for other in others:
        assert other is not None and other.partition() != one.partition() and other.canonical != one.canonical


def test_a_text_is_no_part_of_what_all_else_must_be_equal_in() -> None:
    identifier = Identifier("f", inspect.signature(ask), fold=str.strip)
    one, other = (identifier.identify((text,), {}, None) for text in ("a", "b"))
    assert one is not None and other is not None
    assert one.partition() == other.partition() and one.canonical != other.canonical


def test_of_what_is_compared_by_vectors_the_value_is_in_the_key_and_all_else_must_be_equal() -> None:
    identifier = Identifier("f", inspect.signature(ask), fold=str.strip, text="question", by_vector=True)
    made = [identifier.identify(args, {}, None) for args in [([1.5], 1), ([2.5], 1), ([1.5], 2), (None, 1)]]
    one, near, far, nothing = (found for found in made if found is not None)
    assert len({found.canonical for found in (one, near, far, nothing)}) == 4
    assert one.partition() == near.partition() != far.partition()
    assert one.text == "question" and nothing.text is None


class Session:
    """What says itself what a later call is made with."""

    def cachelayer_held(self) -> str:
        return "a session of its own"


def test_a_later_call_is_made_with_copies_but_of_what_is_ignored() -> None:
    def search(query: Any, db: Any, *rest: Any, **more: Any) -> None: ...

    identifier = Identifier("f", inspect.signature(search), fold=str.strip, ignore=["db"])
    query, db, rest = ["q"], ["db"], ["rest"]
    (held_query, held_db, held_rest), named = identifier.held((query, db, rest), {"other": rest})
    assert held_db is db and identifier.held((query,), {"db": db})[1]["db"] is db
    for held, given in ((held_query, query), (held_rest, rest), (named["other"], rest)):
        assert held == given and held is not given
    assert identifier.held((query, Session()), {})[0][1] == "a session of its own"


def test_a_method_of_a_class_answers_for_each_class_alone() -> None:
    class Base:
        @classmethod
        @CacheLayer(semantic=False).cached
        def named(cls, question: str) -> str:
            return cls.__name__

    class Other(Base):
        pass

    assert [kind.named("q") for kind in (Base, Other, Base, Other)] == ["Base", "Other"] * 2


def test_a_default_is_the_same_given_or_not() -> None:
    assert canonical(ask, "q") == canonical(ask, "q", 1) == canonical(deeper, "q", depth=1)


@pytest.mark.parametrize("marker", [object(), ..., type("Omit", (), {})()])
def test_a_default_that_only_marks_what_was_not_given_is_no_part_of_a_key(marker: Any) -> None:
    async def marked(question: Any, depth: Any = marker) -> str:
        return "answer"

    assert canonical(marked, "q") == canonical(marked, "q", marker) != canonical(marked, "q", None)
    assert b"depth" not in canonical(marked, "q") and b"depth" in canonical(marked, "q", None)


def test_a_member_of_an_enum_is_its_value_in_openais_form() -> None:
    assert canonical(complete, SAID, Mode.FAST) == canonical(complete, SAID, "fast")


def test_an_argument_that_is_nested_too_deeply_is_named() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(
        ConfigurationError, match=r"argument 'depth' cannot be part of a key \(nested too deeply\)"
    ):
        canonical(ask, "q", deep)


def test_key_alone_says_which_calls_are_the_same_where_no_text_is_compared() -> None:
    area = {"key": lambda rows, columns: rows * columns}
    assert canonical(rectangle, 2, 6, of=area) == canonical(rectangle, 3, 4, of=area)
    assert canonical(rectangle, 2, 6, of=area) != canonical(rectangle, 2, 5, of=area)


def test_what_is_ignored_may_be_a_keyword_of_any_name_and_self() -> None:
    ignore = {"ignore": ["trace", "question"]}
    assert canonical(open_to_all, "q", trace=object(), of=ignore) == canonical(open_to_all, "p", of=ignore)

    class Client:
        @CacheLayer(semantic=False).cached(ignore=["self"])
        def ask(self, question: str) -> str:
            return "answer"

    assert Client().ask("q") == "answer" and Client().ask.outcome("q").match == "exact"


def test_a_context_variable_that_is_not_set_is_none() -> None:
    vary = {"vary": [UNSET]}
    unset = canonical(ask, "q", of=vary)
    for value, same in (("a", False), (None, True)):
        token = UNSET.set(value)  # type: ignore[arg-type]
        assert (canonical(ask, "q", of=vary) == unset) is same
        UNSET.reset(token)


@pytest.mark.parametrize(
    ("annotation", "plain"),
    [
        *[(said, True) for said in (str, Literal["fast"], str | None, list[str] | str)],
        *[(said, False) for said in (Any, Mode, str | Mode, list[Any] | str, inspect.Parameter.empty)],
    ],
)
def test_a_member_of_an_enum_is_its_value_where_the_parameter_is_declared_as_json(
    annotation: Any, plain: bool
) -> None:
    async def run(mode: Any) -> str:
        return "answer"

    run.__annotations__["mode"] = annotation
    if annotation is inspect.Parameter.empty:
        del run.__annotations__["mode"]
    assert (canonical(run, Mode.FAST) == canonical(run, "fast")) is plain
    number = uuid.uuid4()
    assert (canonical(run, number) == canonical(run, str(number))) is plain


@pytest.mark.parametrize("more", [{"key": lambda a, b: a}, {"ignore": ["b"]}, {"semantic": False}, {}])
def test_a_text_that_a_function_makes_needs_to_be_told_what_else_must_be_equal(more: dict[str, Any]) -> None:
    def identifier() -> Identifier:
        return Identifier("f", inspect.signature(lambda a, b: a), fold=str.strip, text=lambda a, b: a, **more)

    if more:
        one, other = (identifier().identify((" a ", b), {}, None) for b in (1, 2))
        assert one is not None and other is not None and one.text == other.text == "a"
        assert (one.canonical == other.canonical) is (more.keys() <= {"key", "ignore"})
    else:
        with pytest.raises(ConfigurationError, match="give key= as well"):
            identifier()


@pytest.mark.parametrize(
    ("one", "other"), [(Mode.FAST, "fast"), (uuid.UUID(int=1), str(uuid.UUID(int=1))), (Mode.FAST, Way.FAST)]
)
def test_each_of_the_arguments_that_a_star_takes_is_an_argument_of_its_own(one: Any, other: Any) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def told(*values: Any) -> str:
        return repr(values)

    assert told(1, one) != told(1, other)
    assert told.outcome(1, one).source == told.outcome(1, other).source == "memory"
