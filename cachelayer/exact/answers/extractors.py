"""Extractors, the inverse of compiled constructors: each takes apart values of one shape.

Straight-line code that checks the classes, lengths and keys it expects and gives up at the first surprise, three
times as fast as finding the shape anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .kinds import ATOMS, Plan
from .tokens import Shape, T, compiled

Take = Callable[[Any], tuple[Any, ...] | None]
_KEYS = frozenset({str})
_LONG = 4096


class Extractor:
    """A shape's `take`: value -> leaves, or None if the value is of another shape."""

    __slots__ = ("copies", "take")

    def __init__(self, take: Take, copies: tuple[int, ...]) -> None:
        self.take = take
        self.copies = copies
        """Which leaves are lists of atoms; the others are atoms."""


def extractor(shape: Shape) -> Extractor | None:
    """Compile the extractor of a shape; None if the shape has parts that only a walk can judge."""
    writer = _Writer(shape)
    if not writer.node("v", next(writer.tokens)):
        return None
    return Extractor(compiled(writer.source(), writer.names), tuple(writer.copies))


class _Writer:
    def __init__(self, shape: Shape) -> None:
        self.tokens: Iterator[Any] = iter(shape)
        self.names: dict[str, Any] = {
            "__builtins__": {},
            "type": type,
            "len": len,
            "map": map,
            "dict": dict,
            "list": list,
            "atoms": ATOMS.issuperset,
            "strings": _KEYS.issuperset,
            "Changed": (AttributeError, ValueError, RuntimeError),
        }
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.copies: list[int] = []
        self.dicts: list[str] = []
        self.keys: list[str] = []
        self.made = 0

    def source(self) -> str:
        atoms = [leaf for i, leaf in enumerate(self.leaves) if i not in set(self.copies)]
        lines = [*self.lines]
        if self.dicts:
            lines.append(f"k = ({''.join(f'*{name}, ' for name in self.dicts)})")
            lines.append(f"if k != {self.name(tuple(self.keys))} or not strings(map(type, k)): return None")
        lines.append(f"a = ({''.join(f'{leaf}, ' for leaf in atoms)})")
        lines.append("if not atoms(map(type, a)): return None")
        lines.append(
            f"return ({''.join(f'{leaf}, ' for leaf in self.leaves)})" if self.copies else "return a"
        )
        body = "\n  ".join(lines)
        return f"def take(v):\n try:\n  {body}\n except Changed:\n  return None"

    def name(self, value: object) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def fresh(self, n: int) -> list[str]:
        self.made += n
        return [f"x{i}" for i in range(self.made - n, self.made)]

    def node(self, of: str, token: int) -> bool:
        """Lines that take the value in the variable `of` apart; False if they cannot be written."""
        match token:
            case T.LEAF:
                self.leaves.append(of)
            case T.COPY:
                self.lines.append(f"if type({of}) is not list or len({of}) > {_LONG}: return None")
                self.lines.append(f"{of} = {of}.copy()")
                self.lines.append(f"if not atoms(map(type, {of})): return None")
                self.copies.append(len(self.leaves))
                self.leaves.append(of)
            case T.DICT:
                keys = next(self.tokens)
                self.keys += keys
                self.dicts.append(of)
                self.lines.append(f"if type({of}) is not dict or len({of}) != {len(keys)}: return None")
                return self.children(f"{of}.values()", len(keys))
            case T.LIST:
                n = next(self.tokens)
                self.lines.append(f"if type({of}) is not list or len({of}) != {n}: return None")
                return self.children(of, n)
            case T.CONST:
                self.lines.append(f"if {of} != {self.name(next(self.tokens))}: return None")
            case T.OBJECT:
                return self.object(of, next(self.tokens), next(self.tokens))
            case _:
                return False
        return True

    def children(self, of: str, n: int) -> bool:
        parts = self.fresh(n)
        if n:
            self.lines.append(f"{''.join(f'{part}, ' for part in parts)}= {of}")
        at = next(self.tokens)
        for i, part in enumerate(parts):
            if i != at:
                self.leaves.append(part)
                continue
            if not self.node(part, next(self.tokens)):
                return False
            at = next(self.tokens)
        return True

    def object(self, of: str, plan: Plan, slots: tuple[str, ...]) -> bool:
        if len(slots) != len(plan.slots):
            return False
        self.lines.append(f"if type({of}) is not {self.name(plan.cls)}: return None")
        parts = [f"{of}.__dict__"] if plan.set_dict is not None else []
        parts += [f"{self.name(getter)}({of})" for _, getter, _ in plan.slots]
        for part in parts:
            (name,) = self.fresh(1)
            self.lines.append(f"{name} = {part}")
            if not self.node(name, next(self.tokens)):
                return False
        return True
