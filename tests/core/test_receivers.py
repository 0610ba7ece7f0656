"""Objects whose methods are wrapped: what of them is part of the key."""

from __future__ import annotations

import enum
import functools
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, get_type_hints

import attrs
import pydantic
import pytest

from cachelayer import CacheLayer, ConfigurationError


@dataclass(frozen=True)
class Fixed:
    model: str

    async def ask(self, question: str) -> str:
        return f"{self.model} on {question}"

    async def __call__(self, question: str) -> str:
        return await self.ask(question)

    @classmethod
    async def named(cls, question: str) -> str:
        return f"{cls.__name__} on {question}"


class Other(Fixed):
    """The same methods."""


shelf = CacheLayer(semantic=False)


@dataclass(frozen=True)
class Shelf:
    place: str

    @shelf.cached
    def find(self, title: str) -> str:
        """Where a book stands."""
        return f"{title} in {self.place}"


def canonical(fn: Any, **options: Any) -> bytes:
    ask = CacheLayer(semantic=False).wrap(fn, name="ask", **options)
    found: bytes = ask.handle.now(("a question",), {}).canonical
    return found


@pytest.mark.parametrize(
    "of",
    [lambda one: one.ask, lambda one: one, lambda one: functools.partial(one.ask)],
    ids=["bound", "called", "partial"],
)
def test_a_frozen_object_behind_a_wrapped_method_is_part_of_its_keys(of: Callable[[Any], Any]) -> None:
    assert canonical(of(Fixed("small"))) != canonical(of(Fixed("large")))
    assert canonical(of(Fixed("small"))) == canonical(of(Fixed("small")))
    assert canonical(of(Fixed("small")), share_self=True) == canonical(of(Fixed("large")), share_self=True)
    assert canonical(Fixed.named) != canonical(Other.named)


async def test_what_self_key_names_of_a_wrapped_methods_object_is_read_at_each_call() -> None:
    class Client:
        def __init__(self, model: str) -> None:
            self.model = model

        async def ask(self, question: str) -> str:
            return f"{self.model} on {question}"

    client = Client("small")
    ask = CacheLayer(semantic=False).wrap(client.ask, self_key="model")
    assert await ask("a") == "small on a"
    client.model = "large"
    assert await ask("a") == "large on a"
    assert canonical(Client("small").ask, self_key="model") != canonical(client.ask, self_key="model")


async def test_a_self_key_that_the_object_lacks_is_named_at_the_first_call() -> None:
    class Client:
        async def ask(self, question: str) -> str:
            return question

    ask = CacheLayer(semantic=False).wrap(Client().ask, self_key="modell")
    with pytest.raises(ConfigurationError, match=r"self_key='modell': .*Client has no such attribute"):
        await ask("a")


class Shop:
    def __init__(self, city: str) -> None:
        self.city = city

    @shelf.cached(self_key="city")
    def greet(self, question: str) -> str:
        return f"{self.signed()}: {question}"

    @shelf.cached(self_key=lambda shop: shop.city)
    def part(self, question: str) -> str:
        return f"{question}, {self.signed()}"

    def signed(self) -> str:
        return self.city


class Branch(Shop):
    def signed(self) -> str:
        return f"Branch of {self.city}"


def test_subclasses_that_answer_in_their_own_way_have_answers_of_their_own() -> None:
    for _ in range(2):
        assert (Shop("Rome").greet("a"), Branch("Rome").greet("a")) == ("Rome: a", "Branch of Rome: a")
        assert (Shop("Rome").part("a"), Branch("Rome").part("a")) == ("a, Rome", "a, Branch of Rome")
    assert Branch("Rome").greet.outcome("a").match == "exact"


def test_a_self_key_where_there_is_no_self_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"is not a method .* called self.: leave it out"):
        CacheLayer(semantic=False).wrap(canonical, self_key="model")


def test_what_self_key_names_counts_beside_what_key_returns() -> None:
    class Bank(Shop):
        @shelf.cached(key=lambda self, question: question.lower(), self_key="city")
        def rate(self, question: str) -> str:
            return f"{question} in {self.city}"

    assert [Bank(city).rate("A") for city in ("Rome", "Ulm", "Rome")] == [
        "A in Rome",
        "A in Ulm",
        "A in Rome",
    ]
    assert Bank("Ulm").rate.outcome("a").match == "exact"
    with pytest.raises(ConfigurationError, match=r"share_self=True: self_key= names what"):
        shelf.cached(Shop.signed, self_key="city", share_self=True)


def test_a_wrapped_method_tells_of_itself_what_any_bound_method_tells() -> None:
    """Those who make tools, routes or nodes of methods read names and descriptions and compare methods."""
    find: Any = Shelf("hall").find
    for told in (find, find.aio):
        assert (told.__name__, told.__qualname__, told.__module__) == ("find", "Shelf.find", __name__)
        assert inspect.getdoc(told) == "Where a book stands."
        assert get_type_hints(told) == {"title": str, "return": str}
        assert list(inspect.signature(told).parameters) == ["title"]
        assert told.__self__ == Shelf("hall")
    here = find.__self__
    assert here.find == here.find != Shelf("hall").find
    assert {here.find: "found"}[here.find] == "found"


async def test_a_wrapped_method_can_be_sent_to_another_process_and_asked_from_a_loop() -> None:
    find: Any = pickle.loads(pickle.dumps(Shelf("attic").find))
    assert find("Emma") == "Emma in attic"
    assert (await pickle.loads(pickle.dumps(find.aio)).outcome("Emma")).source == "memory"


def logged(fn: Any) -> Any:
    @functools.wraps(fn)
    async def called(*args: Any, **kwargs: Any) -> Any:
        return await fn(*args, **kwargs)

    return called


async def by(client: object, model: str, question: str, **more: Any) -> str:
    return f"{question} by {model}, {more}"


class Kind(enum.Enum):
    SMALL, LARGE = "small", "large"

    async def ask(self, question: str) -> str:
        return self.value


class Pair(NamedTuple):
    model: str

    async def ask(self, question: str) -> str:
        return self.model


class FrozenModel(pydantic.BaseModel, frozen=True):
    name: str

    async def ask(self, question: str) -> str:
        return self.name


class Decorated(Fixed):
    ask = logged(Fixed.ask)
    told = functools.partialmethod(logged(Fixed.ask))


async def told(question: str, model: str = "none", **more: Any) -> str:
    return f"{question} by {model}, {more}"


def named_as(fn: Any, **given: Any) -> Any:
    """A partial with the name of its function, as functools.update_wrapper's documentation shows."""
    return functools.update_wrapper(functools.partial(fn, **given), fn)


@pytest.mark.parametrize(
    "of",
    [
        lambda model: functools.partial(by, object(), model),
        lambda model: functools.partial(by, object(), "m", more=model),
        lambda model: functools.partial(told, more=model, client=object()),
        lambda model: functools.partial(functools.partial(told, more=model), other=1),
        lambda model: functools.partial(logged(functools.partial(told, more=model)), other=1),
        lambda model: named_as(told, model=model),
        lambda model: logged(named_as(told, model=model)),
        lambda model: Decorated(model).ask,
        lambda model: Decorated(model).told,
        lambda model: functools.partial(logged(Fixed(model).ask)),
        lambda model: model.join,  # a method that is not written in Python
        lambda model: Kind(model).ask,
        lambda model: Pair(model).ask,
        lambda model: FrozenModel(name=model).ask,
    ],
)
def test_whatever_is_bound_to_a_wrapped_callable_and_can_be_compared_is_part_of_its_keys(of: Any) -> None:
    """After a restart with another model, the answers of the one before were served."""
    assert canonical(of("small")) != canonical(of("large"))
    assert canonical(of("small")) == canonical(of("small"))


def test_a_keyword_of_a_partial_that_is_a_parameter_is_the_same_as_an_argument() -> None:
    ask = CacheLayer(semantic=False).wrap(told, name="ask")
    assert canonical(functools.partial(told, model="m")) == ask.handle.now(("a question", "m"), {}).canonical
    orders: list[dict[str, Any]] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert len({canonical(functools.partial(told, **order)) for order in orders}) == 1


def test_partials_are_told_apart_by_the_names_of_their_keywords() -> None:
    assert canonical(functools.partial(told, one=1)) != canonical(functools.partial(told, other=1))


def test_what_is_bound_and_what_self_key_names_come_to_what_vary_says() -> None:
    class Client:
        model = "m"

        async def ask(self, question: str, *rest: Any) -> str:
            return question

    for fn, more in ((functools.partial(told, more=["m"]), {}), (Client().ask, {"self_key": "model"})):
        one, other = (canonical(fn, vary=[lambda answer=answer: answer], **more) for answer in ("a", "b"))
        assert one != other


async def test_what_a_partial_or_a_frozen_object_holds_is_in_the_key_as_it_is_at_the_call() -> None:
    layer = CacheLayer(semantic=False)

    async def ask(history: list[str], question: str) -> str:
        return f"{question} after {len(history)}"

    @dataclass(frozen=True)
    class Talk:
        history: list[str]

        async def ask(self, question: str) -> str:
            return f"{question} after {len(self.history)}"

    history: list[str] = []
    for cached in (
        layer.wrap(functools.partial(ask, history), name="partial"),
        layer.wrap(Talk(history).ask),
    ):
        history.clear()
        assert await cached("q") == await cached("q") == "q after 0"
        history.append("hello")
        assert await cached("q") == "q after 1"


def test_a_wrapped_method_reaches_the_class_above_where_attrs_makes_another_class_with_slots() -> None:
    layer = CacheLayer(semantic=False)

    class Base:
        def ask(self, question: str) -> str:
            return question.upper()

    @attrs.define
    class Loud(Base):
        mark: str

        @layer.cached(self_key="mark")
        def ask(self, question: str) -> str:
            return super().ask(question) + self.mark

    assert Loud("!").ask("how") == Loud("!").ask("how") == "HOW!"
