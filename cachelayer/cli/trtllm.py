"""`cachelayer trtllm`: what the TensorRT-LLM adapter offers on the command line."""

from __future__ import annotations

from ..adapters.tensorrt_llm.__main__ import register as register_commands
from . import arguments

_DESCRIPTION = """\
Helps to run TensorRT-LLM behind the cache. Nothing here needs a GPU: profiles are computed from the model's own
config.json."""

_EXAMPLES = """\
examples:
  # the settings, with the reason for each
  cachelayer trtllm profile latency --config config.json --parameters 8.03e9 \\
    --gpu H100-80GB
  # a file for trtllm-serve
  cachelayer trtllm profile throughput --config config.json --gpu H200 \\
    --parameters 8.03e9 --form yaml"""


def register(subparsers: arguments.Subparsers) -> None:
    """Add `trtllm` and its own commands."""
    parser = subparsers.add_parser(
        "trtllm",
        help="TensorRT-LLM: engine settings for a model and a GPU, with reasons",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=arguments.Help,
    )
    register_commands(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
