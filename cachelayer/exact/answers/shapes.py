"""Constructors compiled from the shape of an answer.

The answers of one function nearly always have the same keys and nesting. Building such a value from a tuple
of its leaves by one compiled display is faster than parsing any text and many times faster than
`copy.deepcopy`, and an entry then holds its leaves only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...flow import forks
from .extractors import Extractor, extractor
from .kinds import Plan
from .tokens import Shape, T, compiled

Thaw = Callable[[Any], Any]
MAX_TOKENS = 256
LARGE = 24
"""Keys beyond which a dict is no part of a shape."""
_CREDIT = 16.0
_REFILL = 1 / 32


class Made:
    """What was compiled for one shape."""

    __slots__ = ("extractor", "thaw", "used")

    def __init__(self, thaw: Thaw) -> None:
        self.thaw = thaw
        """Leaves -> a fresh value."""
        self.extractor: Extractor | None = None
        """Value -> leaves; made when the shape is met again."""
        self.used = False


class Shapes:
    """Compiled functions by shape, the least recently met forgotten beyond `capacity`. Thread-safe.

    Compiling costs some 0.1 to 3 ms. So that a function whose answers never repeat a shape does not pay that
    for each one, compiling is on credit: 16 to begin with and at most, one more for every 32 answers met.
    """

    def __init__(self, deep: Thaw, capacity: int = 256) -> None:
        self.capacity = capacity
        self._deep = deep
        self._credit = _CREDIT
        self._lock = forks.lock()
        self._known: dict[Shape, Made] = {}

    def __len__(self) -> int:
        return len(self._known)

    def made(self, shape: Shape, *, fresh: bool = True) -> tuple[Made | None, bool]:
        """What is compiled for this shape, None if compiling it would not pay; and whether it was just now.

        Nothing is compiled where `fresh` is False.
        """
        if len(shape) > MAX_TOKENS:
            return None, False
        with self._lock:
            self._credit = min(self._credit + _REFILL, _CREDIT)
            made = self._known.pop(shape, None)
            worked = False
            if made is None:
                if self._credit < 1 or not fresh:
                    return None, False
                self._credit -= 1
                made, worked = self._make(shape), True
            elif fresh and not made.used:
                made.used = worked = True
                made.extractor = extractor(shape)
            self._known[shape] = made
            return made, worked

    def _make(self, shape: Shape) -> Made:
        writer = _Writer(shape, self._deep)
        if len(self._known) >= self.capacity:
            del self._known[next(iter(self._known))]
        return Made(compiled(writer.source(), writer.names))


class _Writer:
    """Turns the tokens of one shape into the source of its constructor."""

    def __init__(self, shape: Shape, deep: Thaw) -> None:
        self.tokens: Iterator[Any] = iter(shape)
        self.names: dict[str, Any] = {
            "__builtins__": {},
            "tuple_new": tuple.__new__,
            "deep": deep,
        }
        self.leaves = 0
        self.lines: list[str] = []

    def source(self) -> str:
        result = self.node(next(self.tokens))
        given = "".join(f"v{i}, " for i in range(self.leaves))
        unpack = [f"{given}= v"] if given else []
        return "\n ".join(["def thaw(v):", *unpack, *self.lines, f"return {result}"])

    def leaf(self) -> str:
        self.leaves += 1
        return f"v{self.leaves - 1}"

    def name(self, value: object) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def node(self, token: int) -> str:
        """The expression for the node that begins with `token`; statements it needs go to `lines`."""
        match token:
            case T.LEAF:
                return self.leaf()
            case T.COPY:
                return f"{self.leaf()}.copy()"
            case T.DEEP:
                return f"deep({self.leaf()})"
            case T.ROWS:
                return f"[x if f is None else f(x) for x, f in {self.leaf()}]"
            case T.EACH:
                return f"{{k: x if f is None else f(x) for k, x, f in {self.leaf()}}}"
            case T.CONST:
                return f"{self.name(set(next(self.tokens)))}.copy()"
            case T.OBJECT:
                return self.object(next(self.tokens), next(self.tokens))
            case _:
                return self.container(token)

    def container(self, token: int) -> str:
        match token:
            case T.DICT:
                keys = [repr(key) for key in next(self.tokens)]
                return self.display(keys, self.children(len(keys)))
            case T.KEYED:
                n = next(self.tokens)
                return self.display([self.leaf() for _ in range(n)], self.children(n))
            case T.LIST:
                return f"[{self.joined(next(self.tokens))}]"
            case T.TUPLE:
                return f"({self.joined(next(self.tokens))})"
            case _:
                return f"tuple_new({self.name(next(self.tokens))}, ({self.joined(next(self.tokens))}))"

    def display(self, keys: list[str], values: list[str]) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in zip(keys, values, strict=True)) + "}"

    def joined(self, n: int) -> str:
        return "".join(f"{child}, " for child in self.children(n))

    def children(self, n: int) -> list[str]:
        """Expressions for n children in order; reads the END."""
        made = []
        at = next(self.tokens)
        for i in range(n):
            if i == at:
                made.append(self.node(next(self.tokens)))
                at = next(self.tokens)
            else:
                made.append(self.leaf())
        return made

    def object(self, plan: Plan, slots: tuple[str, ...]) -> str:
        setters = {name: setter for name, _, setter in plan.slots}
        parts = [] if plan.set_dict is None else [(self.name(plan.set_dict), self.node(next(self.tokens)))]
        parts += [(self.name(setters[slot]), self.node(next(self.tokens))) for slot in slots]
        made = f"m{len(self.lines)}"
        self.lines.append(f"{made} = {self.name(plan.new)}({self.name(plan.cls)})")
        self.lines += [f"{setter}({made}, {part})" for setter, part in parts]
        return made
