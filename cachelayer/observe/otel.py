"""OpenTelemetry: spans of requests and their stages, and the context that joins them to others.

Spans are made when they are over, from times that were noted, and handed to the provider's processors: an order of
magnitude cheaper than to carry live ones through the path. The provider's own sampler decides. Attributes follow
OpenTelemetry's GenAI conventions and OpenInference, so that the tools made for either show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from random import getrandbits
from typing import TYPE_CHECKING, Any

from ..checks import either, unquoted
from ..errors import ConfigurationError, MissingExtra, broken
from ..flow.attempt import Faults
from ..types import Reason

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, SpanContext

Attributes = dict[str, Any]
_LOW = (1 << 64) - 1


class Tracer:
    """Makes spans through one provider of opentelemetry.sdk.

    `prompts`: whether spans hold texts of requests and answers. Raises MissingExtra, and ConfigurationError for a
    provider without processors.
    """

    def __init__(self, faults: Faults, provider: Any = None, *, prompts: bool = False) -> None:
        self._processor: Any
        self._attempt = faults.attempt_now  # processors and samplers may be the owner's own
        either("prompts", prompts)  # "false" would put them in
        try:
            from opentelemetry import context, trace
            from opentelemetry.sdk.trace import ReadableSpan
            from opentelemetry.sdk.trace.sampling import ParentBased
            from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        except ImportError as fault:
            why = broken("opentelemetry", fault, "opentelemetry.sdk")
            raise MissingExtra("trace", "opentelemetry-sdk", "otel", why) from fault
        provider = provider or trace.get_tracer_provider()
        self._processor = getattr(provider, "_active_span_processor", None)
        if self._processor is None:
            remedy = (
                "give an opentelemetry.sdk.trace.TracerProvider, or set one with opentelemetry.trace first"
            )
            raise ConfigurationError("provider", unquoted(provider), remedy)
        self.prompts = prompts
        self._sampler, self._resource = provider.sampler, provider.resource
        self._by_parent = isinstance(self._sampler, ParentBased)
        self._bound = _bound(self._sampler)
        self._empty, self._nobody, self._current = (
            context.Context(),
            trace.INVALID_SPAN,
            trace.get_current_span,
        )
        self._span, self._api, self._context = ReadableSpan, trace, context
        self._scope = InstrumentationScope("cachelayer", version("cachelayer"))
        self._unset, self._failed = trace.Status(trace.StatusCode.UNSET), trace.Status(trace.StatusCode.ERROR)
        self._client, self._inner = trace.SpanKind.CLIENT, trace.SpanKind.INTERNAL
        self._sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)

    def begin(self, name: str) -> tuple[SpanContext | None, SpanContext] | None:
        """(parent, context) of a new span where the sampler wants it, else None."""
        current = self._current()
        if current is self._nobody:
            parent, trace_id = None, getrandbits(128)
            if self._bound is not None:
                if trace_id & _LOW >= self._bound:
                    return None
            elif not self._wants(self._empty, trace_id, name):
                return None
        else:
            parent = current.get_span_context()
            trace_id = parent.trace_id
            if self._by_parent and not parent.trace_flags.sampled:
                return None
            if not self._wants(None, trace_id, name):
                return None
        return parent, self._api.SpanContext(trace_id, getrandbits(64), False, self._sampled)

    def _wants(self, outer: Context | None, trace_id: int, name: str) -> bool:
        made = self._attempt("trace", self._sampler.should_sample, outer, trace_id, name)
        return not isinstance(made, Reason) and bool(made.decision.is_sampled())

    def child(self, of: SpanContext) -> SpanContext:
        """The context of a new span below another."""
        return self._api.SpanContext(of.trace_id, getrandbits(64), False, self._sampled)

    def enter(self, context: SpanContext) -> Any:
        """Make this span the current one until `leave`; what to give to it."""
        return self._context.attach(self._api.set_span_in_context(self._api.NonRecordingSpan(context)))

    def leave(self, token: Any) -> None:
        """The span before is the current one again."""
        self._context.detach(token)

    def link(self, to: SpanContext, **attributes: Any) -> Link:
        """A link to a span of another request."""
        return self._api.Link(to, attributes)

    def emit(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        times: tuple[int, int],
        attributes: Attributes,
        links: tuple[Link, ...] = (),
        *,
        client: bool = False,
        fault: BaseException | None = None,
    ) -> None:
        """Hand over a span that is over; `times` are its start and end in Unix nanoseconds."""
        status = self._unset
        if fault is not None:
            attributes["error.type"] = type(fault).__name__
            status = self._failed
        span = self._span(
            name, context, parent, self._resource, attributes, (), links, self._client if client else self._inner,
            None, status, times[0], times[1], self._scope,
        )  # fmt: skip
        self._attempt("trace", self._processor.on_end, span)


def _bound(sampler: Any) -> int | None:
    """Below which the low half of a new trace's id is sampled, where that is all that the sampler looks at.

    Asking the sampler costs 1.4 us, this comparison 0.1.
    """
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    root = getattr(sampler, "_root", None) if isinstance(sampler, ParentBased) else sampler
    return root.bound if type(root) is TraceIdRatioBased else None


def inject(headers: MutableMapping[str, str]) -> None:
    """Add the current span's `traceparent` to the headers of a request that is about to be sent.

    Does nothing where OpenTelemetry is not installed.
    """
    with suppress(ImportError):
        from opentelemetry import propagate

        propagate.inject(headers)


@contextmanager
def extract(headers: Mapping[str, str]) -> Iterator[None]:
    """Inside, the span that a request's headers name is the current one.

    Does nothing where OpenTelemetry is not installed.
    """
    attach: Callable[[], Any] | None = None
    with suppress(ImportError):
        from opentelemetry import context, propagate

        attach = partial(context.attach, propagate.extract(headers))
    token = attach() if attach is not None else None
    try:
        yield
    finally:
        if token is not None:
            context.detach(token)
