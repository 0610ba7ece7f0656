"""`cachelayer trtllm`: what the TensorRT-LLM adapter offers on the command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..adapters.tensorrt_llm.__main__ import register as register_commands

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EXAMPLES = """\
examples:
  cachelayer trtllm profile latency --config config.json --parameters 8.03e9 --gpu H100-80GB
  cachelayer trtllm profile throughput --config config.json --parameters 8.03e9 --gpu H200 --form yaml
  cachelayer trtllm profile latency --help          every option"""


def register(subparsers: Subparsers) -> None:
    """Add `trtllm` and its own commands."""
    parser = subparsers.add_parser(
        "trtllm",
        help="TensorRT-LLM: engine settings for a model and a GPU, with reasons",
        description="What helps to run TensorRT-LLM behind the cache. Nothing here needs a GPU:\n"
        "profiles are computed from the model's own config.json.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    register_commands(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
