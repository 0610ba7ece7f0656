"""A proxy before Triton: it wants to know who asks, at every call, and refuses in statuses of its own."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm import (
    BackendError,
    Cancelled,
    Overloaded,
    RequestRejected,
    TensorRTLLM,
    Unavailable,
)
from cachelayer.adapters.tensorrt_llm.router import RouterPolicy

from cachelayer.errors import ConfigurationError

grpc = pytest.importorskip("grpc")
pb = importlib.import_module("tritonclient.grpc.service_pb2")
stubs = importlib.import_module("tritonclient.grpc.service_pb2_grpc")
BLS = {
    "name": "tensorrt_llm_bls",
    "input": [
        {"name": "text_input", "data_type": "TYPE_STRING"},
        {"name": "max_tokens", "data_type": "TYPE_INT32"},
    ],
    "output": [{"name": "text_output", "data_type": "TYPE_STRING"}],
}


class Proxy(stubs.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Triton with one model, for those who are known. `refuses`: the status and words that a stream ends in; `ill`:
    those that every call ends in; `has`: the models that it has loaded; `cut`: after so many responses, of which none
    is the final one, a stream ends in good order; `batch`: what the model takes at once, and by a `text` or a status it
    refuses tensors of another form."""

    def __init__(self) -> None:
        self.has = [BLS["name"]]
        self.refuses: tuple[str, str] | None = None
        self.ill: tuple[str, str] | None = None
        self.cut: int | None = None
        self.decoupled, self.batch, self.text, self.told = True, 0, False, list[dict[str, str]]()
        self.address = ""

    async def _known(self, context: Any) -> None:
        self.told.append(dict(map(tuple, context.invocation_metadata())))
        if ("authorization", "Bearer x") not in tuple(map(tuple, context.invocation_metadata())):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you")
        if self.ill is not None:
            await context.abort(grpc.StatusCode[self.ill[0]], self.ill[1])

    async def ServerMetadata(self, request: Any, context: Any) -> Any:
        await self._known(context)
        return pb.ServerMetadataResponse(version="2.51.0")

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:
        await self._known(context)
        index = pb.RepositoryIndexResponse()
        for name in self.has:
            index.models.add(name=name, state="READY")
        return index

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        await self._known(context)
        if request.name not in self.has:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"unknown model {request.name}")
        if request.name != BLS["name"]:
            return pb.ModelConfigResponse()
        parse = importlib.import_module("google.protobuf.json_format").ParseDict
        how = {"max_batch_size": self.batch, "model_transaction_policy": {"decoupled": self.decoupled}}
        config = {**BLS, **how}
        return pb.ModelConfigResponse(config=parse(config, pb.ModelConfigResponse().config))

    async def ModelReady(self, request: Any, context: Any) -> Any:
        await self._known(context)
        return pb.ModelReadyResponse(ready=True)

    async def ModelStreamInfer(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        await self._known(context)
        async for request in requests:
            if self.refuses is not None:
                await context.abort(grpc.StatusCode[self.refuses[0]], self.refuses[1])
            said = "unexpected shape for input 'text_input' for model 'tensorrt_llm_bls'"
            if len(request.inputs[0].shape) != 1 + bool(self.batch):
                if not self.text:
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, said)
                yield pb.ModelStreamInferResponse(error_message=said)
                return
            answer = pb.ModelStreamInferResponse()
            answer.infer_response.id = request.id
            answer.infer_response.parameters["triton_final_response"].bool_param = self.cut is None
            answer.infer_response.outputs.add(name="text_output", datatype="BYTES", shape=[1])
            answer.infer_response.raw_output_contents.append(b"\2\0\0\0hi")
            for _ in range(1 if self.cut is None else self.cut):
                yield answer
            if self.cut is not None:
                return


@asynccontextmanager
async def served() -> AsyncIterator[Proxy]:
    server, found = grpc.aio.server(), Proxy()
    stubs.add_GRPCInferenceServiceServicer_to_server(found, server)
    found.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield found
    await server.stop(1)


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with served() as found:
        yield found


async def test_headers_go_with_every_call_however_their_names_are_written(proxy: Proxy) -> None:
    """`start` sent none, so that a server that wants them could not be used."""
    llm = TensorRTLLM.connect(f"triton://{proxy.address}", headers={"Authorization": "Bearer x"})
    assert (await llm(prompt="x"))["choices"][0]["text"] == "hi"
    assert await llm.healthy()
    assert {told["triton_grpc_error"] for told in proxy.told} == {"true"}, "each asks for real statuses"
    await llm.aclose()


@pytest.mark.parametrize("cut", [0, 1])
async def test_a_stream_that_ends_before_its_final_response_is_no_whole_answer(
    proxy: Proxy, cut: int
) -> None:
    proxy.cut = cut
    llm = TensorRTLLM.connect(
        f"triton://{proxy.address}", headers={"authorization": "Bearer x"}, unknown_finish="stop"
    )
    with pytest.raises(Unavailable, match="ended early"):
        await llm(prompt="x")
    await llm.aclose()


@pytest.mark.parametrize("headers", [{"x y": "1"}, {"authorization": "Bearer ü"}, {"authorization": "a\nb"}])
def test_headers_that_grpc_would_not_send_are_refused_without_their_value(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="headers=") as fault:
        TensorRTLLM.connect("triton://127.0.0.1:1", headers=headers)
    assert "Bearer" not in str(fault.value)


async def test_who_is_not_known_is_refused_and_the_server_is_not_at_fault(proxy: Proxy) -> None:
    llm = TensorRTLLM.connect(f"triton://{proxy.address}")
    with pytest.raises(RequestRejected, match=f"{proxy.address}: who are you") as fault:
        await llm(prompt="x")
    assert fault.value.status == 401
    await llm.aclose()


@pytest.mark.parametrize(
    ("refuses", "kind", "status"),
    [
        (("PERMISSION_DENIED", "no"), RequestRejected, 403),
        (("RESOURCE_EXHAUSTED", "too many requests"), Overloaded, 429),
        (("RESOURCE_EXHAUSTED", "Received message larger than max (9 vs. 4)"), RequestRejected, 413),
        (("UNAVAILABLE", "Exceeds maximum queue size"), Overloaded, 503),
        (("UNAVAILABLE", "no healthy upstream"), Unavailable, 503),
        (("INTERNAL", "request cancelled"), Cancelled, 502),
        (("NOT_FOUND", "unknown model"), Unavailable, 503),
        (("DEADLINE_EXCEEDED", "upstream request timeout"), Unavailable, 504),
        (("UNKNOWN", "what"), Unavailable, 503),
    ],
)
async def test_a_status_says_whose_fault_it_is(
    proxy: Proxy, refuses: tuple[str, str], kind: type[BackendError], status: int
) -> None:
    llm = TensorRTLLM.connect(f"triton://{proxy.address}", headers={"authorization": "Bearer x"})
    await llm.start()
    proxy.refuses = refuses
    with pytest.raises(kind, match=f"^triton://{proxy.address}: ") as fault:
        await llm(prompt="x")
    assert type(fault.value) is kind and fault.value.status == status
    await llm.aclose()


async def test_a_model_that_cannot_stream_is_known_for_it_and_streams_its_answer_whole(proxy: Proxy) -> None:
    llm = TensorRTLLM.connect(f"triton://{proxy.address}", headers={"authorization": "Bearer x"})
    assert (await llm.start()).streaming
    await llm.aclose()
    proxy.decoupled = False
    assert not (await llm.start()).streaming
    stream = await llm(prompt="x", stream=True)
    assert "".join([chunk["choices"][0]["text"] async for chunk in stream]) == "hi"
    await llm.aclose()


async def test_a_server_without_a_ready_model_is_unavailable_until_it_has_one(proxy: Proxy) -> None:
    llm = TensorRTLLM.connect(f"triton://{proxy.address}", headers={"authorization": "Bearer x"})
    proxy.has = []
    with pytest.raises(Unavailable, match="no ready model"):
        await llm(prompt="x")
    proxy.has = [BLS["name"]]
    assert (await llm(prompt="x"))["choices"][0]["text"] == "hi"
    await llm.aclose()


@pytest.mark.parametrize("has", [[], ["another"]], ids=["nothing", "another"])
async def test_a_replica_that_has_not_loaded_its_model_keeps_no_other_from_the_start(
    proxy: Proxy, has: list[str]
) -> None:
    """One that has loaded another model and not yet this one was a fault of the settings, and nobody was served."""
    async with served() as other:
        other.has = has
        urls = [f"triton://{one.address}" for one in (proxy, other)]
        llm = TensorRTLLM.connect(urls, headers={"authorization": "Bearer x"}, fleet={"seed": 1})
        assert (await llm(prompt="x"))["choices"][0]["text"] == "hi"
        await llm.aclose()
        proxy.has = other.has = ["another"]
        with pytest.raises(ConfigurationError, match="it has \\['another'\\]"):
            await llm(prompt="x")
        await llm.aclose()


@pytest.mark.parametrize("text", [False, True])
async def test_a_model_that_is_loaded_anew_with_another_configuration_is_read_again(
    proxy: Proxy, text: bool
) -> None:
    """Every request was refused from then on, as if it were at fault; of several replicas none is one caller's."""
    async with served() as other:
        known = {"authorization": "Bearer x"}
        one = TensorRTLLM.connect(f"triton://{proxy.address}", headers=known)
        several = TensorRTLLM.connect(
            [f"triton://{it.address}" for it in (proxy, other)], headers=known, fleet={"seed": 1}
        )
        await one.start()
        await several.start()
        proxy.batch, proxy.text = 4, text
        for _ in range(8):
            assert (await several(prompt="x"))["choices"][0]["text"] == "hi"
        with pytest.raises(Unavailable, match="unexpected shape"):
            await one(prompt="x")
        assert (await one(prompt="x"))["choices"][0]["text"] == "hi"
        proxy.batch = 0
        with pytest.raises(Unavailable, match="unexpected shape"):
            await one(prompt="x")
        proxy.has = ["another"]
        with pytest.raises(Unavailable, match="it has \\['another'\\]"):  # no fault of the settings any more
            await one(prompt="x")
        await one.aclose()
        await several.aclose()


@pytest.mark.parametrize("model", ["", BLS["name"]])
@pytest.mark.parametrize("has", [[], ["another"]], ids=["nothing", "another"])
async def test_a_replica_that_comes_back_without_its_model_costs_no_caller_an_error(
    proxy: Proxy, has: list[str], model: str
) -> None:
    """What the server says of its model was told to the caller, as if the request were at fault."""
    async with served() as other:
        router = RouterPolicy(cooldown=0.0, failures=1)  # a replica that failed is tried at once
        urls = [f"triton://{one.address}/{model}" for one in (proxy, other)]
        fleet = {"router": router, "seed": 1}
        llm = TensorRTLLM.connect(urls, headers={"authorization": "Bearer x"}, fleet=fleet)
        await llm.start()
        other.has, other.refuses = has, ("UNAVAILABLE", "no healthy upstream")
        for _ in range(8):
            assert (await llm(prompt="x"))["choices"][0]["text"] == "hi"
        assert not llm.transport.signals()["replicas"][f"triton://{other.address}"]["up"]
        await llm.aclose()


@pytest.mark.parametrize(
    "code", ["CANCELLED", "DEADLINE_EXCEEDED", "NOT_FOUND", "ABORTED", "RESOURCE_EXHAUSTED"]
)
@pytest.mark.parametrize("also_ill", [False, True], ids=["streams", "everything"])
async def test_a_replica_that_ends_every_call_costs_no_caller_an_error_and_is_left_alone(
    proxy: Proxy, code: str, also_ill: bool
) -> None:
    """One that goes away cancels what runs, and one that hangs at its start runs into our own patience: both were told
    to the caller, and the next one was sent there again."""
    async with served() as other:
        urls = [f"triton://{one.address}" for one in (proxy, other)]
        router = RouterPolicy(cooldown=600.0, failures=1)
        llm = TensorRTLLM.connect(
            urls, headers={"authorization": "Bearer x"}, fleet={"seed": 1, "router": router}
        )
        await llm.start()
        other.refuses = code, "going away"
        other.ill = other.refuses if also_ill else None
        replica = llm.transport.members[f"triton://{other.address}"].replica  # type: ignore[attr-defined]
        replica.failures = 1  # due to be tried
        for _ in range(8):
            assert (await llm(prompt="x"))["choices"][0]["text"] == "hi"
        assert replica.open_until > asyncio.get_running_loop().time() and not replica.probing
        await llm.aclose()
