"""Reads what models answer, as dicts or as objects, whole or as the list of a stream's chunks.

Known are OpenAI's chat, completions and responses bodies, Anthropic's messages, LangChain's messages. Of other forms it
is read why they ended, and whether they say anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .deltas import read_delta
from .events import response_in, tells_its_end
from .fields import Fields, fields, given, word
from .finish_reasons import BROKEN, end_of, said_in, said_within
from .reply import Call, Reply
from .silence import silent, unanswered
from .usage import counts_in, counts_of, number

_MARKS = frozenset({"choices", "content", "error", "generations", "object", "output"})
_SAID = {
    "choices": "created", "content": "stop_reason", "output": "incomplete_details", "message": "finish_reason",
}  # fmt: skip
"""Where OpenAI's, Anthropic's and Cohere's answers say what they say, and what they have beside it."""
_LAST = 4
"""Events at the end of a stream; one of them says why it ended."""
_GENERATIONS = frozenset({"Generation", "GenerationChunk", "ChatGeneration", "ChatGenerationChunk"})
_COUNTS = (("total_tokens",), ("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"),
           ("total_token_count",), ("totalTokenCount",), ("totalTokens",),
           ("prompt_eval_count", "eval_count"))  # fmt: skip


def read(answer: Any) -> Reply | None:
    """What `answer` says, or None if it looks like nothing that a model's API returns."""
    if isinstance(answer, list | tuple):
        if answer and word(fields(answer[0]), "type") in _GENERATIONS:
            return _read_generations(answer)
        return _read_stream(answer) if any(map(_is_chunk, answer[:3])) else _read_events(answer)
    if isinstance(answer, BaseException):
        return Reply(failed=True)
    of = fields(answer)
    if _MARKS.isdisjoint(of):
        return _read_other(of)
    if isinstance(made := of.get("generations"), list):
        reply = _read_generations([x for part in made for x in (part if isinstance(part, list) else [part])])
        reply.tokens = reply.tokens or _tokens(fields(of.get("llm_output")))
        return reply
    return _read_whole(of) or _read_other(of)


def tokens(answer: Any) -> int:
    """Tokens the answer says it took."""
    if isinstance(answer, list | tuple):
        generations = bool(answer) and word(fields(answer[0]), "type") in _GENERATIONS
    else:
        generations = fields(answer).get("generations") is not None
    if not generations:
        return _sum(counts_in(answer))
    reply = read(answer)
    return 0 if reply is None else reply.tokens


def ordinary(answer: Any) -> bool:
    """Whether this is a whole chat reply of which every choice ended with "stop" and says something.

    Nine replies in ten are; True spares the reading.
    """
    of = fields(answer)
    choices = of.get("choices")
    if type(choices) is not list or not choices or of.get("error") is not None:
        return False
    for choice in choices:
        held = fields(choice)
        message = fields(held.get("message"))
        content, end = message.get("content"), held.get("finish_reason")
        if type(content) is not str or not content or content.isspace():
            return False
        if type(end) is not str or end != "stop" or message.get("refusal") is not None or _is_error(held):
            return False
    return True


def _read_whole(of: Fields) -> Reply | None:
    reply = Reply(failed=_is_error(of))
    if isinstance(choices := of.get("choices"), list) and _are_choices(of, choices):
        _read_choices(reply, choices)
        reply.tells_ends = any("finish_reason" in fields(choice) for choice in choices)
    elif word(of, "object") == "response" and isinstance(output := of.get("output"), list):
        _read_response(reply, of, output)
    elif _is_message(of):
        _read_message(reply, of)
    elif not reply.failed and not _has_none(of):
        return None
    reply.tokens = _tokens(of)
    return reply


def _read_events(events: list[Any] | tuple[Any, ...]) -> Reply | None:
    """Whether and why a stream in another form ended; None for any other list."""
    if not events:
        return None
    if all(_has_none(fields(event)) for event in events):
        return Reply()
    whole = response_in(events)
    reply = _read_ends(events[-_LAST:]) if whole is None else _read_whole(whole)
    cut = reply is None and tells_its_end(events)
    return Reply(ends={0: None}, tells_ends=True, other=True) if cut else reply


def _read_ends(parts: Iterable[Any]) -> Reply | None:
    """Why an answer in another form ended, by itself or the last events of its stream; None if it does not say."""
    said = [reason for part in parts for reason in said_within(fields(part))]
    if not said:
        return None
    return Reply(ends=dict(enumerate(map(end_of, said))), refused="refusal" in said, other=True)


def _read_other(of: Fields) -> Reply | None:
    """Why a whole answer in another form ended, and whether it says anything."""
    reply = _read_ends([of]) or (Reply() if unanswered(of) or _has_none(of) else None)
    if reply is not None:
        reply.other = not silent(of)
    return reply


def _has_none(of: Fields) -> bool:
    """Whether what a model's answer says is null: so Google's server says that it blocked the question, and so clients
    read any other JSON, as {"detail": "not found"}: they make their object of it, and check nothing."""
    if "choices" in of and of["choices"] is None and _are_choices(of, []):
        return True
    return any(said in of and of[said] is None and beside in of for said, beside in _SAID.items())


def _are_choices(of: Fields, choices: list[Any]) -> bool:
    if word(of, "object").startswith(("chat.", "text_completion")):
        return True
    first = fields(choices[0]) if choices else {}
    return "finish_reason" in first or any(first.get(name) is not None for name in ("message", "delta"))


def _is_message(of: Fields) -> bool:
    """A message of Anthropic's API or of LangChain."""
    if of.get("content") is None:
        return False
    return word(of, "role") == "assistant" or isinstance(of.get("response_metadata"), dict)


def _is_error(of: Fields) -> bool:
    error = of.get("error")
    if error is None:
        return word(of, "object") == "error"
    if isinstance(error, str):
        return bool(error)
    details = fields(error)
    return any(details.get(name) is not None for name in ("message", "code", "type"))


def _tokens(of: Fields) -> int:
    return _sum(counts_of(of))


def _sum(counted: Fields) -> int:
    for names in _COUNTS:
        if counts := [n for name in names if (n := number(counted.get(name)))]:
            return sum(counts)
    return 0


def _is_chunk(first: Any) -> bool:
    of = fields(first)
    kind = word(of, "object")
    if kind.endswith(".chunk") or kind == "text_completion" or word(of, "type") == "AIMessageChunk":
        return True
    choices = of.get("choices")
    return isinstance(choices, list) and bool(choices) and fields(choices[0]).get("delta") is not None


def _read_stream(chunks: Iterable[Any]) -> Reply:
    reply = Reply(tells_ends=True)
    for chunk in chunks:
        if type(chunk) is dict and read_delta(reply, chunk):
            continue
        of = fields(chunk)
        if isinstance(choices := of.get("choices"), list):
            _read_choices(reply, choices)
        elif _is_message(of):
            _read_message(reply, of)
            reply.tells_ends = False  # not every provider behind LangChain says how a stream ended
        reply.failed = reply.failed or _is_error(of)
        reply.tokens = _tokens(of) or reply.tokens
    return reply


def _read_generations(generations: list[Any] | tuple[Any, ...]) -> Reply:
    reply = Reply()
    for index, generation in enumerate(generations):
        of = fields(generation)
        message = of if of.get("message") is None else fields(of["message"])
        _read_message(reply, message, index)
        _end(reply, index, word(fields(of.get("generation_info")), "finish_reason"))
        reply.tokens += _tokens(message)
    return reply


def _read_choices(reply: Reply, choices: list[Any]) -> None:
    for place, choice in enumerate(choices):
        of = fields(choice)
        index = i if isinstance(i := of.get("index"), int) else place
        message = given(of, "message")
        message = of.get("delta") if message is None else message
        _read_body(reply, index, of if message is None else fields(message))
        _end(reply, index, word(of, "finish_reason"))
        reply.failed = reply.failed or _is_error(of)


def _end(reply: Reply, index: int, reason: str) -> None:
    if reason or index not in reply.ends:
        reply.ends[index] = end_of(reason)
    reply.refused = reply.refused or reason == "refusal"


def _read_body(reply: Reply, index: int, of: Fields) -> None:
    pieces = reply.texts.setdefault(index, [])
    for name in ("content", "text"):
        content = of.get(name)
        if isinstance(content, str):
            pieces.append(content)
        elif isinstance(content, list):
            _read_parts(reply, pieces, content)
    if given(of, "refusal") is not None or given(fields(of.get("additional_kwargs")), "refusal") is not None:
        reply.refused = True
    if given(of, "audio") is not None or given(of, "images") is not None:
        reply.other = True
    called = given(of, "tool_calls")
    called = given(of, "function_call") if called is None else called
    if called is not None:
        for place, call in enumerate(called if isinstance(called, list) else [called]):
            _read_call(reply, index, place, call)


def _read_call(reply: Reply, index: int, place: int, call: Any) -> None:
    of = fields(call)
    function = of if given(of, "function") is None else fields(of["function"])
    at = i if isinstance(i := of.get("index"), int) else place
    made = reply.calls.setdefault((index, at), Call())
    made.name += word(function, "name")
    for name in ("arguments", "args", "input"):
        passed = function.get(name)
        if isinstance(passed, str):
            made.text += passed
        elif passed is not None:
            made.arguments = passed


def _read_parts(reply: Reply, pieces: list[str], parts: list[Any]) -> None:
    for part in parts:
        of = fields(part)
        kind, text = word(of, "type"), of.get("text")
        if isinstance(part, str) or isinstance(text, str):
            pieces.append(part if isinstance(part, str) else str(text))
        elif kind == "tool_use":
            _read_call(reply, 0, len(reply.calls), part)
        elif kind == "refusal":
            reply.refused = True
        elif kind not in ("thinking", "reasoning", "redacted_thinking"):
            reply.other = True


def _read_message(reply: Reply, of: Fields, index: int = 0) -> None:
    _read_body(reply, index, of)
    metadata = fields(of.get("response_metadata"))
    _end(reply, index, word(of, "stop_reason") or said_in(metadata))


def _read_response(reply: Reply, of: Fields, output: list[Any]) -> None:
    """The body of OpenAI's Responses API."""
    pieces = reply.texts.setdefault(0, [])
    for item in output:
        part = fields(item)
        kind, content = word(part, "type"), part.get("content")
        if kind == "message" and isinstance(content, list):
            _read_parts(reply, pieces, content)
        elif kind.endswith("_call"):
            _read_call(reply, 0, len(reply.calls), item)
    status = word(of, "status")
    reply.failed = reply.failed or status == "failed"
    if status == "incomplete":
        reason = word(fields(of.get("incomplete_details")), "reason") or "length"
        _end(reply, 0, reason if end_of(reason) in ("length", "content_filter") else BROKEN)
    elif status in ("in_progress", "queued", "cancelled"):
        reply.tells_ends = True  # not ended: as a stream without its last chunk
        _end(reply, 0, "")
