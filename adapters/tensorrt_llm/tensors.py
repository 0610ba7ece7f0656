"""Triton tensors of the two TensorRT-LLM layouts: names, bytes, and what a model's configuration says."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import RequestRejected
from .request import Request

FORMATS = {"INT32": "<i", "INT64": "<q", "UINT64": "<Q", "FP32": "<f", "BOOL": "<?"}

ENSEMBLE = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop_words",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "repetition_penalty": "repetition_penalty",
    "length_penalty": "length_penalty",
    "min_tokens": "min_tokens",
}
LLMAPI = {
    name: f"sampling_param_{name}"
    for name in (
        "max_tokens temperature top_k top_p seed stop presence_penalty frequency_penalty best_of"
    ).split()
}
ENSEMBLE_FLAGS = (
    "exclude_input_in_output",
    "return_num_input_tokens",
    "return_num_output_tokens",
    "return_perf_metrics",
)
LLMAPI_FLAGS = (
    "sampling_param_exclude_input_from_output",
    "sampling_param_return_perf_metrics",
    "return_finish_reason",
    "return_stop_reason",
)
OUTPUTS = (
    "text_output finish_reason stop_reason num_input_tokens num_output_tokens kv_cache_reused_blocks"
    " kv_cache_reused_block arrival_time_ns first_scheduled_time_ns"
).split()
"""What an answer is made of; text first. Log-probabilities and logits are never asked for."""
NEUTRAL: dict[str, Any] = {
    "n": 1, "best_of": 1, "logprobs": False, "top_logprobs": 0, "tools": [], "tool_choice": "none", "stop": [],
    "stop_token_ids": [], "logit_bias": {}, "response_format": {"type": "text"}, "echo": False, "min_tokens": 0,
    "presence_penalty": 0, "frequency_penalty": 0, "repetition_penalty": 1, "ignore_eos": False,
    "use_beam_search": False, "skip_special_tokens": True, "include_stop_str_in_output": False,
}  # fmt: skip
"""Values that ask for nothing, and may be dropped where Triton has no tensor for the field."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How one Triton model speaks, read from its configuration."""

    model: str
    llmapi: bool
    inputs: Mapping[str, str]
    """Input name to datatype ('BYTES', 'INT32', ...)."""
    outputs: frozenset[str]
    batched: bool
    """max_batch_size > 0: every tensor needs a leading batch dimension."""
    decoupled: bool
    cumulative: bool
    """A response repeats the text before it: the LLM-API model does, the ensemble sends steps."""

    @property
    def wanted(self) -> list[str]:
        return [name for name in OUTPUTS if name in self.outputs]

    @property
    def excludes_prompt(self) -> bool:
        return (LLMAPI_FLAGS if self.llmapi else ENSEMBLE_FLAGS)[0] in self.inputs


def layout_of(config: Mapping[str, Any]) -> Layout | None:
    """The layout of a model's configuration (the JSON form), None if it is not a TensorRT-LLM text
    model."""
    inputs = {i["name"]: _datatype(i["data_type"]) for i in config.get("input", ())}
    llmapi = "sampling_param_max_tokens" in inputs
    if "text_input" not in inputs or not (llmapi or "max_tokens" in inputs):
        return None
    parameters = config.get("parameters", {})
    accumulates = str(parameters.get("accumulate_tokens", {}).get("string_value", "")).lower() == "true"
    return Layout(
        model=config["name"],
        llmapi=llmapi,
        inputs=inputs,
        outputs=frozenset(o["name"] for o in config.get("output", ())),
        batched=int(config.get("max_batch_size", 0)) > 0,
        decoupled=bool(config.get("model_transaction_policy", {}).get("decoupled", False)),
        cumulative=llmapi or accumulates,
    )


def _datatype(name: str) -> str:
    return "BYTES" if name == "TYPE_STRING" else name.removeprefix("TYPE_")


@dataclass(slots=True)
class Tensor:
    """An input as it goes on the wire."""

    name: str
    datatype: str
    shape: list[int]
    raw: bytes


def encode(layout: Layout, name: str, values: Sequence[Any]) -> Tensor:
    """Raises RequestRejected for a value that does not fit the tensor's datatype."""
    datatype = layout.inputs[name]
    try:
        if datatype == "BYTES":
            items = [value if isinstance(value, bytes) else str(value).encode() for value in values]
            raw = b"".join(struct.pack("<I", len(item)) + item for item in items)
        else:
            raw = b"".join(struct.pack(FORMATS[datatype], value) for value in values)
    except (struct.error, KeyError, OverflowError, UnicodeEncodeError) as error:
        shown = name if datatype == "BYTES" else f"{name}={list(values)!r}"  # prompts are in no error
        raise RequestRejected(f"{shown} does not fit {datatype}: {error}") from None
    return Tensor(name, datatype, [1, len(values)] if layout.batched else [len(values)], raw)


def inputs_of(layout: Layout, request: Request, prompt: str, default_max_tokens: int) -> list[Tensor]:
    """The input tensors of a request. A field that Triton has no tensor for is refused, unless it asks for
    nothing."""
    names = LLMAPI if layout.llmapi else ENSEMBLE
    if request.max_tokens is not None and request.max_tokens < 1:
        raise RequestRejected(f"max_tokens={request.max_tokens}: {layout.model} needs at least 1")
    params = {"max_tokens": request.max_tokens or default_max_tokens} | request.params
    params.pop("max_completion_tokens", None)
    params.pop("user", None)
    tensors = [encode(layout, "text_input", [prompt])]
    for field, value in params.items():
        tensor = names.get(field, "")
        if tensor in layout.inputs:
            many = isinstance(value, list | tuple) and layout.inputs[tensor] == "BYTES"
            tensors.append(encode(layout, tensor, value if many else [value]))
        elif field not in NEUTRAL or value != NEUTRAL[field]:
            raise RequestRejected(f"{layout.model} has no input for {field}")
    stream = "streaming" if layout.llmapi else "stream"
    if stream in layout.inputs:
        tensors.append(encode(layout, stream, [request.stream and layout.decoupled]))
    return tensors


def flags_of(layout: Layout) -> list[Tensor]:
    """The input tensors that every request of a model has in common: what else to return, and no echo."""
    flags = LLMAPI_FLAGS if layout.llmapi else ENSEMBLE_FLAGS
    return [encode(layout, flag, [True]) for flag in flags if flag in layout.inputs]


def add_inputs(message: Any, tensors: Sequence[Tensor]) -> None:
    """Append tensors to a ModelInferRequest."""
    for tensor in tensors:
        message.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        message.raw_input_contents.append(tensor.raw)


def decode(datatype: str, raw: bytes) -> Any:
    """The first element of an output tensor; None if it has none."""
    if datatype == "BYTES":
        if len(raw) < 4:
            return None
        return raw[4 : 4 + struct.unpack_from("<I", raw)[0]].decode("utf-8", "replace")
    format_ = FORMATS.get(datatype)
    if format_ is None or len(raw) < struct.calcsize(format_):
        return None
    return struct.unpack_from(format_, raw)[0]


def number(value: Any) -> float | None:
    """Metric tensors are declared as numbers and often arrive as text."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


HELD = "\ufffd".encode()


class TextDiff:
    """New text out of cumulative texts, UTF-8 bytes in, so that a step costs what is new and not what was said.

    A trailing U+FFFD stands for a character whose bytes are not all there; it is held back until they are,
    because the next cumulative text replaces it.
    """

    __slots__ = ("_sent",)

    def __init__(self) -> None:
        self._sent = b""

    def step(self, text: bytes, final: bool) -> str:
        """Raises ValueError if `text` does not continue what was sent."""
        while not final and text.endswith(HELD):
            text = text[: -len(HELD)]
        sent = self._sent
        if not text.startswith(sent):
            if sent.startswith(text):
                return ""
            raise ValueError("a cumulative text does not continue the one before it")
        self._sent = text
        return text[len(sent) :].decode("utf-8", "replace")
