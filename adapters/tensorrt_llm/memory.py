"""What fits on a GPU: weights, and KV blocks for how many sequences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cachelayer.errors import ConfigurationError

GIB = 2**30
WEIGHT_BITS = {"fp16": 16, "bf16": 16, "fp8": 8, "int8": 8, "nvfp4": 4.5, "awq": 4.25}
"""Bits a parameter, block scales included (NVFP4: one FP8 scale for 16 values; AWQ: FP16 scale and zero for
128)."""
KV_BYTES = {"auto": 2.0, "fp8": 1.0, "nvfp4": 0.5625}
RESERVE = 3.0
"""GiB a GPU for activations, CUDA graphs and the runtime: an assumption, not a measurement."""
KV_SHARE = 0.9
"""Of what the weights and these leave free."""
BLOCK = 32
"""Tokens a KV block: the default of the PyTorch backend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """A GPU type: memory in GiB, compute capability as 10 * major + minor, GPUs joined by NVLink."""

    name: str
    memory: float
    sm: int
    nvlink: int = 8


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(name="T4", memory=15, sm=75, nvlink=1),
        Gpu(name="A10G", memory=22, sm=86, nvlink=1),
        Gpu(name="L4", memory=22, sm=89, nvlink=1),
        Gpu(name="L40S", memory=45, sm=89, nvlink=1),
        Gpu(name="A100-80GB", memory=79, sm=80),
        Gpu(name="H100-80GB", memory=79, sm=90),
        Gpu(name="H200", memory=139, sm=90),
        Gpu(name="B200", memory=178, sm=100),
    )
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """What memory depends on. `parameters` is a count; `context` the model's own limit in tokens."""

    name: str
    parameters: float
    layers: int
    kv_heads: int
    head_dim: int
    hidden: int
    context: int
    latent: int = 0
    """Numbers a token and layer that stand for K and V of all heads (multi-head latent attention); 0 if each KV
    head keeps its own."""

    def __post_init__(self) -> None:
        if not 0 < self.parameters < 1e18:
            raise ConfigurationError("parameters", self.parameters, "give their number, such as 8.03e9")
        for name in ("layers", "kv_heads", "head_dim", "hidden", "context"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigurationError(name, value, f"of {self.name}: give a whole number of at least 1")
        if not isinstance(self.latent, int) or self.latent < 0:
            raise ConfigurationError(
                "latent", self.latent, f"of {self.name}: give a whole number, 0 for none"
            )

    @classmethod
    def from_config(cls, name: str, config: Mapping[str, Any], parameters: float) -> ModelShape:
        """From a Hugging Face `config.json`. Raises ConfigurationError naming a field that is not there."""
        config = config.get("text_config", config)
        try:
            heads, hidden = config["num_attention_heads"], config["hidden_size"]
            return cls(
                name=name,
                parameters=parameters,
                layers=config["num_hidden_layers"],
                kv_heads=config.get("num_key_value_heads") or heads,
                head_dim=config.get("head_dim") or hidden // heads,
                hidden=hidden,
                context=config["max_position_embeddings"],
                latent=_latent(config),
            )
        except KeyError as missing:
            raise ConfigurationError("config", name, f"it has no {missing}") from None
        except (TypeError, ZeroDivisionError) as fault:
            raise ConfigurationError("config", name, f"a field of it is not a number: {fault}") from None


def _latent(config: Mapping[str, Any]) -> int:
    """DeepSeek's config.json says so by the rank that K and V are compressed to; K's rotary part is kept beside it."""
    rank = config.get("kv_lora_rank") or 0
    return int(rank + config["qk_rope_head_dim"]) if rank else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class KvMemory:
    """Per GPU, in bytes unless it says otherwise."""

    weights: int
    reserve: int
    kv: int
    bytes_per_token: int
    """2 (K and V) * layers * kv heads * head dimension * bytes, of this GPU's share; latent ones are on every GPU."""
    blocks: int
    tokens: int
    sequences: int
    """Sequences of the full context that fit at once."""


def kv_memory(
    model: ModelShape,
    gpu: Gpu,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    weights: str = "bf16",
    kv_dtype: str = "auto",
    context: int | None = None,
) -> KvMemory:
    """How many KV blocks fit beside the weights.

    Raises ConfigurationError with the sums where not one sequence of `context` tokens fits."""
    world = tensor_parallel * pipeline_parallel
    weight_bytes = int(model.parameters * WEIGHT_BITS[weights] / 8 / world)
    reserved = int(RESERVE * GIB)
    heads = max(1, -(-model.kv_heads // tensor_parallel))
    layers = -(-model.layers // pipeline_parallel)
    numbers = model.latent or 2 * heads * model.head_dim
    per_token = int(layers * numbers * KV_BYTES[kv_dtype])
    free = int(gpu.memory * GIB) - weight_bytes - reserved
    kv = max(0, int(free * KV_SHARE))
    blocks = kv // (per_token * BLOCK)
    wanted = context or model.context
    found = KvMemory(
        weights=weight_bytes,
        reserve=reserved,
        kv=kv,
        bytes_per_token=per_token,
        blocks=blocks,
        tokens=blocks * BLOCK,
        sequences=blocks * BLOCK // wanted,
    )
    if found.sequences < 1:
        raise ConfigurationError("context", wanted, _refusal(model, gpu, found, world, wanted))
    return found


def _refusal(model: ModelShape, gpu: Gpu, found: KvMemory, world: int, context: int) -> str:
    need = context * found.bytes_per_token / GIB
    return (
        f"{model.name} on {world} x {gpu.name} does not fit: of {gpu.memory:.0f} GiB a GPU, weights take "
        f"{found.weights / GIB:.1f} and the runtime {found.reserve / GIB:.1f}, which leaves {found.kv / GIB:.1f} GiB "
        f"for KV blocks; one sequence of {context} tokens needs {need:.1f} GiB ({found.bytes_per_token} bytes a "
        "token). Raise tensor_parallel, take quantized weights (fp8, awq, nvfp4), kv_dtype='fp8', or a shorter context"
    )
