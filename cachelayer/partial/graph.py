"""The graph of what answers were built from, read off their tags; which version of a document is known. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..keep.parts import MARK, SCOPES, parts_of, read

VERSIONS = 65_536
"""Documents whose version is remembered; the least recently seen go first."""
DEPTH = 32


@dataclass(frozen=True, slots=True)
class Node:
    """Something that an answer was built from, and what that was built from in turn. `str()` draws the tree."""

    kind: str
    """'document', 'corpus', 'tool', 'prompt', 'answer', or 'anything' where parts were too many to tell apart."""
    name: str
    """Of a document `corpus/id`, of an answer its function."""
    version: Any = None
    parts: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        version = "" if self.version is None else f" (version {self.version})"
        yield f"{'  ' * depth}{self.kind} {self.name}{version}"
        for part in self.parts:
            yield from part._lines(depth + 1)

    def leaves(self) -> set[tuple[str, str]]:
        """(kind, name) of all parts that were built from nothing else."""
        if not self.parts:
            return {(self.kind, self.name)}
        return set().union(*(part.leaves() for part in self.parts))


Look = Callable[[int], tuple[str, Iterable[str]] | None]
"""(function, tags) of the answer under a digest; None if it is not held any more."""


def tree(function: str, tags: Iterable[str], look: Look, version: Callable[[str], Any]) -> Node:
    """The tree of an answer: its tags name all parts, those of answers among them are drawn under these."""
    return Node("answer", function, None, _parts(tags, look, version, frozenset()))


def _parts(
    tags: Iterable[str], look: Look, version: Callable[[str], Any], above: frozenset[str]
) -> tuple[Node, ...]:
    own = dict.fromkeys(tag for tag in parts_of(tags) if tag[1] not in SCOPES)
    inner: dict[str, Node] = {}
    deeper: set[str] = set()
    for tag in own:
        if not tag.startswith(MARK + "n") or tag in above or len(above) > DEPTH:
            continue
        held = look(int(tag[2:], 16))
        if held is None:
            inner[tag] = Node("answer", tag[2:10])
            continue
        name, theirs = held
        deeper.update(parts_of(theirs))
        inner[tag] = Node("answer", name, None, _parts(theirs, look, version, above | {tag}))
    nodes = []
    for tag in own:
        if tag in deeper and tag in own and not _only_here(tag, inner):
            continue
        nodes.append(inner[tag] if tag in inner else Node(*read(tag), version(tag)))
    return tuple(nodes)


def _only_here(tag: str, inner: dict[str, Node]) -> bool:
    """Whether a part that answers below have too is not drawn with them (their tags were coarser)."""
    kind, name = read(tag)
    return kind != "answer" and all((kind, name) not in node.leaves() for node in inner.values())


def _same(one: Any, other: Any) -> bool:
    """Whether two versions are one; NaN and NA, which columns of tables have for what is missing, are themselves."""
    if str(one) == str(other):
        return True
    with suppress(TypeError, ValueError):
        return bool(one == other)
    return False


class Versions:
    """The version of each document that was seen last, by tenant. Bounded; what was forgotten is new again.

    Tenants may share a document, or have their own under one id. A change is taken for everybody's, since what was
    built on the old version must go; then those who saw that old version, too, are taken to have seen the new one.
    """

    def __init__(self, most: int = VERSIONS) -> None:
        self._most, self._held = most, 0
        self._seen: OrderedDict[str, OrderedDict[str | None, _Seen]] = OrderedDict()

    def get(self, tag: str, tenant: str | None = None) -> Any:
        """The version that a tenant saw last, else anybody; None if none is known."""
        seen = self._seen.get(tag)
        return None if not seen else seen.get(tenant, seen[next(reversed(seen))]).version

    def see(self, tag: str, version: Any, tenant: str | None = None) -> bool:
        """Note a version; True if it differs from the one before, so that what was built on that is outdated."""
        if version is None:
            return False
        seen = self._seen.setdefault(tag, OrderedDict())
        self._seen.move_to_end(tag)
        old, known = self.get(tag, tenant), seen.get(tenant)
        changed = old is not None and not _same(old, version)
        if changed and known is not None and known.itself:
            for other, theirs in list(seen.items()):
                if _same(theirs.version, old):
                    seen[other] = _Seen(version, itself=False)
        self._held += known is None
        seen[tenant] = _Seen(version, itself=True)
        seen.move_to_end(tenant)
        while self._held > self._most:
            self._held -= len(self._seen.popitem(last=False)[1])
        return changed

    def forget(self, tags: Iterable[str]) -> None:
        """Documents that were invalidated: any version is news."""
        for tag in tags:
            self._held -= len(self._seen.pop(tag, ()))


@dataclass(frozen=True, slots=True)
class _Seen:
    """`itself`: in what a tenant retrieved, not by what another did."""

    version: Any
    itself: bool
