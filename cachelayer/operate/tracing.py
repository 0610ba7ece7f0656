"""The spans of one request: itself, its stages, the call of the backend; joined to callers, leaders and backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import time_ns
from typing import Any, Self, TypeVar

from ..exact.answers.admission import text_of
from ..exact.answers.usage import usage_of
from ..flow.attempt import Faults
from ..keep.accounts import model_of
from ..keep.call import Call, Function, Landing
from ..keep.streams import is_async_stream, is_plain_stream
from ..observe.otel import Attributes, Tracer
from ..types import Match, Reason, Source

_KINDS = {
    "memory": "CHAIN", "store": "CHAIN", "embed": "EMBEDDING", "search": "RETRIEVER", "verify": "RERANKER",
}  # fmt: skip
"""OpenInference's kind of each stage that has a span of its own; the backend's is made where it is called."""
_PARAMETERS = tuple(
    (name, f"gen_ai.request.{name}") for name in ("temperature", "max_tokens", "top_p", "seed")
)
_MADE = (Source.BACKEND, Source.BYPASS)
T = TypeVar("T")


class Stages(dict[str, float]):
    """Timings that also note when each stage ended, in Unix nanoseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[tuple[str, int, float]] = []

    def __setitem__(self, stage: str, seconds: float) -> None:
        super().__setitem__(stage, seconds)
        self.ends.append((stage, time_ns(), seconds))

    def update(self, stages: Mapping[str, float]) -> None:  # type: ignore[override]
        """Stages that followed each other and ended now."""
        super().update(stages)
        end = time_ns()
        for stage, seconds in reversed(list(stages.items())):
            self.ends.append((stage, end, seconds))
            end -= int(seconds * 1e9)


class Span:
    """A sampled request, for `with`: the current span inside, emitted at the end of the block.

    The backend's span is emitted when the backend is done. A span holds no `Call`: the two would be a reference cycle,
    and collecting that costs as much as the span.
    """

    def __init__(self, names: Tracing, parent: Any, context: Any, call: Call, *, plain: bool) -> None:
        self.context = context
        self._names, self._tracer, self._parent = names, names.tracer, parent
        self._function, self._identity, self._misses = call.function, call.identity, call.misses
        self._stages = call.timings = Stages()
        self._attributes: Attributes | None = None
        self._links: tuple[Any, ...] = ()
        self._streams: _Called | None = None
        call.invoke = partial(self._backend_now if plain else self._backend, call.invoke)
        self._started = time_ns()

    def __enter__(self) -> None:
        self._token = self._tracer.enter(self.context)

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        tracer, context, end = self._tracer, self.context, time_ns()
        tracer.leave(self._token)
        started, emit, names = self._started, tracer.emit, self._names.stages
        for stage, at, seconds in self._stages.ends:
            if stage in names:
                name, kind_of = names[stage]
                times = max(at - int(seconds * 1e9), started), at
                emit(name, tracer.child(context), context, times, {"openinference.span.kind": kind_of})
        attributes = self._attributes or {}
        attributes["cachelayer.function"] = self._function.name
        attributes["openinference.span.kind"] = "CHAIN"
        for tier, reason in self._misses.items():
            attributes[f"cachelayer.miss.{tier}"] = reason.value
        if tracer.prompts and self._identity is not None and self._identity.text is not None:
            attributes["input.value"] = self._identity.text
        emit(self._names.request, context, self._parent, (started, end), attributes, self._links, fault=fault)

    def arrived(self, landing: Landing, source: Source, match: Match | None) -> None:
        """The caller is being given this landing."""
        attributes: Attributes = {"cachelayer.source": source.value}
        if match is not None:
            attributes["cachelayer.match"] = match
        for name, value in (
            ("cachelayer.similarity", landing.similarity),
            ("cachelayer.confidence", landing.confidence),
            ("cachelayer.age", landing.age),
        ):
            if value is not None:
                attributes[name] = value
        if source not in _MADE:
            attributes["cachelayer.saved_seconds"] = landing.seconds
        leader = landing.span
        if leader is not None and leader is not self:
            self._links = (self._tracer.link(leader.context, **{"cachelayer.link": "leader"}),)
        if self._tracer.prompts and landing.recording is None:
            answer = landing.answer if landing.frozen is None else landing.frozen.answer()
            attributes["output.value"] = self._names.read(text_of, self._function, answer) or ""
        self._attributes = attributes

    def streamed(self, chunks: list[Any] | None, fault: BaseException | None = None) -> None:
        """The backend's stream is over: it ended well with these chunks, or broke off, or all its readers left."""
        called, self._streams = self._streams, None
        if called is not None:
            called.ended(None if chunks is None else [chunk.answer() for chunk in chunks], fault)

    async def _backend(self, invoke: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with _Called(self, kwargs) as called:
            called.answer = answer = await invoke(*args, **kwargs)
        return answer

    def _backend_now(self, invoke: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with _Called(self, kwargs) as called:
            called.answer = answer = invoke(*args, **kwargs)
        return answer


class _Called:
    """A call of the backend, for `with`: the current span inside, emitted at the end of the call or of its stream."""

    answer: Any = None

    def __init__(self, span: Span, fields: Mapping[str, Any]) -> None:
        self._span, self._fields, tracer = span, fields, span._tracer
        self._context, self._started = tracer.child(span.context), time_ns()

    def __enter__(self) -> Self:
        self._token = self._span._tracer.enter(self._context)
        return self

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        self._span._tracer.leave(self._token)
        if is_plain_stream(self.answer) or is_async_stream(self.answer):
            self.answer, self._span._streams = None, self
        else:
            self.ended(self.answer, fault)

    def ended(self, answer: Any, fault: BaseException | None) -> None:
        """The answer is whole."""
        span, fields = self._span, self._fields
        function, model = span._function, model_of(span._function, fields, span._identity)
        kind = "chat" if "messages" in fields else "text_completion"
        attributes: Attributes = {
            "openinference.span.kind": "LLM", "llm.model_name": model,
            "gen_ai.operation.name": kind, "gen_ai.provider.name": span._names.provider,
            "gen_ai.request.model": model,
        }  # fmt: skip
        for field, name in _PARAMETERS:
            value = fields.get(field)
            if value is not None and isinstance(value, (int, float)):
                attributes[name] = value
        if answer is not None:
            prompt, cached, completion = span._names.read(usage_of, function, answer) or (0, 0, 0)
            if prompt or completion:
                attributes["gen_ai.usage.input_tokens"] = attributes["llm.token_count.prompt"] = prompt
                attributes["gen_ai.usage.output_tokens"] = completion
                attributes["llm.token_count.completion"] = completion
                attributes["llm.token_count.total"] = prompt + completion
                attributes["llm.token_count.prompt_details.cache_read"] = cached
        times = self._started, time_ns()
        span._tracer.emit(
            f"{kind} {model}", self._context, span.context, times, attributes, client=True, fault=fault
        )


class Tracing:
    """Decides, at the start of a request of one function, whether it is traced; holds the names of its spans."""

    def __init__(self, tracer: Tracer, name: str, provider: str, faults: Faults) -> None:
        self.tracer, self._name, self.provider, self._faults = tracer, name, provider, faults
        self.request = f"cachelayer {name}"
        self.stages = {stage: (f"cachelayer.{stage}", kind) for stage, kind in _KINDS.items()}

    def begin(self, call: Call, *, plain: bool) -> Span | None:
        """The request's span, if the sampler wants it; `plain`: the call is made in the caller's thread."""
        begun = self.tracer.begin(self._name)
        if begun is None:
            return None
        span = call.span = Span(self, *begun, call, plain=plain)
        return span

    def read(self, how: Callable[[Any], T], function: Function, answer: Any) -> T | None:
        """What `how` reads of an answer (or of the owner's `view` of it); None if that fails."""
        read = self._faults.attempt_now("trace", lambda: how(function.seen(answer)))
        return None if isinstance(read, Reason) else read

    def hit(self, seconds: float) -> None:
        """A hit in memory that took `seconds` and ends now: one span, if the sampler wants it."""
        begun = self.tracer.begin(self._name)
        if begun is not None:
            parent, context = begun
            end = time_ns()
            attributes = {
                "cachelayer.function": self._name, "cachelayer.source": "memory", "cachelayer.match": "exact",
                "openinference.span.kind": "CHAIN",
            }  # fmt: skip
            self.tracer.emit(self.request, context, parent, (end - int(seconds * 1e9), end), attributes)
