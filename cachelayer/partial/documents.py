"""Documents as retrievers return them: how id, version and text are read, whatever their class. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from ..errors import ConfigurationError

Getter = str | Callable[[Any], Any]


class Reading:
    """Reads ids, versions and texts of documents: mappings, objects, or (document, score) pairs.

    A field that a document lacks is looked for in its `metadata`.
    """

    def __init__(self, name: str, id: Getter, version: Getter, content: Getter) -> None:
        self._name = name
        self._id, self.version = _getter("id", id), _getter("version", version)
        self._content = [_getter("content", one) for one in _alternatives(content)]

    def listed(self, result: Any) -> list[Any]:
        """What a retriever returned as a list. Raises ConfigurationError for what holds no documents."""
        if isinstance(result, str | bytes | Mapping) or not isinstance(result, Iterable):
            raise ConfigurationError(
                "retriever",
                self._name,
                f"it returned {'None' if result is None else f'one {type(result).__name__}'}: "
                "return a list of documents, an empty one where nothing was found",
            )
        return list(result)

    def ids(self, documents: Sequence[Any]) -> tuple[str, ...]:
        """Ids in order. Raises ConfigurationError for a missing or a duplicate one."""
        ids = tuple(self._id_of(document) for document in documents)
        if len(set(ids)) < len(ids):
            twice = next(id for place, id in enumerate(ids) if id in ids[:place])
            raise ConfigurationError(
                "retriever",
                self._name,
                f"it returned two documents with the id {twice!r}: give each its own, or name another field: id='key'",
            )
        return ids

    def text(self, document: Any) -> str | None:
        """What the document says; None if it does not tell."""
        if isinstance(document, str):
            return document
        read = (getter(document) for getter in self._content)
        return next((text for text in read if isinstance(text, str) and text), None)

    def _id_of(self, document: Any) -> str:
        id = self._id(document)
        if id is None or id == "":
            raise ConfigurationError(
                "retriever",
                self._name,
                "it returned a document without an id, so that nothing could be invalidated: give documents a field "
                "'id', or name theirs: id='source', or a function of a document",
            )
        return str(id)


def _alternatives(content: Getter) -> Sequence[Getter]:
    return ("text", "page_content", "content", "body") if content == "text" else (content,)


def _getter(field: str, getter: Getter) -> Callable[[Any], Any]:
    if callable(getter):
        return lambda document: getter(_bare(document))
    if not isinstance(getter, str) or not getter:
        raise ConfigurationError(field, getter, "name a field of the documents, or give a function of one")
    return lambda document: _field(_bare(document), getter)


def _bare(document: Any) -> Any:
    """The document of a (document, score) pair."""
    paired = type(document) in (tuple, list) and len(document) == 2 and isinstance(document[1], Real)
    return document[0] if paired else document


def _field(document: Any, name: str) -> Any:
    if isinstance(document, Mapping):
        found, inner = document.get(name), document.get("metadata")
    else:
        found, inner = getattr(document, name, None), getattr(document, "metadata", None)
    return inner.get(name) if found is None and isinstance(inner, Mapping) else found
