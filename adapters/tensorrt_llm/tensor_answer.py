"""One Triton stream as events: texts, the last response's facts, and errors told as text."""

from __future__ import annotations

from collections.abc import Sequence
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
from .tensors import Layout, TextDiff, decode, number


class TensorAnswer:
    """What one stream has said so far. A response is read for its text; the other tensors once, at the
    end."""

    __slots__ = (
        "_diff",
        "_echo",
        "_id",
        "_last",
        "_name",
        "_outputs",
        "_position",
        "_request",
        "broken",
        "final",
    )

    def __init__(self, layout: Layout, request: Request, prompt: str, name: str) -> None:
        self._request, self._id, self._name = request, request.id, name
        self._diff = TextDiff() if layout.cumulative else None
        self._echo = "" if layout.excludes_prompt or request.stream else prompt
        self._last: Any = None
        self._position = self._outputs = -1
        self.final = self.broken = False

    def feed(self, response: Any) -> Delta | None:
        """The delta in a response; an empty final has none."""
        if self._last is None and response.id != self._id:
            raise ProtocolFault(f"{self._name} answered another request: {response.id!r}")
        self.final = response.parameters["triton_final_response"].bool_param
        raw = self._text_bytes(response)
        if raw is None:
            return None
        self._last = response
        text = raw[4 : 4 + int.from_bytes(raw[:4], "little")].decode("utf-8", "replace")
        if self._echo:
            text, self._echo = text.removeprefix(self._echo), ""
        if self._diff is not None:
            whole = self.final or not text.endswith("\ufffd") or self._finished()
            try:
                text = self._diff.step(text, whole)
            except ValueError as error:
                raise ProtocolFault(f"{self._name}: {error}") from None
        return Delta(0, text) if text else None

    def _text_bytes(self, response: Any) -> bytes | None:
        """text_output stands where it stood before while a response has as many tensors as the one before."""
        contents: Sequence[bytes] = response.raw_output_contents
        if len(contents) != self._outputs:
            self._outputs = len(contents)
            places = [i for i, output in enumerate(response.outputs) if output.name == "text_output"]
            self._position = places[0] if places else -1
        return contents[self._position] if self._position >= 0 else None

    def _facts(self) -> dict[str, Any]:
        if self._last is None:
            return {}
        pairs = zip(self._last.outputs, self._last.raw_output_contents, strict=False)
        return {output.name: decode(output.datatype, raw) for output, raw in pairs}

    def _finished(self) -> bool:
        return not self._request.stream or bool(self._facts().get("finish_reason"))

    def end_of_stream(self, ok: bool) -> None:
        if not ok:
            raise Unavailable(f"{self._name}: the stream ended early")
        self.final = True

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


def fault_of_text(message: str) -> BackendError:
    """Errors of servers before 24.08 are text inside an open stream."""
    low = message.lower()
    if "maximum queue size" in low:
        return Overloaded(message)
    if "cancel" in low:
        return Cancelled(message)
    if "timeout" in low or "deadline" in low:
        return DeadlineExceeded(message)
    if any(
        word in low
        for word in ("unexpected shape", "unexpected data", "unexpected inference", "only supported in")
    ):
        return RequestRejected(message)
    return Unavailable(message)
