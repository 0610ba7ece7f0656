"""One Triton stream as events: texts, the last response's facts, and errors told as text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from .errors import (
    BackendError,
    Cancelled,
    DeadlineExceeded,
    Overloaded,
    ProtocolFault,
    RequestRejected,
    Unavailable,
)
from .events import Delta, End, Event, Usage
from .request import Request
from .tensors import HELD, Layout, TextDiff, decode, number


class Repetition:
    """Where the first tensor of a response stands, if the response begins like the one before it.

    All that precedes the tensors is the same in every response of a stream but the last, so that one comparison
    of bytes stands for parsing the message, which took longer than all else the adapter does for a token. The
    layout is protobuf's encoding (protobuf.dev/programming-guides/encoding): `infer_response` is field 2 of a
    ModelStreamInferResponse, `raw_output_contents` field 6 of it, and its last.
    """

    __slots__ = ("_head",)

    def __init__(self) -> None:
        self._head = b""

    def learn(self, data: bytes, response: Any) -> None:
        """Remember how `data`, of which `response` was parsed, begins; nothing where it is laid out otherwise."""
        tail = b"".join(b"\x32" + _varint(len(raw)) + raw for raw in response.raw_output_contents)
        size = response.ByteSize()
        outer = b"\x12" + _varint(size)
        known = (
            bool(tail) and data.startswith(outer) and data.endswith(tail) and len(data) == len(outer) + size
        )
        self._head = data[len(outer) : len(data) - len(tail)] + b"\x32" if known else b""

    def first_tensor(self, data: bytes) -> bytes | None:
        """The bytes of the first tensor, None if the response must be parsed."""
        at, head = 2, self._head
        while at < len(data) and data[at - 1] > 127:
            at += 1
        if not head or not data.startswith(head, at):
            return None
        at += len(head)
        size = shift = 0
        while data[at] > 127:
            size |= (data[at] & 127) << shift
            shift += 7
            at += 1
        size |= data[at] << shift
        return data[at + 1 : at + 1 + size]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


class TensorAnswer:
    """What one stream has said so far. A response is read for its text; the other tensors once, at the
    end."""

    __slots__ = (
        "_diff",
        "_echo",
        "_id",
        "_last",
        "_name",
        "_parse",
        "_parsed",
        "_repetition",
        "_request",
        "broken",
        "final",
        "misfit",
    )

    def __init__(
        self, layout: Layout, request: Request, prompt: str, name: str, parse: Callable[[bytes], Any]
    ) -> None:
        """`parse` reads a ModelStreamInferResponse."""
        self._request, self._id, self._name, self._parse = request, request.id, name, parse
        self._diff = TextDiff() if layout.cumulative else None
        self._echo = b"" if layout.excludes_prompt or request.stream else prompt.encode()
        self._repetition = Repetition()
        self._last = b""
        self._parsed: Any = None
        """`_last` as a message, where it was parsed."""
        self.final = self.broken = self.misfit = False

    def fault(self, code: str, said: str) -> BackendError:
        """The error for a status that the stream ended with, or for what it says while it is open (code "")."""
        self.misfit = any(words in said for words in MISFITS)
        return fault_of_answer(code, said, self._name, self._request, self.misfit)

    def feed(self, data: bytes) -> Delta | None:
        """The delta in a response as it came; an empty final has none."""
        raw = self._repetition.first_tensor(data)
        self._parsed = None
        if raw is None:
            raw = self._text_tensor(data)
            if raw is None:
                return None
        self._last = data
        raw = raw[4:]  # a tensor of one string: four bytes of length, then the string
        if self._echo:
            raw, self._echo = raw.removeprefix(self._echo), b""
        if self._diff is None:
            text = raw.decode("utf-8", "replace")
        else:
            whole = self.final or not raw.endswith(HELD) or self._finished()
            try:
                text = self._diff.step(raw, whole)
            except ValueError as error:
                raise ProtocolFault(f"{self._name}: {error}") from None
        return Delta(0, text) if text else None

    def _text_tensor(self, data: bytes) -> bytes | None:
        """text_output of a response that has to be parsed. Raises what the server says went wrong."""
        stream = self._parse(data)
        if stream.error_message:
            raise self.fault("", stream.error_message)
        response = stream.infer_response
        if not self._last and response.id != self._id:
            raise ProtocolFault(f"{self._name} answered another request: {response.id!r}")
        self.final = response.parameters["triton_final_response"].bool_param
        places = [i for i, output in enumerate(response.outputs) if output.name == "text_output"]
        if not places or len(response.raw_output_contents) <= places[0]:
            return None
        self._parsed = response
        if places[0] == 0 and not self.final:
            self._repetition.learn(data, response)
        raw: bytes = response.raw_output_contents[places[0]]
        return raw

    def _facts(self) -> dict[str, Any]:
        if not self._last:
            return {}
        response = self._parsed or self._parse(self._last).infer_response
        pairs = zip(response.outputs, response.raw_output_contents, strict=False)
        return {output.name: decode(output.datatype, raw) for output, raw in pairs}

    def _finished(self) -> bool:
        return not self._request.stream or bool(self._facts().get("finish_reason"))

    def rest(self, default_max_tokens: int, unknown_finish: str, block: int | None) -> list[Event]:
        """Finish, usage, end."""
        facts = self._facts()
        limit = self._request.max_tokens or default_max_tokens
        output = number(facts.get("num_output_tokens"))
        finish = facts.get("finish_reason")
        if not finish:
            finish = unknown_finish if output is None else ("length" if output >= limit else "stop")
        events: list[Event] = [
            Delta(0, finish_reason=str(finish), stop_reason=facts.get("stop_reason") or None)
        ]
        reused = number(facts.get("kv_cache_reused_blocks", facts.get("kv_cache_reused_block")))
        prompt = number(facts.get("num_input_tokens"))
        first, arrival = number(facts.get("first_scheduled_time_ns")), number(facts.get("arrival_time_ns"))
        usage = Usage(
            prompt_tokens=None if prompt is None else int(prompt),
            completion_tokens=None if output is None else int(output),
            cached_tokens=None if reused is None or block is None else int(reused) * block,
            queue_seconds=None if first is None or arrival is None else (first - arrival) / 1e9,
        )
        return [*events, *([usage] if usage != Usage() else []), End("stop")]


MISFITS = ("unexpected shape", "unexpected inference", "inputs but got", "data-type is", "only supported in")
"""Words by which Triton says that a model takes other tensors than its configuration said: it was loaded anew, with
another one, since that was read."""
REFUSALS = {
    "INVALID_ARGUMENT": 400,
    "ALREADY_EXISTS": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "UNIMPLEMENTED": 501,
}
"""Statuses of gRPC that another try would meet again; those about who asks come from proxies."""


def fault_of_status(code: str, detail: str, name: str) -> BackendError:
    """The error for a status of gRPC, by its name, from the server `name`."""
    message = f"{name}: {detail}"
    if code in REFUSALS:
        return RequestRejected(message, status=REFUSALS[code])
    match code:
        case "DEADLINE_EXCEEDED":
            return DeadlineExceeded(message)
        case "CANCELLED":
            return Cancelled(message)
        case "RESOURCE_EXHAUSTED" if "larger than max" in detail:
            return RequestRejected(message, status=413)
        case "RESOURCE_EXHAUSTED":
            return Overloaded(message, status=429)
        case "UNAVAILABLE" if "maximum queue size" not in detail:
            return Unavailable(message)
    return fault_of_text(detail, message)


def fault_of_answer(code: str, detail: str, name: str, request: Request, misfit: bool) -> BackendError:
    """The error for a status that a stream ended with. The model was there at the start, so one that is not found or
    takes other tensors is the server's fault; and a deadline that is not the request's own is that of something in
    between."""
    fault, message = fault_of_status(code, detail, name), f"{name}: {detail}"
    if code == "NOT_FOUND" or misfit:
        return Unavailable(message)
    # gRPC's clock may be a moment early
    due = request.deadline is not None and asyncio.get_running_loop().time() > request.deadline - 0.05
    return fault if due or not isinstance(fault, DeadlineExceeded) else Unavailable(message, status=504)


def fault_of_text(said: str, message: str = "") -> BackendError:
    """Errors of servers before 24.08 are text inside an open stream. The error says `message`, by default the same."""
    low, message = said.lower(), message or said
    if "maximum queue size" in low:
        return Overloaded(message)
    if "cancel" in low:
        return Cancelled(message)
    if "timeout" in low or "deadline" in low:
        return DeadlineExceeded(message)
    return Unavailable(message)
