"""Parts of answers as `layer.invalidate` and `layer.used` name them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict

from ..errors import ConfigurationError
from ..policy import check_names, strings
from .parts import corpus_tag, document_tag, prompt_tag, tool_tag

DEFAULT: Final = "default"
"""The corpus of documents for which none is named."""


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
    return made


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
