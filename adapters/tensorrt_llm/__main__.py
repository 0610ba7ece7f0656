"""`python -m cachelayer.adapters.tensorrt_llm profile latency --config config.json --parameters 8e9 --gpu
H100-80GB`"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cachelayer.errors import ConfigurationError

from .memory import GPUS, KV_BYTES, WEIGHT_BITS, ModelShape
from .profiles import EngineProfile, make
from .render import config_pbtxt, engine_parameters, explain, model_yaml, serve_command, serve_yaml
from .settings import KNOBS, Speculation

FORMS: dict[str, Callable[[EngineProfile], str]] = {
    "explain": explain,
    "yaml": serve_yaml,
    "command": lambda p: serve_command(p, "engine.yaml") + "\n",
    "model.yaml": model_yaml,
    "config.pbtxt": config_pbtxt,
    "parameters": lambda p: ",".join(f"{k}:{v}" for k, v in engine_parameters(p).items()) + "\n",
    "kwargs": lambda p: json.dumps(p.llm_kwargs(), indent=2) + "\n",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write one form of a profile to standard output. Returns 2 with a sentence for what cannot work."""
    parser = argparse.ArgumentParser(prog="cachelayer trtllm")
    commands = parser.add_subparsers(required=True)
    profile = commands.add_parser("profile", help="engine settings with reasons")
    profile.add_argument("kind", choices=list(KNOBS))
    profile.add_argument("--config", type=Path, required=True, help="the model's config.json")
    profile.add_argument("--parameters", type=float, required=True, help="number of parameters, as 8e9")
    profile.add_argument("--gpu", choices=list(GPUS), required=True)
    profile.add_argument("--model", help="name or directory; default: the folder of --config")
    profile.add_argument("--context", type=int)
    profile.add_argument("--concurrency", type=int)
    profile.add_argument("--tp", type=int)
    profile.add_argument("--pp", type=int, default=1)
    profile.add_argument("--weights", choices=list(WEIGHT_BITS), default="bf16")
    profile.add_argument("--kv-dtype", choices=list(KV_BYTES), default="auto")
    profile.add_argument("--host-cache", type=float, default=0.0, help="GiB")
    profile.add_argument("--speculation", choices=["Eagle", "DraftTarget", "MTP", "NGram"])
    profile.add_argument("--draft", help="draft model directory")
    profile.add_argument("--version", choices=["1.0", "1.2", "1.3"], default="1.2")
    profile.add_argument("--form", choices=list(FORMS), default="explain")
    try:
        sys.stdout.write(_profile(parser.parse_args(argv)))
    except (ConfigurationError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _profile(arguments: argparse.Namespace) -> str:
    config = json.loads(arguments.config.read_text())
    name = arguments.model or str(arguments.config.parent)
    speculation = None
    if arguments.speculation:
        speculation = Speculation(method=arguments.speculation, draft=arguments.draft)
    profile = make(
        arguments.kind,
        ModelShape.from_config(name, config, arguments.parameters),
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
