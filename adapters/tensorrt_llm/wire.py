"""OpenAI-style JSON to events and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from .errors import ProtocolFault
from .events import Delta, End, Event, Start, Usage
from .request import Request


def usage_of(body: Mapping[str, Any]) -> Usage:
    """A usage object; a missing count or `prompt_tokens_details` stays unknown."""
    details = body.get("prompt_tokens_details") or {}
    counts = body.get("prompt_tokens"), body.get("completion_tokens"), details.get("cached_tokens")
    return Usage(*(count if isinstance(count, int) else None for count in counts))


def start_of(body: Mapping[str, Any]) -> Start:
    return Start(str(body.get("id", "")), str(body.get("model", "")), int(body.get("created") or 0))


def delta_of(choice: Mapping[str, Any]) -> Delta | None:
    """One choice of a chunk or of a whole answer; None if it says nothing (the role chunk)."""
    part = choice.get("delta") or choice.get("message")
    finish = choice.get("finish_reason") or None
    index = choice.get("index") or 0
    if part is None:
        text, reasoning, refusal, calls = choice.get("text") or "", "", "", None
    else:
        text, refusal = part.get("content") or "", part.get("refusal") or ""
        reasoning = part.get("reasoning_content") or part.get("reasoning") or ""  # the latter is newer vLLM's
        calls = part.get("tool_calls") or None
    if not (text or reasoning or refusal or calls or finish):
        return None
    if any(type(piece) is not str for piece in (text, reasoning, refusal)) or type(index) is not int:
        raise ProtocolFault(
            "the server's answer has a choice whose text is not a string, or whose index is not a number"
        )
    if calls and not all(map(_is_call, calls)):
        raise ProtocolFault("the server's answer has malformed tool calls")
    return Delta(
        index,
        text,
        reasoning,
        refusal,
        calls,
        finish,
        choice.get("stop_reason"),
        choice.get("logprobs"),
    )


def _is_call(call: Mapping[str, Any]) -> bool:
    arguments = (call.get("function") or {}).get("arguments") or ""
    return isinstance(arguments, str) and isinstance(call.get("index") or 0, int)


def events_of(body: Mapping[str, Any]) -> Iterator[Event]:
    """The events of a whole, non-streamed answer, without its End."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ProtocolFault("the server's answer has no choices")
    yield start_of(body)
    for choice in choices:
        if not isinstance(choice.get("message", choice.get("text")), Mapping | str):
            raise ProtocolFault("the server's answer has a choice without a message or a text")
        delta = delta_of(choice)
        if delta is not None:
            yield delta
    if body.get("usage"):
        yield usage_of(body["usage"])


def usage_body(usage: Usage) -> dict[str, Any]:
    """OpenAI's usage object; unknown counts are left out."""
    body: dict[str, Any] = {}
    if usage.prompt_tokens is not None:
        body["prompt_tokens"] = usage.prompt_tokens
    if usage.completion_tokens is not None:
        body["completion_tokens"] = usage.completion_tokens
    if len(body) == 2:
        body["total_tokens"] = body["prompt_tokens"] + body["completion_tokens"]
    if usage.cached_tokens is not None:
        body["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return body


class _Choice:
    """One choice of a whole answer, growing."""

    __slots__ = ("calls", "finish", "logprobs", "reasoning", "refusal", "stop", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.refusal: list[str] = []
        self.calls: dict[int, dict[str, Any]] = {}
        self.finish: str | None = None
        self.stop: str | int | None = None
        self.logprobs: Any = None

    def add(self, delta: Delta) -> None:
        self.text.append(delta.text)
        self.reasoning.append(delta.reasoning)
        self.refusal.append(delta.refusal)
        for position, call in enumerate(delta.tool_calls or ()):
            _merge_call(self.calls, position, call)
        self.finish = delta.finish_reason or self.finish
        self.stop = delta.stop_reason if delta.stop_reason is not None else self.stop
        self.logprobs = delta.logprobs if delta.logprobs is not None else self.logprobs

    def body(self, index: int, chat: bool) -> dict[str, Any]:
        text = "".join(self.text)
        choice: dict[str, Any] = {"index": index, "finish_reason": self.finish, "logprobs": self.logprobs}
        if self.stop is not None:
            choice["stop_reason"] = self.stop
        if not chat:
            return choice | {"text": text}
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if any(self.reasoning):
            message["reasoning_content"] = "".join(self.reasoning)
        if any(self.refusal):
            message["refusal"] = "".join(self.refusal)
        if self.calls:
            message["tool_calls"] = list(self.calls.values())
        if self.calls or "refusal" in message:
            message["content"] = text or None
        return choice | {"message": message}


def _merge_call(calls: dict[int, dict[str, Any]], position: int, part: Mapping[str, Any]) -> None:
    """Tool-call deltas name id and function once; later ones bring arguments only, with nulls elsewhere."""
    call = calls.setdefault(
        part.get("index", position),
        {"id": None, "type": "function", "function": {"name": None, "arguments": ""}},
    )
    function = part.get("function") or {}
    call["id"] = call["id"] or part.get("id")
    call["function"]["name"] = call["function"]["name"] or function.get("name")
    call["function"]["arguments"] += function.get("arguments") or ""


async def collect(events: AsyncGenerator[Event, None], request: Request) -> dict[str, Any]:
    """The whole answer, OpenAI-style."""
    choices: dict[int, _Choice] = {}
    start, usage = Start("", request.model or "", 0), None
    async with aclosing(events):
        async for event in events:
            match event:
                case Delta():
                    choices.setdefault(event.index, _Choice()).add(event)
                case Start():
                    start = event
                case Usage():
                    usage = event
                case End():
                    pass
    chat = request.messages is not None
    answer: dict[str, Any] = {
        "id": start.id,
        "object": "chat.completion" if chat else "text_completion",
        "created": start.created,
        "model": start.model,
        "choices": [choices[index].body(index, chat) for index in sorted(choices)],
    }
    if usage is not None and (counts := usage_body(usage)):
        answer["usage"] = counts
    return answer


async def chunks(
    events: AsyncGenerator[Event, None], request: Request
) -> AsyncGenerator[dict[str, Any], None]:
    """OpenAI-style chunks: the role first, then deltas, then usage where it was asked for."""
    chat = request.messages is not None
    start, kind = Start("", "", 0), "chat.completion.chunk" if chat else "text_completion"
    async with aclosing(events):
        async for event in events:
            if type(event) is Delta:
                yield _chunk(start, kind, [_chunk_choice(event, chat)])
            elif type(event) is Start:
                start = event
                for index in range(request.choices if chat else 0):
                    role = {"role": "assistant", "content": ""}
                    yield _chunk(start, kind, [{"index": index, "delta": role, "finish_reason": None}])
            elif type(event) is Usage and request.usage and (counts := usage_body(event)):
                yield _chunk(start, kind, []) | {"usage": counts}


def _chunk(start: Start, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": start.id,
        "object": kind,
        "created": start.created,
        "model": start.model,
        "choices": choices,
    }


class ChunkStream:
    """Chunks whose first one has already arrived, so that a refusal was raised where the call was awaited.

    An asynchronous iterator with `aclose`, which cancels on the server.
    """

    __slots__ = ("_first", "_rest")

    def __init__(self, first: dict[str, Any], rest: AsyncGenerator[dict[str, Any], None]) -> None:
        self._first: dict[str, Any] | None = first
        self._rest = rest

    def __aiter__(self) -> ChunkStream:
        return self

    def __anext__(self) -> Awaitable[dict[str, Any]]:
        return self._rest.__anext__() if self._first is None else self._pop(self._first)

    async def _pop(self, first: dict[str, Any]) -> dict[str, Any]:
        self._first = None
        return first

    async def aclose(self) -> None:
        await self._rest.aclose()


def _chunk_choice(delta: Delta, chat: bool) -> dict[str, Any]:
    if not chat:
        choice: dict[str, Any] = {
            "index": delta.index,
            "text": delta.text,
            "finish_reason": delta.finish_reason,
        }
    else:
        part: dict[str, Any] = {"content": delta.text} if delta.text else {}
        if delta.reasoning:
            part["reasoning_content"] = delta.reasoning
        if delta.refusal:
            part["refusal"] = delta.refusal
        if delta.tool_calls:
            part["tool_calls"] = delta.tool_calls
        choice = {"index": delta.index, "delta": part, "finish_reason": delta.finish_reason}
    if delta.logprobs is not None:
        choice["logprobs"] = delta.logprobs
    if delta.stop_reason is not None:
        choice["stop_reason"] = delta.stop_reason
    return choice
