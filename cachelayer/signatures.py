"""Signatures and annotations, also those that name what only a type checker imports.

Python 3.14 evaluates annotations when somebody asks for them: a name that is imported under TYPE_CHECKING raises then.
"""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import suppress
from types import FunctionType, NoneType
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def signature(fn: Any) -> inspect.Signature:
        """The signature; with its annotations as text where one of them cannot be evaluated."""
        try:
            return inspect.signature(fn)
        except (NameError, AttributeError):
            return inspect.signature(fn, annotation_format=Format.STRING)

    def annotations_of(of: Any) -> dict[str, Any]:
        """The annotations of a class or function; what cannot be evaluated is a ForwardRef."""
        return get_annotations(of, format=Format.FORWARDREF)

else:
    signature = inspect.signature
    annotations_of = inspect.get_annotations


def told(fn: Any) -> list[str]:
    """By which attributes a callable tells of itself; a stub, as of a remote function, has one of every name."""
    kinds = (str, dict, tuple, FunctionType, NoneType)
    return [name for name in functools.WRAPPER_ASSIGNMENTS if isinstance(getattr(fn, name, None), kinds)]


def text_of(fn: Any, name: str) -> str:
    """A text that a callable tells of itself; "" where it tells none."""
    told = getattr(fn, name, None)
    return told if isinstance(told, str) else ""


def stand_for(fn: Any, one: Any) -> None:
    """Give an object the name, docstring and annotations of the function that it stands for."""
    functools.update_wrapper(one, fn, assigned=told(fn), updated=())
    one.__annotations__ = {}
    with suppress(TypeError, ValueError):  # on Python 3.14 only functions make them of their __annotate__
        one.__annotations__ = annotations_of(fn)


def signature_of(fn: Any) -> inspect.Signature:
    """The signature, or (*args, **kwargs) for builtins and stubs that tell none."""
    told = getattr(fn, "__signature__", None)
    if told is None or isinstance(told, inspect.Signature):  # Python 3.13 calls what it may be else
        with suppress(TypeError, ValueError):
            return signature(fn)
    return inspect.signature(lambda *args, **kwargs: None)
