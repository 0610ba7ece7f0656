"""`cachelayer serve`: a gateway in front of OpenAI-style upstreams or a TensorRT-LLM backend.

gateway         the app: start here
upstream        OpenAI-style servers behind it
  passing         what they answer
models          TensorRT-LLM behind it
replies         what the gateway itself says
origins         CORS
config          settings from file, environment, flags
  parts           the sections
  places          where each setting stands, for messages
  values          one setting, checked
  variables       the environment
process         runs the app under uvicorn
workers         several such processes
protocol        uvicorn's protocol, mended
certificate     the gateway's own, exchanged while it serves
logs            one line a request
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

from .. import arguments

_EPILOG = """
examples:
  # in front of one OpenAI-style server
  cachelayer serve --upstream http://127.0.0.1:8000
  # in front of two replicas of a model
  cachelayer serve --upstream triton://a:8001/ensemble \\
    --upstream triton://b:8001/ensemble
  # check a file: say what is wrong in it, and stop
  cachelayer serve --config gateway.toml --check
  CACHELAYER_SERVER__PORT=9000 cachelayer serve --config gateway.toml

gateway.toml (docs/gateway.md lists every setting with its default):
  [server]
  port = 8080
  workers = 4                  # they share entries through [cache] redis
  [cache]
  ttl = "24h"
  redis = "redis://127.0.0.1:6379/0"
  [[upstream]]
  url = "https://api.openai.com"
  key_env = "OPENAI_API_KEY"   # sent instead of the clients' own keys
  [[key]]                      # keys that the gateway gives its clients
  tenant = "acme"
  sha256 = "..."               # printf %s KEY | sha256sum

Clients point their base_url at http://HOST:PORT/v1. Requests without an Authorization header or the like go upstream
uncached (no-principal), unless --public is given. The Cache-Status header of each answer says whether it was a hit,
and if not, why. /healthz tells whether the process is alive, /readyz whether it takes requests and an upstream
answers. SIGTERM gives running streams [server] drain to finish, then stops.
"""


def register(subparsers: arguments.Subparsers) -> None:
    """Add `serve`."""
    parser = subparsers.add_parser(
        "serve",
        help="a caching gateway in front of OpenAI-style servers or TensorRT-LLM",
        description="Runs a gateway that speaks OpenAI's API: what was asked before is answered from the cache, the "
        "rest goes upstream. Flags override variables CACHELAYER_SECTION__NAME, which override the TOML file.",
        epilog=_EPILOG,
        formatter_class=arguments.Help,
    )
    parser.add_argument(
        "--upstream", action="append", metavar="URL", default=[],
        help="http(s)://host:port of an OpenAI-style server, trtllm://host:port or triton://host:port/model; "
        "may be repeated",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="a TOML file")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=arguments.whole, help="port to listen on (default: 8080)")
    parser.add_argument("--workers", type=arguments.whole, help="number of processes (default: 1)")
    parser.add_argument("--redis", metavar="URL", help="share entries through this Redis")
    parser.add_argument(
        "--ttl",
        type=arguments.duration,
        help="how long an answer stays fresh, such as 90s or 1h30m (default: 24h)",
    )
    parser.add_argument(
        "--semantic",
        choices=("auto", "on", "off"),
        help="compare by meaning (default: auto, if installed)",
    )
    parser.add_argument("--public", action="store_true", help="requests without credentials share answers")
    parser.add_argument(
        "--log", choices=("all", "errors", "off"), help="requests to log on stdout (default: all)"
    )
    parser.add_argument(
        "--metrics", action="store_true", help="serve /metrics for Prometheus, without a key; use one worker"
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
    read = partial(load, options.config, os.environ, flags)
    config = read()
    if options.check:
        Gateway(config)
        print(f"{options.config or 'settings'}: fine, {len(config.upstream)} upstream(s)")
        return 0
    return serve(config, read)
