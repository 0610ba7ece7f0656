"""Engine settings for latency, throughput or both, each with its reason and its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cachelayer.checks import number, whole
from cachelayer.errors import ConfigurationError

from .memory import KV_BYTES, WEIGHT_BITS, Gpu, KvMemory, ModelShape, kv_memory
from .settings import (
    KNOBS,
    Kind,
    Setting,
    Speculation,
    Version,
    batching,
    cache,
    graphs,
    observability,
    parallel,
    precision,
    speculative,
)

MOST_HOST = 2**20
"""GiB of a host's memory; what is more is none's."""
LARGE = 20e9
"""Bytes of weights from which one GPU reads them too slowly for a short step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineProfile:
    """Settings of one engine, checked and sized. Made by `latency`, `throughput` and `balanced`."""

    kind: Kind
    model: ModelShape
    gpu: Gpu
    version: Version
    weights: str
    memory: KvMemory
    settings: tuple[Setting, ...]

    @classmethod
    def latency(cls, model: ModelShape, gpu: Gpu, **options: Any) -> EngineProfile:
        """Short time to the first token and steady tokens; options as in `make`."""
        return make("latency", model, gpu, **options)

    @classmethod
    def throughput(cls, model: ModelShape, gpu: Gpu, **options: Any) -> EngineProfile:
        """Most tokens a second and GPU; options as in `make`."""
        return make("throughput", model, gpu, **options)

    @classmethod
    def balanced(cls, model: ModelShape, gpu: Gpu, **options: Any) -> EngineProfile:
        """Between the two; options as in `make`."""
        return make("balanced", model, gpu, **options)

    def llm_kwargs(self) -> dict[str, Any]:
        """Nested keyword arguments for `tensorrt_llm.LLM`, which takes the same mappings as the YAML."""
        body: dict[str, Any] = {}
        for setting in self.settings:
            *path, name = setting.name.split(".")
            inner = body
            for part in path:
                inner = inner.setdefault(part, {})
            inner[name] = setting.value
        return body


def make(
    kind: Kind,
    model: ModelShape,
    gpu: Gpu,
    *,
    context: int | None = None,
    concurrency: int | None = None,
    tensor_parallel: int | None = None,
    pipeline_parallel: int = 1,
    weights: str = "bf16",
    kv_dtype: str = "auto",
    host_cache: float = 0.0,
    speculation: Speculation | None = None,
    kv_events: bool = False,
    version: Version = "1.2",
) -> EngineProfile:
    """Choose and check every setting.

    `context` in tokens (default the model's), `concurrency` the expected number of requests at once, `weights` one of
    `WEIGHT_BITS`, `kv_dtype` one of `KV_BYTES`, `host_cache` in GiB. `tensor_parallel` defaults to the smallest degree
    that fits; for the latency of a large model at least to 4, where NVLink joins as many. Raises ConfigurationError
    naming the field.
    """
    for name, value in (
        ("context", context),
        ("tensor_parallel", tensor_parallel),
        ("pipeline_parallel", pipeline_parallel),
    ):
        if value is not None:
            whole(name, value, 1)
    if pipeline_parallel > model.layers:
        raise ConfigurationError(
            "pipeline_parallel", pipeline_parallel, f"give at most the model's {model.layers} layers"
        )
    context = context or model.context
    _check(model, gpu, context, concurrency, weights, kv_dtype, host_cache, version)
    memory_of = partial(
        kv_memory, model, gpu, pipeline_parallel=pipeline_parallel, weights=weights, kv_dtype=kv_dtype, context=context
    )  # fmt: skip
    large = model.parameters * WEIGHT_BITS[weights] / 8 > LARGE
    degree = tensor_parallel or _degree(kind == "latency" and large, model, gpu, memory_of)
    if model.kv_heads % degree and degree % model.kv_heads:
        raise ConfigurationError(
            "tensor_parallel",
            degree,
            f"give a divisor or a multiple of the model's {model.kv_heads} KV heads",
        )
    memory, knobs = memory_of(tensor_parallel=degree), KNOBS[kind]
    batch = _batch(knobs.batch, concurrency, memory)
    settings = [
        *parallel(kind, degree, pipeline_parallel),
        *batching(knobs, batch, context, version),
        *cache(kv_dtype, host_cache, kv_events, memory, version),
        *graphs(batch),
        *observability(version),
        *precision(gpu),
        *speculative(speculation, kind),
    ]
    return EngineProfile(
        kind=kind, model=model, gpu=gpu, version=version, weights=weights, memory=memory, settings=tuple(settings)
    )  # fmt: skip


def _check(
    model: ModelShape,
    gpu: Gpu,
    context: int,
    concurrency: int | None,
    weights: str,
    kv_dtype: str,
    host_cache: float,
    version: str,
) -> None:
    for field, value, known in (
        ("weights", weights, WEIGHT_BITS),
        ("kv_dtype", kv_dtype, KV_BYTES),
        ("version", version, ("1.0", "1.2", "1.3")),
    ):
        if value not in known:
            raise ConfigurationError(field, value, f"give one of {', '.join(known)}")
    if not 1 <= context <= model.context:
        raise ConfigurationError("context", context, f"give 1 to {model.context}, the model's own limit")
    if concurrency is not None:
        whole("concurrency", concurrency, 1)
    number("host_cache", host_cache, unit="GiB")
    if host_cache > MOST_HOST:
        raise ConfigurationError("host_cache", host_cache, f"give GiB, at most {MOST_HOST:,}")
    for field, value in (("weights", weights), ("kv_dtype", kv_dtype)):
        needed = {"fp8": 89, "nvfp4": 100, "bf16": 75}.get(value, 0)
        if gpu.sm < needed:
            raise ConfigurationError(field, value, f"needs SM{needed} or later, {gpu.name} is SM{gpu.sm}")


def _degree(wide: bool, model: ModelShape, gpu: Gpu, memory_of: Callable[..., KvMemory]) -> int:
    """The smallest tensor-parallel degree that fits; where `wide`, at least 4 where NVLink joins them."""
    degrees = [
        d for d in (1, 2, 4, 8) if d <= gpu.nvlink and (model.kv_heads % d == 0 or d % model.kv_heads == 0)
    ]
    smallest = degrees[-1]
    for degree in degrees:
        try:
            memory_of(tensor_parallel=degree)
        except ConfigurationError:
            continue
        smallest = degree
        break
    return max(smallest, min(4, degrees[-1])) if wide else smallest


def _batch(ceiling: int, concurrency: int | None, memory: KvMemory) -> int:
    """A power of two just above the expected concurrency; at most four times what full contexts would
    fill."""
    limits = [ceiling, _power_above(max(8, 4 * memory.sequences))]
    if concurrency is not None:
        limits.append(_power_above(concurrency + concurrency // 4))
    return min(limits)


def _power_above(value: int) -> int:
    return 1 << max(0, value - 1).bit_length()
