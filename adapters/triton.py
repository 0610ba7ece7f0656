"""Triton over gRPC: the TensorRT-LLM ensemble (or BLS) and the LLM-API model, one stream a request."""

from __future__ import annotations

import asyncio
import importlib
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from cachelayer.checks import whole
from cachelayer.errors import ConfigurationError, MissingExtra, broken
from cachelayer.flow.together import Once

from .tensorrt_llm.errors import (
    BackendError,
    Cancelled,
    DeadlineExceeded,
    RequestRejected,
    Unavailable,
)
from .tensorrt_llm.events import Capabilities, Event, Start
from .tensorrt_llm.local import Template
from .tensorrt_llm.request import Request
from .tensorrt_llm.tensor_answer import TensorAnswer, fault_of_status
from .tensorrt_llm.tensors import Layout, Tensor, add_inputs, flags_of, inputs_of, layout_of

PREFERRED = ("ensemble", "tensorrt_llm_bls", "tensorrt_llm")
KEEPALIVE_MS = 330_000
"""Triton's default tolerates one ping in 300 s without data; more often earns GOAWAY too_many_pings."""
GRPC_ERRORS = (("triton_grpc_error", "true"),)
"""Asks for a real status (24.08 and later), which closes the stream: right with one stream a request."""

STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"


class TritonTransport:
    """One Triton address.

    `model` and the layout are found by asking the server. `template` turns messages into the prompt; without
    it only `prompt=` is served, since Triton applies no chat template. The ensemble gives no finish reason:
    it is derived from the number of output tokens, and where the server does not tell that either,
    `unknown_finish` is reported; its default 'length' keeps such answers out of the cache."""

    def __init__(
        self,
        address: str,
        *,
        model: str | None = None,
        template: Template | None = None,
        default_max_tokens: int = 1024,
        tokens_per_block: int | None = None,
        unknown_finish: str = "length",
        keepalive_ms: int = KEEPALIVE_MS,
        tls: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if unknown_finish not in ("stop", "length"):
            raise ConfigurationError("unknown_finish", unknown_finish, "give 'stop' or 'length'")
        whole("default_max_tokens", default_max_tokens, 1)
        whole("keepalive_ms", keepalive_ms, 1)
        try:
            self._grpc: Any = importlib.import_module("grpc")
            self._pb: Any = importlib.import_module("tritonclient.grpc.service_pb2")
            self._stubs: Any = importlib.import_module("tritonclient.grpc.service_pb2_grpc")
        except ImportError as fault:
            why = broken("tritonclient", fault, "grpc", "google")
            raise MissingExtra("triton://", "tritonclient[grpc]", "triton", why) from fault
        self.name = f"triton://{address}"
        self.capabilities = Capabilities("triton-ensemble", chat=template is not None)
        self._address, self._tls, self._model, self._template = address, tls, model, template
        self._default_max_tokens, self._tokens_per_block = default_max_tokens, tokens_per_block
        self._unknown_finish, self._keepalive = unknown_finish, keepalive_ms
        self._headers = (*GRPC_ERRORS, *metadata_of(headers or {}))
        self._brief: dict[str, Any] = {"timeout": 5, "metadata": self._headers}
        self._layout: Layout | None = None
        self._stop_model: str | None = None
        self._common: Any = None
        """What every request has in common, as a message."""
        self._channel: Any = None
        self._stub: Any = None
        self._infer: Any = None
        """The streaming call. To the server it is the bidirectional one that it declares, closed by us after one
        message: headers, message and close go out together, where three awaited steps took a tenth longer. Responses
        stay bytes: `TensorAnswer` parses few of them."""
        self._tell: Any = None
        """The same for a message whose answer nobody reads: it is over with the first response, where a stream waits
        for a reader until its time is up."""
        self._stopping: set[Any] = set()
        self._starting = Once(self.start)

    def _open(self) -> Any:
        if self._channel is None:
            options = [
                ("grpc.max_receive_message_length", -1),
                ("grpc.keepalive_time_ms", self._keepalive),
                ("grpc.keepalive_timeout_ms", 20_000),
                ("grpc.initial_reconnect_backoff_ms", 100),
                ("grpc.max_reconnect_backoff_ms", 2_000),
                ("grpc.min_reconnect_backoff_ms", 5_000),  # while an address says nothing; else 20 s
            ]
            aio = self._grpc.aio
            if self._tls:
                self._channel = aio.secure_channel(
                    self._address, self._grpc.ssl_channel_credentials(), options=options
                )
            else:
                self._channel = aio.insecure_channel(self._address, options=options)
            self._stub = self._stubs.GRPCInferenceServiceStub(self._channel)
            serialize = self._pb.ModelInferRequest.SerializeToString
            self._infer = self._channel.unary_stream(STREAM, request_serializer=serialize)
            self._tell = self._channel.unary_unary(STREAM, request_serializer=serialize)
        return self._stub

    async def start(self) -> Capabilities:
        """Read the server's version, find the model and its layout. Raises Unavailable or
        ConfigurationError."""
        stub = self._open()
        try:
            server = await stub.ServerMetadata(self._pb.ServerMetadataRequest(), **self._brief)
            index = await stub.RepositoryIndex(self._pb.RepositoryIndexRequest(ready=True), **self._brief)
            names = [m.name for m in index.models]
            if not names:
                raise Unavailable(f"{self.name} has no ready model yet")
            layouts = [
                layout for name in self._wanted(names) if (layout := layout_of(await self._config(name)))
            ]
            if not layouts:
                raise ConfigurationError(
                    "model",
                    self._model,
                    f"{self.name} has no ready model with text_input and max_tokens; it has {names}",
                )
            self._layout = layouts[0]
            self._stop_model = await self._find_stop(names)
            self._common = self._infer_request(
                self._layout.model, "", flags_of(self._layout), self._layout.wanted
            )
        except self._grpc.aio.AioRpcError as error:
            raise self._fault(error) from error
        self.capabilities = Capabilities(
            kind="triton-llmapi" if self._layout.llmapi else "triton-ensemble",
            version=server.version,
            models=tuple(layout.model for layout in layouts),
            chat=self._template is not None,
            streaming=self._layout.decoupled,
            usage="num_output_tokens" in self._layout.outputs,
        )
        return self.capabilities

    def _wanted(self, names: Sequence[str]) -> list[str]:
        if self._model is not None:
            return [self._model]
        return [n for n in PREFERRED if n in names] + [n for n in names if n not in PREFERRED]

    async def _config(self, model: str) -> dict[str, Any]:
        json_format = importlib.import_module("google.protobuf.json_format")
        answer = await self._stub.ModelConfig(self._pb.ModelConfigRequest(name=model), **self._brief)
        config: dict[str, Any] = json_format.MessageToDict(answer.config, preserving_proto_field_name=True)
        return config

    async def _find_stop(self, names: Sequence[str]) -> str | None:
        """The C++ model behind an ensemble, which takes an explicit stop: a cancelled ensemble does not pass
        it on."""
        assert self._layout is not None
        if self._layout.llmapi or "tensorrt_llm" not in names:
            return None
        config = await self._config("tensorrt_llm")
        inputs = {i["name"] for i in config.get("input", ())}
        return "tensorrt_llm" if {"stop", "input_ids"} <= inputs else None

    async def healthy(self) -> bool:
        model, stub, pb = self._layout.model if self._layout else self._model, self._open(), self._pb
        try:
            if model is None:
                return bool((await stub.ServerReady(pb.ServerReadyRequest(), **self._brief)).ready)
            return bool((await stub.ModelReady(pb.ModelReadyRequest(name=model), **self._brief)).ready)
        except self._grpc.aio.AioRpcError:
            return False

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Transport.events`."""
        layout = self._layout or await self._read_again()
        prompt = await self._prompt(request)
        message = self._message(layout, request, prompt)
        remaining = None
        if request.deadline is not None:
            remaining = max(0.001, request.deadline - asyncio.get_running_loop().time())
        self._open()
        channel = self._channel
        call = self._infer(message, timeout=remaining, metadata=self._headers)
        answer = TensorAnswer(
            layout, request, prompt, self.name, self._pb.ModelStreamInferResponse.FromString
        )
        read, eof = call.read, self._grpc.aio.EOF
        try:
            start: Start | None = Start(request.id, request.model or layout.model, int(time.time()))
            while not answer.final:
                response = await read()
                if response is eof:
                    raise Unavailable(f"{self.name}: the stream ended early")
                delta = answer.feed(response)
                if start is not None:
                    yield start
                    start = None
                if delta is not None:
                    yield delta
            for event in answer.rest(self._default_max_tokens, self._unknown_finish, self._tokens_per_block):
                yield event
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._channel is channel or (task is not None and task.cancelling()):
                raise
            answer.broken = True
            raise Unavailable(f"{self.name}: the client was closed") from None
        except self._grpc.aio.AioRpcError as error:
            fault = answer.fault(error.code().name, error.details() or "")
            answer.broken = not isinstance(fault, DeadlineExceeded | Cancelled)
            raise fault from error
        finally:
            if answer.misfit:
                self._layout = None
            if not answer.final:
                call.cancel()
                if self._stop_model is not None and not answer.broken:
                    self._stop(request.id)

    async def _read_again(self) -> Layout:
        """The layout of a model that was loaded anew. Raises Unavailable: whatever is wrong, no request is at fault."""
        try:
            await self._starting()
        except (BackendError, ConfigurationError) as fault:
            raise Unavailable(str(fault)) from fault
        if self._layout is None:
            raise Unavailable(f"{self.name}: the client was closed")
        return self._layout

    def _message(self, layout: Layout, request: Request, prompt: str) -> Any:
        message = self._pb.ModelInferRequest()
        message.CopyFrom(self._common)
        message.id = request.id
        add_inputs(message, inputs_of(layout, request, prompt, self._default_max_tokens))
        return message

    async def _prompt(self, request: Request) -> str:
        if request.messages is not None:
            if self._template is None:
                raise RequestRejected(
                    "Triton applies no chat template: connect(..., template=...) or send prompt="
                )
            # a Jinja template over a long history takes milliseconds
            return await asyncio.to_thread(self._template, request.messages)
        if not isinstance(request.prompt, str):
            raise RequestRejected("Triton takes the prompt as text")
        return request.prompt

    def _infer_request(
        self, model: str, id_: str, tensors: Sequence[Tensor], outputs: Sequence[str] = ()
    ) -> Any:
        kind = self._pb.ModelInferRequest
        message = kind(
            model_name=model,
            id=id_,
            outputs=[kind.InferRequestedOutputTensor(name=name) for name in outputs],
        )
        message.parameters["triton_enable_empty_final_response"].bool_param = True
        add_inputs(message, tensors)
        return message

    def _stop(self, id_: str) -> None:
        """Free the slot behind an ensemble. Sent and forgotten: grpc.aio runs the call, the set keeps it
        alive."""
        names = ("input_ids", "input_lengths", "request_output_len")
        tensors = [Tensor(name, "INT32", [1, 1], bytes(4)) for name in names]
        tensors.append(Tensor("stop", "BOOL", [1, 1], b"\1"))
        call = self._tell(self._infer_request("tensorrt_llm", id_, tensors), **self._brief)
        self._stopping.add(call)
        call.add_done_callback(self._stopping.discard)

    def _fault(self, error: Any) -> BackendError:
        return fault_of_status(error.code().name, error.details() or "", self.name)

    async def aclose(self) -> None:
        await self._starting.cancel()
        channel, self._channel, self._stub, self._layout = self._channel, None, None, None
        if channel is not None:
            await channel.close()


def metadata_of(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Headers as metadata of gRPC. Raises ConfigurationError for what it would not send."""
    for name, value in headers.items():
        if not re.fullmatch("[0-9A-Za-z_.-]+", name) or not (value.isascii() and value.isprintable()):
            remedy = "names are letters, digits and _.-, values printable ASCII"
            raise ConfigurationError("headers", name, remedy)
        yield name.lower(), value
