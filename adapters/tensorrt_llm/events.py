"""The one event sequence of every transport: Start, Delta*, Usage?, End."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol

from .request import Request


@dataclass(slots=True)
class Start:
    """The server took the request. Comes before any text and is not the first token."""

    id: str
    model: str
    created: int
    """Unix seconds."""


@dataclass(slots=True)
class Delta:
    """New text of one choice. `text` is never cumulative; it may be empty while a token waits for its
    rest."""

    index: int = 0
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: list[dict[str, Any]] | None = None
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    logprobs: Any = None


@dataclass(slots=True)
class Usage:
    """Token counts as far as the server gave them; None is unknown, which is not zero."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens whose KV blocks were reused."""
    queue_seconds: float | None = None
    """Engine time between arrival and first scheduling."""


@dataclass(slots=True)
class End:
    """The answer is complete. `reason` is one of `COMPLETE`; of several choices the weakest."""

    reason: str


Event = Start | Delta | Usage | End
COMPLETE = ("stop", "tool_calls", "length", "content_filter")
"""Finish reasons of an answer that ended as the server meant it to, best first. All others are errors."""


def weakest(reasons: list[str]) -> str:
    """The reason that says most against the answer: one truncated choice truncates the whole."""
    return max(reasons, key=COMPLETE.index, default="stop")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What `connect` found out about a server. Unknown is False: the adapter then does without."""

    kind: str
    """'trtllm-serve', 'openai', 'triton-ensemble', 'triton-llmapi' or 'local'."""
    version: str = ""
    models: tuple[str, ...] = ()
    chat: bool = False
    """The server applies the chat template itself."""
    streaming: bool = True
    salt: bool = False
    """A tenant salt reaches the engine's block keys."""
    retention: bool = False
    usage: bool = False
    priority: bool = False


class Transport(Protocol):
    """One server. Nothing is connected before `start`."""

    name: str

    async def start(self) -> Capabilities:
        """Find out what the server is. Raises Unavailable, or ConfigurationError where it cannot serve as
        asked."""

    def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Start, Delta*, Usage?, End, or a BackendError. Closing it early cancels on the server and frees
        the slot."""

    async def healthy(self) -> bool:
        """Whether the server takes requests. Never raises for one that cannot be reached."""

    async def aclose(self) -> None:
        """Close what is connected."""
