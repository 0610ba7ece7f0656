"""`cachelayer serve`: a gateway in front of OpenAI-style upstreams or a TensorRT-LLM backend."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import arguments

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """
examples:
  cachelayer serve --upstream http://127.0.0.1:8000        in front of one OpenAI-style server
  cachelayer serve --upstream triton://a:8001/ensemble --upstream triton://b:8001/ensemble
  cachelayer serve --config gateway.toml --check           name what is wrong in a file, and stop
  CACHELAYER_SERVER__PORT=9000 cachelayer serve --config gateway.toml

gateway.toml (every setting with its default stands in docs/gateway.md):
  [server]
  port = 8080
  workers = 4                # share what they know through [cache] redis
  [cache]
  ttl = "24h"
  redis = "redis://127.0.0.1:6379/0"
  [[upstream]]
  url = "https://api.openai.com"
  key_env = "OPENAI_API_KEY"   # sent in place of the clients' own keys
  [[key]]                      # keys that the gateway gives its clients
  tenant = "acme"
  sha256 = "..."               # printf %s KEY | sha256sum

A client points its base_url at http://HOST:PORT/v1. Each answer says in its header Cache-Status whether it was a hit,
and why not. /healthz says whether the process lives, /readyz whether it takes requests and an upstream answers.
SIGTERM lets running streams finish for [server] drain, then stops.
"""


def register(subparsers: Subparsers) -> None:
    """Add `serve`."""
    parser = subparsers.add_parser(
        "serve",
        help="a gateway: in front of OpenAI-style servers or TensorRT-LLM, answers from the cache where it may",
        description="Runs a gateway that speaks OpenAI's API: what was asked before is answered from the cache,\n"
        "the rest goes upstream. Settings come from a TOML file, then from variables CACHELAYER_SECTION__NAME,\n"
        "then from flags.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--upstream", action="append", metavar="URL", default=[],
        help="http(s)://host:port of an OpenAI-style server, trtllm://host:port or triton://host:port/model; "
        "again for more",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="a TOML file")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=arguments.whole, help="port to listen on (default: 8080)")
    parser.add_argument("--workers", type=arguments.whole, help="processes (default: 1)")
    parser.add_argument("--redis", metavar="URL", help="share entries through this Redis")
    parser.add_argument("--ttl", help="how long an answer is fresh, as 90s or 1h30m (default: 24h)")
    parser.add_argument(
        "--semantic",
        choices=("auto", "on", "off"),
        help="compare by meaning (default: auto, where installed)",
    )
    parser.add_argument("--public", action="store_true", help="requests without credentials share answers")
    parser.add_argument(
        "--log", choices=("all", "errors", "off"), help="requests told on stdout (default: all)"
    )
    parser.add_argument(
        "--metrics", action="store_true", help="answer /metrics for Prometheus, without a key; use one worker"
    )
    parser.add_argument("--check", action="store_true", help="check the settings and stop")
    parser.set_defaults(run=_run)


_FLAGS = {
    "host": "server.host", "port": "server.port", "workers": "server.workers", "log": "server.log",
    "redis": "cache.redis", "ttl": "cache.ttl", "semantic": "cache.semantic",
}  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    from .config import load
    from .gateway import Gateway
    from .process import serve

    flags: dict[str, Any] = {
        dotted: value for name, dotted in _FLAGS.items() if (value := getattr(options, name)) is not None
    }
    if options.upstream:
        flags["upstream"] = [{"url": url} for url in options.upstream]
    if options.public:
        flags["callers.public"] = True
    if options.metrics:
        flags["server.metrics"] = True
    config = load(options.config, os.environ, flags)
    if options.check:
        Gateway(config)
        print(f"{options.config or 'the settings'}: fine; {len(config.upstream)} upstream(s)")
        return 0
    return serve(config)
