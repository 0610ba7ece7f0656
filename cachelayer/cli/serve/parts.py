"""What a gateway can be told: sections of its configuration, with their defaults and limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ...adapters.asgi.settings import VARY

HEADER = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
PATH = {"match": r"[^\0]+", "form": "the path of a file"}


@dataclass(frozen=True, kw_only=True)
class ServerPart:
    """[server]"""

    host: str = field(
        default="127.0.0.1",
        metadata={"match": r"[^\s/\0]+", "form": 'an address or the name of one; "0.0.0.0" and "::" are all'},
    )
    port: int = field(default=8080, metadata={"least": 0, "most": 65535})
    workers: int = field(default=1, metadata={"least": 1, "most": 256})
    drain: float = field(default=30.0, metadata={"duration": True})
    """Seconds that streams have to finish after SIGTERM."""
    keep_alive: float = field(default=75.0, metadata={"duration": True, "zero": False})
    """Seconds for which a connection without a request stays open: longer than proxies in front keep theirs."""
    tls_cert: str = field(default="", metadata=PATH)
    tls_key: str = field(default="", metadata=PATH)
    max_body: int = field(default=4 * 2**20, metadata={"least": 1})
    too_large: str = field(default="pass", metadata={"one_of": ("pass", "refuse")})
    log: str = field(default="all", metadata={"one_of": ("all", "errors", "off")})
    origins: list[str] = field(
        default_factory=list,
        metadata={
            "match": r"\*|null|[a-z][a-z0-9+.-]*://[^/\s]+",
            "form": "origins such as https://app.example, or *",
        },
    )
    """Web pages that may ask, by the origin that browsers tell."""
    backlog: int = field(default=2048, metadata={"least": 1, "most": 2**31 - 1})
    metrics: bool = False
    """Whether /metrics answers, without a key, with what Prometheus scrapes; of one worker process each time."""


@dataclass(frozen=True, kw_only=True)
class CachePart:
    """[cache]"""

    ttl: float = field(default=86400.0, metadata={"duration": True})
    semantic: str = field(default="auto", metadata={"one_of": ("auto", "on", "off")})
    max_error_rate: float = field(default=0.01, metadata={"least": 0.0, "most": 1.0})
    max_bytes: int = field(default=256 * 2**20, metadata={"least": 65536})
    max_item_bytes: int = field(default=2**20, metadata={"least": 1})
    stale_while_revalidate: float = field(default=0.0, metadata={"duration": True})
    stale_if_error: float = field(default=0.0, metadata={"duration": True})
    redis: str = ""
    redis_budget: float = field(default=0.005, metadata={"duration": True, "zero": False})
    """A request waits so long for Redis, then goes on without it."""
    vary: list[str] = field(
        default_factory=lambda: [name.decode() for name in VARY],
        metadata={"match": HEADER, "form": "names of headers"},
    )
    """Request headers that are part of every key."""
    secret: str = field(default="", metadata={"secret": True})
    """Key of the hash that tells credentials apart; the same in all processes that share a Redis."""


@dataclass(frozen=True, kw_only=True)
class CallersPart:
    """[callers]"""

    public: bool = False
    """Requests without credentials share."""
    principal_header: str = field(default="", metadata={"match": HEADER, "form": "the name of a header"})
    """Header that names the tenant, set by a trusted proxy in front."""
    trust: bool = False
    """Whether callers of shared scopes get similar answers and learn what is cached."""
    recheck: float = field(default=300.0, metadata={"duration": True})
    on_leave: str = field(default="stop", metadata={"one_of": ("stop", "finish")})


@dataclass(frozen=True, kw_only=True)
class UpstreamPart:
    """[[upstream]]"""

    url: str
    models: list[str] = field(default_factory=list)
    """Models that it serves; empty for all."""
    key_env: str = ""
    """Environment variable with the key to send in place of the caller's."""
    key_header: str = field(
        default="authorization", metadata={"one_of": ("authorization", "api-key", "x-api-key")}
    )
    """The header that bears it: OpenAI's, as a bearer token, Azure's or Anthropic's."""
    connect_timeout: float = field(default=5.0, metadata={"duration": True, "zero": False})
    read_timeout: float = field(default=120.0, metadata={"duration": True, "zero": False})
    """Until the first byte of an answer, and between two of its pieces."""
    tls_ca: str = field(default="", metadata=PATH)
    """File of certificates that vouch for the server, beside those that the system trusts."""
    template: str = field(default="", metadata={"one_of": ("", "chatml", "llama3")})
    """How Triton, which applies no chat template itself, gets messages as one prompt."""
    unknown_finish: str = field(default="length", metadata={"one_of": ("length", "stop")})
    """What a Triton model that does not say why it ended is taken to have ended by; `length` is never cached."""


@dataclass(frozen=True, kw_only=True)
class RetryPart:
    """[retry]"""

    attempts: int = field(default=3, metadata={"least": 1, "most": 10})
    """Upstreams tried for one request, while nothing was sent to the caller."""
    cooldown: float = field(default=5.0, metadata={"duration": True})
    """Seconds for which an upstream that failed is asked last."""


@dataclass(frozen=True, kw_only=True)
class KeyPart:
    """[[key]]"""

    tenant: str
    sha256: str = field(
        default="",
        metadata={"match": r"[0-9a-f]{64}", "form": "64 hexadecimal digits in lower case", "secret": True},
    )
    env: str = ""
    """Environment variable that holds the key itself."""
    trusted: bool = False


@dataclass(frozen=True, kw_only=True)
class Config:
    """All of it."""

    server: ServerPart = field(default_factory=ServerPart)
    cache: CachePart = field(default_factory=CachePart)
    callers: CallersPart = field(default_factory=CallersPart)
    retry: RetryPart = field(default_factory=RetryPart)
    upstream: list[UpstreamPart] = field(default_factory=list)
    key: list[KeyPart] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """As nested dicts, for another process."""
        return asdict(self)


SECTIONS: dict[str, type] = {
    "server": ServerPart, "cache": CachePart, "callers": CallersPart, "retry": RetryPart
}  # fmt: skip
LISTS: dict[str, type] = {"upstream": UpstreamPart, "key": KeyPart}
