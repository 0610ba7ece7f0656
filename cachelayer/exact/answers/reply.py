"""What a model's answer says, in whatever wire form it came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(slots=True)
class Call:
    """A tool call, put together from its pieces; its arguments as JSON text or already parsed."""

    name: str = ""
    text: str = ""
    arguments: Any = None

    def plain(self) -> list[Any]:
        """[name, arguments], the arguments parsed where they can be."""
        if self.arguments is not None:
            return [self.name, self.arguments]
        try:
            return [self.name, orjson.loads(self.text)]
        except orjson.JSONDecodeError:
            return [self.name, self.text]


@dataclass(slots=True)
class Reply:
    """What a model's answer says, wherever the format keeps it."""

    texts: dict[int, list[str]] = field(default_factory=dict)
    """Pieces of text by choice."""
    ends: dict[int, str | None] = field(default_factory=dict)
    """Why each choice ended, in OpenAI's words; None if it did not say."""
    calls: dict[tuple[int, int], Call] = field(default_factory=dict)
    """Tool calls by choice and place."""
    tokens: int = 0
    refused: bool = False
    failed: bool = False
    other: bool = False
    """Audio, images or the like are part of the answer."""
    tells_ends: bool = False
    """Whether a choice without a word why it ended has not: in streams, and in whole replies with a field for it."""

    @property
    def text(self) -> str:
        return "\n".join("".join(pieces) for _, pieces in sorted(self.texts.items()))

    @property
    def blank(self) -> bool:
        return not (self.calls or self.other or self.text.strip())
