"""The tokens of a shape, and how the code made from one becomes a function."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

Shape = tuple[Any, ...]
"""Tokens (see `T`), hashable, compared in full."""


class T:
    """The tokens of a shape: a prefix code that `answers` writes and `Shapes` reads.

    Children that a container does not list by index are leaves; the list of children ends with END.
    """

    END = -1
    LEAF = 0
    """The next leaf as it is."""
    COPY = 1
    """A `.copy()` of the next leaf: a list, dict or set of fixed values."""
    DEEP = 2
    """A recursive copy of the next leaf."""
    ROWS = 3
    """A list, from (value, thaw) pairs in the next leaf."""
    EACH = 4
    """A dict, from (key, value, thaw) triples in the next leaf."""
    DICT = 5
    """keys (a tuple of exact str), then {index, node}, END."""
    KEYED = 6
    """n, {index, node}, END: a dict with other keys, which are n leaves before the values'."""
    LIST = 7
    """n, {index, node}, END."""
    TUPLE = 8
    NAMED = 9
    """class, n, {index, node}, END: a named tuple."""
    OBJECT = 10
    """plan, slot names, the node of the instance dict where there is one, a node per slot."""
    CONST = 11
    """frozenset: a set with these members."""


def compiled(source: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The one function that `source` defines, with `names` for its globals."""
    module = compile(source, "<shape>", "exec", dont_inherit=True)
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    return types.FunctionType(code, names)
