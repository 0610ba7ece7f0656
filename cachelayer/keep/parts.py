"""What an answer is built from: documents, tools, prompts, corpora and other answers, noted while it is made.

A part is a tag of a special kind, and an answer carries the tags of all its parts, including its parts' parts. So the
graph takes no space beyond the entries, disappears and travels with them, and one invalidated tag invalidates all
dependants, in every process. Pure but for the context variable that it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, Final, TypedDict

from ..errors import ConfigurationError
from ..policy import check_names, strings
from .call import Build, Call, Landing, Scope

KINDS: Final = {"d": "document", "c": "corpus", "t": "tool", "p": "prompt", "n": "answer"}
MARK: Final = "\x01"
ANYTHING: Final = MARK + "*"
"""Carried by answers with very many parts in place of them all; invalidated whenever any part is."""
MOST: Final = 256
"""Most parts of one answer that are told apart."""
SEPARATOR: Final = "\x1f"
UNDATED: Final = 1 << 62
"""The epoch of a part for which it does not matter when it was read."""
DEFAULT: Final = "default"
"""The corpus of documents for which none is named."""


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


def answer_tag(digest: int) -> str:
    """The tag of another answer that was used."""
    return f"{MARK}n{digest:032x}"


def parts_of(tags: Iterable[str]) -> tuple[str, ...]:
    """The parts among an entry's tags."""
    return tuple(tag for tag in tags if tag.startswith(MARK))


def read(tag: str) -> tuple[str, str]:
    """(kind, name) of a part, for people; a document's name is `corpus/id`."""
    kind = KINDS.get(tag[1:2], "anything")
    return kind, tag[2:].replace(SEPARATOR, "/")


class Noting:
    """Notes parts in the context that makes an answer. Off until something that has parts is used."""

    def __init__(
        self, scope: ContextVar[Scope | None], gone: Callable[[Mapping[str, int]], Mapping[str, int]]
    ) -> None:
        self.scope, self._gone = scope, gone
        """Whose a call is, and what is being made around it; which of parts were invalidated after they were read."""
        self.on = False

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
        build, around, function = Build(), call.parent, call.function
        call.build = build
        if around is not None and not function.closed and (function.similar or around.ambient):
            self.inherit(call, around)
            build.parts.update(all_parts(around))
        old = self.scope.get()
        made = (
            Scope(build=build)
            if old is None
            else Scope(old.tenant, old.principal, old.deadline, old.tightening, None, build)
        )
        return self.scope.set(made)

    def end(self, token: Token[Scope | None]) -> None:
        """Back to what was noted before."""
        self.scope.reset(token)

    def inherit(self, call: Call, around: Build) -> None:
        """Let `call`, made of what was read in a context, be one from before it was invalidated, where it was since.

        Once: what is made there later was not asked for it, and the context may be that of a loop that runs for ever.
        """
        gone = self._gone(dict(around.parts)) if around.ambient else {}
        if gone:
            call.epoch = min(call.epoch, *gone.values())
            around.parts.update(dict.fromkeys(gone, UNDATED))

    def note(self, tags: Iterable[str], since: int = UNDATED) -> None:
        """Something was used, by the answer made here, else by all that are made later in this context.

        `since`: the epoch in which it began to be read.
        """
        scope = self.scope.get()
        build = None if scope is None else scope.build
        if build is None:
            build, old = Build(ambient=True), scope or Scope()
            self.scope.set(Scope(old.tenant, old.principal, old.deadline, old.tightening, None, build))
        build.parts.update(dict.fromkeys(tags, since))
        _bound(build)


def take(build: Build, call: Call, landing: Landing) -> None:
    """Another cached answer was used: its parts are parts of this one, and so is it."""
    build.parts[answer_tag(call.digest)] = call.since
    if landing.slot is not None:
        build.parts.update(dict.fromkeys(parts_of(landing.slot.tags), call.since))
    elif landing.build is not None:
        build.streams.append(landing.build)
    _bound(build)


def _bound(build: Build) -> None:
    """Too many parts to tell apart become ANYTHING; of a mere context the latest are remembered."""
    if build.ambient:
        for streams in build.streams:
            build.parts.update(streams.parts)
        build.streams.clear()
        while len(build.parts) > MOST:
            del build.parts[next(iter(build.parts))]
    elif len(build.parts) > MOST:
        build.parts = {ANYTHING: UNDATED}


def all_parts(build: Build) -> dict[str, int]:
    """All parts of an answer in the making, those of streams that it reads included."""
    found, todo, seen = dict[str, int](), [build], {id(build)}
    while todo:
        one = todo.pop()
        found.update(one.parts)
        for inner in one.streams:
            if id(inner) not in seen:
                seen.add(id(inner))
                todo.append(inner)
    return found


def tags_with(tags: tuple[str, ...], build: Build) -> tuple[str, ...]:
    """An entry's own tags and those of its parts."""
    found: Any = all_parts(build)
    if not found:
        return tags
    return (*tags, ANYTHING) if len(found) > MOST or ANYTHING in found else (*tags, *found)


class Parts(TypedDict, total=False):
    """What answers are built from, as `layer.invalidate` and `layer.used` name it."""

    documents: Iterable[Any] | None
    corpus: str | None
    tools: Sequence[str]
    prompts: Sequence[str]


def tags_for(parts: Parts, *beside: str) -> list[str]:
    """The tags to declare where parts changed; ids of documents are whatever retrievers return as such.

    Raises ConfigurationError for what is no list or holds no names, and for other kinds of parts: it suggests the
    nearest name, also among those that stand `beside` the parts.
    """
    check_names("argument", {**parts}, [*Parts.__annotations__, *beside])
    documents, corpus = parts.get("documents"), parts.get("corpus")
    if corpus is not None:
        check_corpus(corpus)
    made = [document_tag(corpus or DEFAULT, id) for id in _ids(documents)]
    made += map(tool_tag, strings("tools", parts.get("tools", ()), empty=False))
    made += map(prompt_tag, strings("prompts", parts.get("prompts", ()), empty=False))
    if corpus is not None and documents is None:
        made.append(corpus_tag(corpus))
    return [*made, ANYTHING] if made else []


def check_corpus(corpus: Any) -> None:
    """Raise ConfigurationError for what does not name a corpus."""
    if not isinstance(corpus, str) or not corpus:
        raise ConfigurationError("corpus", corpus, "give a non-empty name; leave it out for 'default'")


def _ids(given: Iterable[Any] | None) -> list[str]:
    """As `Reading.ids` notes them. What has no hash is a document, not its id."""
    if given is None:
        return []
    lone = isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable)
    ids = [] if lone else list(given)
    if lone or not all(isinstance(id, Hashable) and id is not None and str(id) for id in ids):
        raise ConfigurationError("documents", given if lone else ids, "give a list of ids, even for one")
    return [str(id) for id in ids]
