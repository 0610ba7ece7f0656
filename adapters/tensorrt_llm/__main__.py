"""Prints engine settings: `cachelayer trtllm profile latency --config config.json --parameters 8e9 --gpu H100-80GB`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachelayer.errors import ConfigurationError

from .memory import GPUS, KV_BYTES, WEIGHT_BITS, ModelShape
from .profiles import EngineProfile, make
from .render import config_pbtxt, engine_parameters, explain, model_yaml, serve_command, serve_yaml
from .settings import KNOBS, Speculation

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

FORMS: dict[str, Callable[[EngineProfile], str]] = {
    "explain": explain,
    "yaml": serve_yaml,
    "command": lambda p: serve_command(p, "engine.yaml") + "\n",
    "model.yaml": model_yaml,
    "config.pbtxt": config_pbtxt,
    "parameters": lambda p: ",".join(f"{k}:{v}" for k, v in engine_parameters(p).items()) + "\n",
    "kwargs": lambda p: json.dumps(p.llm_kwargs(), indent=2) + "\n",
}


_WANTED = "give the model's own config.json"


def register(subparsers: Subparsers) -> None:
    """Add `profile`. Its function is `args.run`, which takes `args` and returns the exit status."""
    profile = subparsers.add_parser(
        "profile",
        help="engine settings with reasons",
        description="Computes TensorRT-LLM settings for a model on a GPU from what its memory holds, and gives the "
        "reason for each. --form chooses what is written: an explanation, or the files and flags themselves.",
    )
    add = profile.add_argument
    add("kind", choices=list(KNOBS), metavar="GOAL", help=f"what to optimize for: {', '.join(KNOBS)}")
    add("--config", type=Path, required=True, metavar="FILE", help="the model's config.json")
    add("--parameters", type=float, required=True, metavar="N", help="number of parameters, such as 8e9")
    add("--gpu", choices=list(GPUS), required=True, metavar="GPU", help=f"one of {', '.join(GPUS)}")
    add("--model", metavar="NAME", help="name or directory (default: the folder of --config)")
    add("--context", type=int, metavar="N", help="tokens of the longest request (default: the model's limit)")
    add("--concurrency", type=int, metavar="N", help="requests at a time (default: by profile)")
    add("--tp", type=int, metavar="N", help="GPUs that share each layer (default: as few as hold the model)")
    add("--pp", type=int, default=1, metavar="N", help="groups of layers, each on its own GPUs (default 1)")
    add("--weights", choices=list(WEIGHT_BITS), default="bf16", help="type of the weights (default bf16)")
    add("--kv-dtype", choices=list(KV_BYTES), default="auto", help="type of the KV cache (default auto)")
    add(
        "--host-cache",
        type=float,
        default=0.0,
        metavar="GIB",
        help="KV cache in host memory, in GiB (default 0)",
    )
    add("--speculation", choices=["Eagle", "DraftTarget", "MTP", "NGram"], help="speculative decoding")
    add("--draft", metavar="PATH", help="directory of the draft model")
    add(
        "--version",
        choices=["1.0", "1.2", "1.3"],
        default="1.2",
        help="release of TensorRT-LLM (default 1.2)",
    )
    add(
        "--form",
        choices=list(FORMS),
        default="explain",
        metavar="FORM",
        help=f"one of {', '.join(FORMS)} (default explain)",
    )
    profile.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write one form of a profile to standard output. Returns 2 with a sentence for what cannot work."""
    try:
        sys.stdout.write(_profile(arguments))
    except (ConfigurationError, OSError, ValueError) as error:
        sys.stderr.write(f"cachelayer: {error}\n")
        return 2
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m cachelayer.adapters.tensorrt_llm`; the exit status."""
    parser = argparse.ArgumentParser(prog="cachelayer trtllm")
    register(parser.add_subparsers(required=True))
    arguments = parser.parse_args(argv)
    status: int = arguments.run(arguments)
    return status


def _profile(arguments: argparse.Namespace) -> str:
    path = str(arguments.config)
    try:
        config = json.loads(arguments.config.read_text("utf-8"))
    except OSError as fault:
        raise ConfigurationError("--config", path, f"cannot be read: {fault.strerror}") from None
    except (ValueError, RecursionError) as fault:
        raise ConfigurationError("--config", path, f"not JSON ({fault}); {_WANTED}") from None
    if not isinstance(config, dict):
        raise ConfigurationError("--config", path, f"not a JSON object; {_WANTED}")
    name = arguments.model or str(arguments.config.resolve().parent)
    speculation = None
    if arguments.draft and not arguments.speculation:
        raise ConfigurationError("--draft", arguments.draft, "name by --speculation what it is for")
    if arguments.speculation:
        speculation = Speculation(method=arguments.speculation, draft=arguments.draft)
    try:
        model = ModelShape.from_config(name, config, arguments.parameters)
    except ConfigurationError as fault:
        if fault.field != "config":
            raise
        raise ConfigurationError("--config", path, f"{fault.remedy}; {_WANTED}") from None
    profile = make(
        arguments.kind,
        model,
        GPUS[arguments.gpu],
        context=arguments.context,
        concurrency=arguments.concurrency,
        tensor_parallel=arguments.tp,
        pipeline_parallel=arguments.pp,
        weights=arguments.weights,
        kv_dtype=arguments.kv_dtype,
        host_cache=arguments.host_cache,
        speculation=speculation,
        version=arguments.version,
    )
    return FORMS[arguments.form](profile)


if __name__ == "__main__":
    sys.exit(main())
