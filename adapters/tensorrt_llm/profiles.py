"""Engine settings for latency, throughput or both, each with its reason and its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from cachelayer.errors import ConfigurationError

from .memory import BLOCK, GIB, KV_BYTES, WEIGHT_BITS, Gpu, KvMemory, ModelShape, kv_memory

Kind = Literal["latency", "throughput", "balanced"]
Version = Literal["1.0", "1.2", "1.3"]

TUNING = "TensorRT-LLM docs/source/performance/tuning-max-batch-size-and-max-num-tokens.md"
ARGS = "TensorRT-LLM tensorrt_llm/llmapi/llm_args.py"
KVCACHE = "TensorRT-LLM docs/source/features/kvcache.md"
START = "engineering starting point, to be swept"
LARGE = 20e9
"""Bytes of weights from which one GPU reads them too slowly for a short step."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the engine: a dotted LLM keyword argument, why it is what it is, and who says so."""

    name: str
    value: Any
    reason: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Speculation:
    """Speculative decoding. `draft` is a directory for 'Eagle' and 'DraftTarget'; 'MTP' and 'NGram' need
    none."""

    method: Literal["Eagle", "DraftTarget", "MTP", "NGram"]
    draft: str | None = None
    max_draft_len: int = 3
    max_concurrency: int = 16
    """Off above this batch: a full GPU has no spare compute for drafts."""

    def __post_init__(self) -> None:
        if (self.method in ("Eagle", "DraftTarget")) != (self.draft is not None):
            raise ConfigurationError(
                "draft", self.draft, f"{self.method} takes a draft model exactly where it needs one"
            )
        if not 1 <= self.max_draft_len <= 16:
            raise ConfigurationError("max_draft_len", self.max_draft_len, "give 1 to 16")

    def config(self) -> dict[str, Any]:
        body: dict[str, Any] = {"decoding_type": self.method, "max_concurrency": self.max_concurrency}
        if self.method == "MTP":
            return body | {"num_nextn_predict_layers": self.max_draft_len}
        body["max_draft_len"] = self.max_draft_len
        if self.method == "NGram":
            # the public pool shares n-grams between requests, hence between tenants
            return body | {"is_public_pool": False, "max_matching_ngram_size": 2}
        return body | {"speculative_model_dir": self.draft}


@dataclass(frozen=True, slots=True)
class _Knobs:
    """What the three kinds differ in."""

    batch: int
    tokens: int
    policy: str
    interval: int
    postprocess: int
    wait_ms: float


KNOBS: dict[Kind, _Knobs] = {
    "latency": _Knobs(32, 2048, "GUARANTEED_NO_EVICT", 1, 0, 0),
    "balanced": _Knobs(256, 4096, "GUARANTEED_NO_EVICT", 1, 2, 0),
    "throughput": _Knobs(1024, 8192, "MAX_UTILIZATION", 8, 4, 10),
}


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

    `context` in tokens (default the model's), `concurrency` the expected number of requests at once,
    `weights` one of `WEIGHT_BITS`, `kv_dtype` one of `KV_BYTES`, `host_cache` in GiB. `tensor_parallel`
    defaults to the smallest degree that fits, and for latency to the NVLink domain. Raises
    ConfigurationError naming the field."""
    context = context or model.context
    _check(model, gpu, context, concurrency, weights, kv_dtype, host_cache, version)
    knobs = KNOBS[kind]
    memory_of = partial(
        kv_memory,
        model,
        gpu,
        pipeline_parallel=pipeline_parallel,
        weights=weights,
        kv_dtype=kv_dtype,
        context=context,
    )
    large = model.parameters * WEIGHT_BITS[weights] / 8 > LARGE
    degree = tensor_parallel or _degree(kind == "latency" and large, model, gpu, memory_of)
    if model.kv_heads % degree and degree % model.kv_heads:
        raise ConfigurationError(
            "tensor_parallel", degree, f"must divide the model's {model.kv_heads} KV heads"
        )
    memory = memory_of(tensor_parallel=degree)
    batch = _batch(knobs.batch, concurrency, memory)
    settings = [
        *_parallel(kind, degree, pipeline_parallel),
        *_batching(knobs, batch, context, version),
        *_cache(kv_dtype, host_cache, kv_events, memory, version),
        *_graphs(batch),
        *_observability(version),
    ]
    if gpu.sm < 80:
        settings.append(Setting("dtype", "float16", f"{gpu.name} (SM{gpu.sm}) has no BF16", ARGS))
    if speculation is not None:
        settings.append(_speculation(speculation, kind))
    return EngineProfile(
        kind=kind,
        model=model,
        gpu=gpu,
        version=version,
        weights=weights,
        memory=memory,
        settings=tuple(settings),
    )


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
    if concurrency is not None and concurrency < 1:
        raise ConfigurationError("concurrency", concurrency, "give at least 1")
    if host_cache < 0:
        raise ConfigurationError("host_cache", host_cache, "give GiB >= 0")
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


def _parallel(kind: Kind, degree: int, pipeline: int) -> list[Setting]:
    why = (
        "splits each layer, which shortens every step"
        if kind == "latency"
        else "the smallest degree that fits; more replicas beat wider ones"
    )
    settings = [Setting("tensor_parallel_size", degree, why, START)]
    if pipeline > 1:
        settings.append(
            Setting("pipeline_parallel_size", pipeline, "layers on several GPUs without NVLink", START)
        )
    return settings


def _batching(knobs: _Knobs, batch: int, context: int, version: Version) -> list[Setting]:
    settings = [
        Setting(
            "max_batch_size",
            batch,
            "requests an iteration: just above peak concurrency for latency, swept for throughput",
            TUNING,
        ),
        Setting(
            "max_num_tokens",
            knobs.tokens,
            "token budget of an iteration: bounds how long one prefill chunk delays the others' next token",
            TUNING,
        ),
        Setting("max_seq_len", context, "prompt and output together; sizes the KV pool's promise", ARGS),
        Setting(
            "enable_chunked_prefill",
            True,
            "long prompts are cut, so that they neither wait whole nor stall decoding; off by default",
            TUNING,
        ),
        Setting(
            "disable_overlap_scheduler", False, "the CPU prepares the next step while the GPU computes", ARGS
        ),
        Setting(
            "scheduler_config.capacity_scheduler_policy",
            knobs.policy,
            "in-flight batching; MAX_UTILIZATION pauses requests under KV pressure, which costs tail latency",
            TUNING,
        ),
        Setting(
            "stream_interval",
            knobs.interval,
            "iterations a streamed response; more saves host time at large batches",
            ARGS,
        ),
        Setting(
            "num_postprocess_workers",
            knobs.postprocess,
            "detokenizing in other processes pays with many streams",
            START,
        ),
    ]
    if version != "1.0" and knobs.wait_ms:
        settings.append(
            Setting(
                "batch_wait_timeout_ms", knobs.wait_ms, "waits for a fuller batch; never for latency", START
            )
        )
    if version == "1.3":
        settings.append(
            Setting(
                "scheduler_config.enable_prefix_aware_scheduling",
                True,
                "a duplicate first chunk waits for the blocks of the first one",
                ARGS,
            )
        )
    return settings


def _cache(
    kv_dtype: str, host_cache: float, events: bool, memory: KvMemory, version: Version
) -> list[Setting]:
    p = "kv_cache_config."
    settings = [
        Setting(p + "enable_block_reuse", True, "prefix caching: shared prompts are computed once", KVCACHE),
        Setting(p + "enable_partial_reuse", True, "a block that matches in part is reused too", KVCACHE),
        Setting(p + "copy_on_partial_reuse", True, "by copying, so that both users keep theirs", KVCACHE),
        Setting(
            p + "free_gpu_memory_fraction",
            0.9,
            f"{memory.blocks} blocks of {BLOCK} tokens; up to 0.95 alone on a GPU, never 1.0",
            TUNING,
        ),
    ]
    if version != "1.0":
        settings.append(Setting(p + "tokens_per_block", BLOCK, "the granularity of sharing", KVCACHE))
    if kv_dtype != "auto":
        settings.append(
            Setting(p + "dtype", kv_dtype, "halves (fp8) or quarters (nvfp4) the bytes a token", ARGS)
        )
    if host_cache:
        settings += [
            Setting(
                p + "host_cache_size",
                int(host_cache * GIB),
                "blocks pushed off the GPU stay on the host; pinned memory, slow to allocate on x86",
                KVCACHE,
            ),
            Setting(
                p + "secondary_offload_min_priority",
                30,
                "one-shot decode blocks (priority 10 to 20) are dropped, not offloaded",
                KVCACHE,
            ),
        ]
    if events:
        settings.append(
            Setting(p + "event_buffer_max_size", 16384, "0, the default, means no KV events", ARGS)
        )
    return settings


def _graphs(batch: int) -> list[Setting]:
    return [
        Setting(
            "cuda_graph_config.enable_padding",
            True,
            "batches between two graph sizes run on the next larger one; usually a net win",
            ARGS,
        ),
        Setting(
            "cuda_graph_config.max_batch_size", batch, "graphs for every decode batch there can be", ARGS
        ),
    ]


def _observability(version: Version) -> list[Setting]:
    settings = [
        Setting(
            "enable_iter_perf_stats",
            True,
            "without it /metrics has no queue, and admission sees nothing",
            ARGS,
        )
    ]
    if version != "1.0":
        settings += [
            Setting("return_perf_metrics", True, "mounts /prometheus/metrics", ARGS),
            Setting(
                "perf_metrics_max_requests", 1000, "queue times below 0.3 s show only in /perf_metrics", ARGS
            ),
        ]
    return settings


def _speculation(speculation: Speculation, kind: Kind) -> Setting:
    if kind == "throughput":
        raise ConfigurationError(
            "speculation",
            speculation.method,
            "a full GPU has no compute to spare for drafts: use it with latency or balanced",
        )
    reason = f"several tokens a step while at most {speculation.max_concurrency} requests run"
    return Setting("speculative_config", speculation.config(), reason, ARGS)
