"""Callables that one function made have names of their own, since processes share answers by them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from cachelayer.wrap.naming import name_of


def logged(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that forgets functools.wraps(), as that of Cohere's client."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return inner


def operation(name: str) -> Callable[..., Any]:
    """As botocore makes the methods of its clients."""

    def _api_call(*args: Any, **kwargs: Any) -> Any:
        return name

    _api_call.__name__ = name
    return _api_call


def ask(question: str) -> str:
    return question


def summarize(question: str) -> str:
    return question


class Client:
    def chat(self, question: str) -> str:
        return question

    __call__ = chat


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (ask, "ask"),
        (logged(ask), "logged.<locals>.inner({M}.ask)"),
        (logged(summarize), "logged.<locals>.inner({M}.summarize)"),
        (logged(Client().chat), "logged.<locals>.inner({M}.Client.chat)"),
        (logged(logged(ask)), "logged.<locals>.inner({M}.logged.<locals>.inner({M}.ask))"),
        (logged(functools.partial(ask)), "logged.<locals>.inner({M}.ask)"),
        (logged(Client()), "logged.<locals>.inner({M}.Client)"),
        (functools.wraps(ask)(logged(ask)), "ask"),
        (operation("converse"), "operation.<locals>.converse"),
        (operation("converse_stream"), "operation.<locals>.converse_stream"),
        (functools.partial(operation("converse"), 1), "operation.<locals>.converse"),
    ],
)
def test_two_functions_that_one_function_made_are_not_of_one_name(fn: Any, name: str) -> None:
    """A second process was served the answers of the first one's, which had the same arguments."""
    assert name_of(fn) == f"{__name__}.{name.format(M=__name__)}"


def test_functions_that_call_each_other_have_names() -> None:
    def one(*args: Any, **kwargs: Any) -> Any:
        return other(*args, **kwargs)

    def other(*args: Any, **kwargs: Any) -> Any:
        return one(*args, **kwargs)

    assert name_of(one).count("one") == 2 and name_of(one) != name_of(other)
