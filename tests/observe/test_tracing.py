"""Spans of requests arrive at an OTLP receiver, joined to callers, leaders and backends; no prompt unless asked for."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm.serve import ServeTransport
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.observe.otel import extract, inject
from cachelayer.testing import Gate, WordEmbedder


class Receiver(BaseHTTPRequestHandler):
    """What an OTLP collector does on /v1/traces."""

    spans: list[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal."""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Any]]]:
    """The address of an OTLP receiver, and the spans it got."""
    spans: list[Any] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Receiver,), {"spans": spans}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
    server.shutdown()
    server.server_close()


class Spans:
    """Spans kept in memory, by name."""

    def __init__(self, sampler: Any = None) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler) if sampler else TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def named(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def all(self) -> list[str]:
        return sorted(span.name for span in self.exporter.get_finished_spans())


def chat(messages: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "secret answer"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def asking(layer: CacheLayer, seen: list[dict[str, str]] | None = None) -> Any:
    @layer.cached(name="ask")
    async def ask(messages: list[dict[str, str]], model: str = "m", temperature: float = 0.5) -> Any:
        headers: dict[str, str] = {}
        inject(headers)
        if seen is not None:
            seen.append(headers)
        return chat(messages)

    return ask


QUESTION = [{"role": "user", "content": "my secret question"}]


async def test_a_collector_gets_the_request_its_stages_and_the_backend_s_call(
    collector: tuple[str, list[Any]],
) -> None:
    url, spans = collector
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=url)))
    layer = CacheLayer(embedder=WordEmbedder())
    layer.trace(provider)
    ask = asking(layer)
    async with layer:
        await ask(messages=QUESTION)
        await layer.flush()
        await ask(messages=[{"role": "user", "content": "my secret question!"}])
    provider.shutdown()
    names = [span.name for span in spans]
    assert names.count("cachelayer ask") == 2 and names.count("chat m") >= 1
    assert {"cachelayer.memory", "cachelayer.embed", "cachelayer.search"} <= set(names)
    root = next(span for span in spans if span.name == "cachelayer ask")
    inner = [span for span in spans if span.parent_span_id == root.span_id]
    assert {"chat m", "cachelayer.memory"} <= {span.name for span in inner}
    for span in inner:
        assert span.trace_id == root.trace_id
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano
    assert "secret" not in str(spans)


async def test_the_backend_s_span_follows_genai_conventions_and_openinference() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)
    await asking(layer)(messages=QUESTION, temperature=0.5)
    (call,) = spans.named("chat m")
    assert call.kind is trace.SpanKind.CLIENT
    told = dict(call.attributes)
    assert told["gen_ai.operation.name"] == "chat" and told["gen_ai.request.model"] == "m"
    assert told["gen_ai.usage.input_tokens"] == told["llm.token_count.prompt"] == 100
    assert told["gen_ai.usage.output_tokens"] == told["llm.token_count.completion"] == 10
    assert told["gen_ai.request.temperature"] == 0.5
    assert told["openinference.span.kind"] == "LLM" and told["llm.model_name"] == "m"


async def test_the_backend_sees_the_context_of_its_own_span_and_callers_are_parents() -> None:
    spans, layer, seen = Spans(), CacheLayer(semantic=False), []
    layer.trace(spans.provider)
    ask = asking(layer, seen)
    with spans.provider.get_tracer("test").start_as_current_span("caller") as caller:
        await ask(messages=QUESTION)
        await ask(messages=QUESTION)
        await ask(messages=QUESTION)
    (call,) = spans.named("chat m")
    assert f"{call.context.trace_id:032x}-{call.context.span_id:016x}" in seen[0]["traceparent"]
    requests = spans.named("cachelayer ask")
    assert [r.attributes["cachelayer.source"] for r in requests] == ["backend", "memory", "memory"]
    for request in requests:
        assert request.parent.span_id == caller.get_span_context().span_id


async def test_incoming_headers_are_the_parent() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)
    with extract({"traceparent": f"00-{7:032x}-{9:016x}-01"}):
        await asking(layer)(messages=QUESTION)
    (request,) = spans.named("cachelayer ask")
    assert (request.context.trace_id, request.parent.span_id) == (7, 9)


async def test_riders_link_to_their_leader() -> None:
    spans, layer, gate = Spans(), CacheLayer(semantic=False), Gate()
    layer.trace(spans.provider)
    ask = layer.cached(gate.__call__, name="ask", share_self=True)
    asked = asyncio.gather(*(ask("how?") for _ in range(3)))
    await gate.entered()
    gate.open()
    await asked
    by_source: dict[str, list[Any]] = {}
    for span in spans.named("cachelayer ask"):
        by_source.setdefault(span.attributes["cachelayer.source"], []).append(span)
    (leader,) = by_source["backend"]
    assert len(by_source["coalesced"]) == 2
    for rider in by_source["coalesced"]:
        assert [link.context.span_id for link in rider.links] == [leader.context.span_id]


async def test_a_fault_of_the_backend_marks_both_spans_and_stays_unchanged() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        raise LookupError("secret")

    with pytest.raises(LookupError):
        await ask("how?")
    for name in ("text_completion ask", "cachelayer ask"):
        (span,) = spans.named(name)
        assert span.status.status_code is trace.StatusCode.ERROR
        assert span.attributes["error.type"] == "LookupError" and "secret" not in str(span.to_json())


async def test_texts_are_there_where_they_are_asked_for() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider, prompts=True)
    await asking(layer)(messages=QUESTION)
    (request,) = spans.named("cachelayer ask")
    assert request.attributes["input.value"] == "my secret question"
    assert request.attributes["output.value"] == "secret answer"


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, ParentBased(TraceIdRatioBased(0.0))])
async def test_what_is_not_sampled_leaves_no_span(sampler: Any) -> None:
    spans, layer = Spans(sampler), CacheLayer(semantic=False)
    layer.trace(spans.provider)
    ask = asking(layer)
    for _ in range(3):
        await ask(messages=QUESTION)
    assert spans.all() == []


async def test_half_of_requests_are_sampled_where_half_are_asked_for() -> None:
    spans, layer = Spans(ParentBased(TraceIdRatioBased(0.5))), CacheLayer(semantic=False)
    layer.trace(spans.provider)
    ask = asking(layer)
    for _ in range(400):
        await ask(messages=QUESTION)
    assert 130 < len(spans.named("cachelayer ask")) < 270


async def test_a_parent_that_is_not_sampled_decides_for_the_request() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)
    with extract({"traceparent": f"00-{7:032x}-{9:016x}-00"}):
        await asking(layer)(messages=QUESTION)
    assert spans.all() == []


async def test_a_stream_s_backend_span_lasts_to_its_end() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)

    @layer.cached(name="tell")
    async def tell(question: str) -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(0.02)
        yield "b"

    assert [piece async for piece in tell("how?")] == ["a", "b"]
    (call,) = spans.named("text_completion tell")
    assert call.end_time - call.start_time >= 0.02e9


def test_plain_functions_are_traced_in_their_thread() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)
    inside: list[int] = []

    @layer.cached(name="ask")
    def ask(question: str) -> str:
        inside.append(trace.get_current_span().get_span_context().span_id)
        return question

    ask("how?"), ask("how?"), ask("how?")
    (call,) = spans.named("text_completion ask")
    assert inside == [call.context.span_id]
    assert len(spans.named("cachelayer ask")) == 3


def test_a_provider_without_processors_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigurationError, match="TracerProvider"):
        CacheLayer(semantic=False).trace(trace.NoOpTracerProvider())


async def test_the_tensorrt_llm_adapter_sends_the_context_to_its_server() -> None:
    """One request to a server that keeps its head and answers nothing of use."""
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).lower())
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = ServeTransport(f"http://127.0.0.1:{port}")
    with extract({"traceparent": f"00-{7:032x}-{9:016x}-01"}):
        response = await transport._send("/v1/chat/completions", b"{}")
        response.close()
    await transport.aclose()
    server.close()
    assert f"traceparent: 00-{7:032x}-{9:016x}-01".encode() in heads[0]


def test_a_call_that_is_answered_with_a_file_has_its_span_at_once() -> None:
    spans, layer = Spans(), CacheLayer(semantic=False)
    layer.trace(spans.provider)

    @layer.cached(name="ask")
    def ask(question: str) -> io.StringIO:
        return io.StringIO("one\ntwo")

    assert ask("how?").read() == "one\ntwo"
    assert len(spans.named("text_completion ask")) == 1
