"""The spans of one request: itself, its stages, the call of the backend; joined to callers, leaders and backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from time import time_ns
from typing import Any, TypeVar

from .accounts import model_of
from .call import Call, Landing
from .exact.admission import text_of
from .exact.usage import usage_of
from .observe.otel import Attributes, Tracer
from .types import Match, Source

T = TypeVar("T")
_KINDS = {"embed": "EMBEDDING", "search": "RETRIEVER", "verify": "RERANKER"}
_PARAMETERS = {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "seed": "seed"}


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
    """A sampled request. Emitted when its caller has the answer; the backend's span when the backend is done."""

    def __init__(self, tracer: Tracer, parent: Any, context: Any, call: Call, *, plain: bool) -> None:
        self.context = context
        self._tracer, self._parent, self._call = tracer, parent, call
        self._started = time_ns()
        self._told: Attributes = {}
        self._links: tuple[Any, ...] = ()
        self._streams: tuple[Any, int] | None = None
        call.timings = Stages()
        invoke = call.invoke
        call.invoke = (lambda *a, **k: self._backend_now(invoke, a, k)) if plain else (
            lambda *a, **k: self._backend(invoke, a, k)
        )  # fmt: skip

    # around the path ---------------------------------------------------------------------------------------------

    async def around(self, path: Coroutine[Any, Any, T]) -> T:
        """The path's result, with this span as the current one."""
        token = self._tracer.enter(self.context)
        try:
            answer = await path
        except BaseException as fault:
            self._end(fault)
            raise
        finally:
            self._tracer.leave(token)
        self._end(None)
        return answer

    def around_now(self, path: Callable[[], T]) -> T:
        """The same for a plain function."""
        token = self._tracer.enter(self.context)
        try:
            answer = path()
        except BaseException as fault:
            self._end(fault)
            raise
        finally:
            self._tracer.leave(token)
        self._end(None)
        return answer

    def arrived(self, landing: Landing, source: Source, match: Match | None, led: bool) -> None:
        """The caller is being given this landing."""
        told: Attributes = {"cachelayer.source": str(source)}
        if match is not None:
            told["cachelayer.match"] = match
        for name in ("similarity", "confidence", "age"):
            value = getattr(landing, name)
            if value is not None:
                told[f"cachelayer.{name}"] = value
        if source not in (Source.BACKEND, Source.BYPASS):
            told["cachelayer.saved_seconds"] = landing.seconds
        leader = landing.span
        if leader is not None and leader is not self:
            self._links = (self._tracer.link(leader.context, **{"cachelayer.link": "leader"}),)
        if self._tracer.prompts and landing.recording is None:
            answer = landing.answer if landing.frozen is None else landing.frozen.answer()
            told["output.value"] = text_of(self._call.function.seen(answer)) or ""
        self._told = told

    def _end(self, fault: BaseException | None) -> None:
        tracer, call, end = self._tracer, self._call, time_ns()
        for stage, at, seconds in call.timings.ends:  # type: ignore[attr-defined]
            if stage not in ("total", "backend"):
                times = (max(at - int(seconds * 1e9), self._started), at)
                attributes = {"openinference.span.kind": _KINDS.get(stage, "CHAIN")}
                tracer.emit(
                    f"cachelayer.{stage}", tracer.child(self.context), self.context, times, attributes
                )
        attributes = {
            "cachelayer.function": call.function.name,
            "openinference.span.kind": "CHAIN",
            **self._told,
        }
        for tier, reason in call.misses.items():
            attributes[f"cachelayer.miss.{tier}"] = str(reason)
        if tracer.prompts and call.identity is not None and call.identity.text is not None:
            attributes["input.value"] = call.identity.text
        tracer.emit(
            f"cachelayer {call.function.name}", self.context, self._parent, (self._started, end), attributes,
            links=self._links, fault=fault,
        )  # fmt: skip

    # around the backend ------------------------------------------------------------------------------------------

    async def _backend(self, invoke: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        context, started = self._tracer.child(self.context), time_ns()
        token = self._tracer.enter(context)
        try:
            answer = await invoke(*args, **kwargs)
        except BaseException as fault:
            self._called(context, started, None, fault)
            raise
        finally:
            self._tracer.leave(token)
        self._answered(context, started, answer)
        return answer

    def _backend_now(self, invoke: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        context, started = self._tracer.child(self.context), time_ns()
        token = self._tracer.enter(context)
        try:
            answer = invoke(*args, **kwargs)
        except BaseException as fault:
            self._called(context, started, None, fault)
            raise
        finally:
            self._tracer.leave(token)
        self._answered(context, started, answer)
        return answer

    def _answered(self, context: Any, started: int, answer: Any) -> None:
        if isinstance(answer, AsyncIterator | Iterator):
            self._streams = (context, started)
        else:
            self._called(context, started, answer, None)

    def streamed(self, chunks: list[Any]) -> None:
        """The backend's stream ended well."""
        if self._streams is not None:
            context, started = self._streams
            self._called(context, started, [chunk.answer() for chunk in chunks], None)

    def _called(self, context: Any, started: int, answer: Any, fault: BaseException | None) -> None:
        call, model = self._call, model_of(self._call)
        fields = call.kwargs
        chat = "messages" in fields
        attributes: Attributes = {"openinference.span.kind": "LLM", "llm.model_name": model}
        attributes["gen_ai.operation.name"] = "chat" if chat else "text_completion"
        attributes["gen_ai.request.model"] = model
        for field, name in _PARAMETERS.items():
            if isinstance(fields.get(field), int | float):
                attributes[f"gen_ai.request.{name}"] = fields[field]
        if answer is not None:
            prompt, cached, completion = usage_of(call.function.seen(answer))
            if prompt or completion:
                attributes["gen_ai.usage.input_tokens"] = attributes["llm.token_count.prompt"] = prompt
                attributes["gen_ai.usage.output_tokens"] = attributes["llm.token_count.completion"] = (
                    completion
                )
                attributes["llm.token_count.total"] = prompt + completion
                attributes["llm.token_count.prompt_details.cache_read"] = cached
        name = f"{attributes['gen_ai.operation.name']} {model}"
        self._tracer.emit(
            name, context, self.context, (started, time_ns()), attributes, client=True, fault=fault
        )


class Tracing:
    """Decides, at the start of a request of one function, whether it is traced."""

    def __init__(self, tracer: Tracer, name: str) -> None:
        self._tracer, self._name = tracer, name

    def begin(self, call: Call, *, plain: bool) -> Span | None:
        """The request's span where the sampler wants it; `plain`: the call is made in the caller's thread."""
        begun = self._tracer.begin(self._name)
        if begun is None:
            return None
        span = call.span = Span(self._tracer, *begun, call, plain=plain)
        return span

    def hit(self, seconds: float) -> None:
        """A hit in memory that took `seconds` and ends now: one span, if the sampler wants it."""
        begun = self._tracer.begin(self._name)
        if begun is not None:
            parent, context = begun
            end = time_ns()
            attributes = {
                "cachelayer.function": self._name, "cachelayer.source": "memory", "cachelayer.match": "exact",
                "openinference.span.kind": "CHAIN",
            }  # fmt: skip
            times = (end - int(seconds * 1e9), end)
            self._tracer.emit(f"cachelayer {self._name}", context, parent, times, attributes)
