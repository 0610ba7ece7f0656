"""What an answer is built from: documents, tools, prompts, corpora and other answers, noted while it is made.

A part is a tag of a special kind, and an answer carries the tags of all its parts, including its parts' parts, and
those that their owners gave them. So the graph takes no space beyond the entries, disappears and travels with them,
and one invalidated tag invalidates all dependants, in every process. Nor is an answer fresh for longer than its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from math import inf
from typing import Final

from ..exact.memory.slot import Slot
from ..flow.attempt import Faults
from ..types import PART
from .call import Call, Function, Landing, Tags
from .scope import Build, Scope, around, making
from .terms import own_tags

KINDS: Final = {"d": "document", "c": "corpus", "t": "tool", "p": "prompt", "n": "answer"}
SCOPES: Final = frozenset("fo")
"""Kinds of tags that stand for a function or an owner, whose answers were used: no parts of their own."""
MARK: Final = PART
ANYTHING: Final = MARK + "*"
"""Carried by answers with very many parts in place of them all; invalidated whenever any part is."""
BUILT: Final = tuple(MARK + kind for kind in "fon*")  # how tags begin that only what was built on others has
MOST: Final = 256
"""Most parts of one answer that are told apart."""
SEPARATOR: Final = "\x1f"
UNDATED: Final = 1 << 62
"""The epoch of a part for which it does not matter when it was read."""


def document_tag(corpus: str, id: str) -> str:
    """The tag of a document, whatever its version."""
    return f"{MARK}d{corpus}{SEPARATOR}{id}"


def corpus_tag(name: str) -> str:
    """The tag of all that was retrieved from a corpus."""
    return f"{MARK}c{name}"


def tool_tag(name: str) -> str:
    return f"{MARK}t{name}"


def prompt_tag(name: str) -> str:
    return f"{MARK}p{name}"


def function_tag(name: str) -> str:
    """The tag of all that used answers of a function."""
    return f"{MARK}f{name}"


def tenant_tag(name: str) -> str:
    """The tag of all that was made for others, or for nobody, and used answers of a tenant's."""
    return f"{MARK}o{name}"


def answer_tag(digest: int) -> str:
    """The tag of another answer that was used."""
    return f"{MARK}n{digest.to_bytes(16).hex()}"


def digest_of(tag: str) -> int | None:
    """The digest in the tag of another answer that was used; None in any other tag."""
    return int(tag[2:], 16) if tag.startswith(MARK + "n") else None


def built_on(digest: int) -> frozenset[str]:
    """The tags of all that used the answer under a digest."""
    return frozenset((answer_tag(digest), ANYTHING))


def parts_of(tags: Iterable[str]) -> tuple[str, ...]:
    """The parts among an entry's tags."""
    return tuple(tag for tag in tags if tag.startswith(MARK))


def read(tag: str) -> tuple[str, str]:
    """(kind, name) of a part, for people; a document's name is `corpus/id`."""
    kind = KINDS.get(tag[1:2], "anything")
    return kind, tag[2:].replace(SEPARATOR, "/")


class Noting:
    """Notes parts in the context that makes an answer."""

    def __init__(
        self, scope: ContextVar[Scope | None], gone: Callable[[Mapping[str, int]], Mapping[str, int]]
    ) -> None:
        self.scope, self._gone = scope, gone
        """Whose a call is, and what is being made around it; which of parts were invalidated after they were read."""

    @property
    def tenant(self) -> str | None:
        """For whom something is made here."""
        scope = self.scope.get()
        return None if scope is None else scope.tenant

    def begin(self, call: Call) -> Token[Scope | None]:
        """What is used from here on is noted for `call`.

        What was used before is part of it too where its arguments need not say so: where it is compared by meaning, or
        where no answer is being made around it.
        """
        build, parent, function = Build(call.tenant), call.parent, call.function
        call.build = build
        if parent is not None and (function.similar or parent.ambient):
            self.inherit(call, parent)
            _merge(build, parent)
        return self.scope.set(making(self.scope.get(), build))

    def end(self, build: Build | None, token: Token[Scope | None]) -> None:
        """Back to what was noted before: the function returned, be it a stream that notes more as it is read."""
        assert build is not None
        build.makers -= 1
        try:
            self.scope.reset(token)
        except ValueError:
            return  # the collector ends what a closed loop left, in another context

    def inherit(self, call: Call, context: Build) -> None:
        """Let `call`, made of what was read in a context, be one from before it was invalidated, where it was since.

        Once: what is made there later was not asked for it, and the context may be that of a loop that runs for ever.
        """
        _bound(context)
        if gone := self._gone(all_parts(context)) if context.ambient else {}:
            call.epoch = min(call.epoch, *gone.values())
            context.parts.update(dict.fromkeys(gone, UNDATED))

    def note(self, tags: Iterable[str], since: int = UNDATED, ends: float = inf) -> None:
        """Something was used, by the answer made here, else by all that are made later in this context.

        `since`: the epoch in which it began to be read. `ends`: when it is no longer fresh, monotonic seconds.
        """
        scope = self.scope.get()
        if (build := around(scope)) is None:
            build = Build(ambient=True)
            self.scope.set((scope or Scope())._replace(build=build, direct=False))
        build.parts.update(dict.fromkeys(tags, since))
        build.ends = min(build.ends, ends)
        _bound(build)

    def aside(self) -> Build:
        """A new place to note what a step uses; its wrapper decides what of it to `pass_on`."""
        build = around(self.scope.get())
        return Build(self.tenant if build is None else build.tenant)

    @contextmanager
    def apart(self) -> Iterator[Build]:
        """What is used within is noted in what this yields."""
        used = self.aside()
        token = self.scope.set(making(self.scope.get(), used))
        try:
            yield used
        finally:
            self.end(used, token)

    @contextmanager
    def step(self, since: int, *, pure: bool) -> Iterator[None]:
        """What is used within is passed on, also where it fails; see `pass_on`."""
        try:
            with self.apart() as used:
                yield
        finally:
            self.pass_on(used, since, pure=pure)

    def pass_on(self, used: Build, since: int, *, besides: Collection[str] = (), pure: bool = False) -> None:
        """What is made here, or later, used all this, which began to be read in the epoch `since`.

        `besides`: without these parts. `pure`: what holds for ever, however long it is kept.
        """
        tags = [tag for tag in all_parts(used) if tag not in besides]
        self.note(tags, since, inf if pure else end_of(used))
        if used.streams and (build := around(self.scope.get())) is not None:
            build.streams.update(used.streams)  # what they use while they are read


def take_kept(scope: Scope, function: Function, slot: Slot) -> None:
    """`take` for an answer that a raw form led to, in a context in which another answer is being made."""
    build = scope.build
    if build is None or not build.makers:
        return
    if slot.ends < build.ends:
        build.ends = slot.ends
    _use(build, function, scope.tenant, slot.digest, slot.tags, UNDATED)


def take(build: Build, call: Call, landing: Landing, faults: Faults) -> None:
    """Another cached answer was used: its parts are parts of this one, its tags are too, and so is it."""
    inner = landing.build
    if (slot := landing.slot) is not None:
        build.ends = min(build.ends, slot.ends)
        if slot.digest != call.digest:  # another request's answer
            build.parts[answer_tag(slot.digest)] = call.since
        _use(build, call.function, call.tenant, call.digest, slot.tags, call.since)
        return
    if inner is not None and _under_way(inner):
        build.streams[inner] = None
    elif inner is not None:
        _merge(build, inner)
    _use(build, call.function, call.tenant, call.digest, own_tags(call, faults), call.since)
    if landing.digest != call.digest:  # of another request, and under way
        _use(build, call.function, call.tenant, landing.digest, landing.tags, call.since)


def take_failure(call: Call, faults: Faults) -> None:
    """A cached function failed: what is made of that goes with what the failure came of; with anything where somebody
    else made the call, since that is not known here."""
    if (build := call.parent) is None:
        return
    if call.build is not None:
        _merge(build, call.build)
    elif call.reason is None:
        build.parts[ANYTHING] = UNDATED
    _use(build, call.function, call.tenant, call.digest, own_tags(call, faults), call.since)


def made_of(tags: Iterable[str], ends: float) -> Build:
    """What an answer was built from that is not in memory, by the tags of its entry in the store."""
    build = Build()
    build.parts, build.ends = {tag: UNDATED for tag in tags if not tag.startswith("\0")}, ends
    return build


def _use(build: Build, function: Function, tenant: str | None, digest: int, tags: Tags, since: int) -> None:
    """Note an answer that was used: its tags, and those by which it is declared invalid. `digest`: 0 without a key."""
    parts = build.parts
    parts[function_tag(function.name)] = since
    if digest:
        parts[answer_tag(digest)] = since
    if tenant is not None and tenant != build.tenant:
        parts[tenant_tag(tenant)] = since
    if tags and isinstance(tags, tuple):
        for tag in tags:
            parts[tag] = since
    if build.ambient or len(parts) > MOST:
        _bound(build)


def _merge(build: Build, used: Build) -> None:
    build.parts.update(all_parts(used))
    build.ends = min(build.ends, end_of(used))


def _bound(build: Build) -> None:
    """Too many parts to tell apart become ANYTHING; of a mere context the latest are remembered."""
    for one in list(build.streams):  # here and below other threads may note more, and forget the same
        if not _under_way(one):
            _merge(build, one)
            build.streams.pop(one, None)
    if build.ambient:
        for tag in list(build.parts)[:-MOST]:
            build.parts.pop(tag, None)
    elif len(build.parts) > MOST:
        build.parts = {ANYTHING: UNDATED}


def all_parts(build: Build) -> dict[str, int]:
    """All parts of an answer in the making, those of streams that it reads included."""
    found: dict[str, int] = {}
    for one in _with_streams(build):
        found.update(one.parts)  # in one step, while other threads note more
    return found


def end_of(build: Build) -> float:
    """When the first of these parts is no longer fresh, monotonic seconds."""
    return inf if build.ambient else min([one.ends for one in _with_streams(build)])


def _under_way(build: Build) -> bool:
    return any(one.makers for one in _with_streams(build))


def _with_streams(build: Build) -> Iterator[Build]:
    todo, seen = [build], {id(build)}
    while todo:
        one = todo.pop()
        yield one
        for inner in list(one.streams):
            if id(inner) not in seen:
                seen.add(id(inner))
                todo.append(inner)


def tags_with(tags: tuple[str, ...], build: Build) -> tuple[str, ...]:
    """An entry's own tags and those of its parts."""
    found = all_parts(build)
    if not found:
        return tags
    many = len(found) > MOST or ANYTHING in found
    return (*tags, ANYTHING) if many else tuple(dict.fromkeys((*tags, *found)))
