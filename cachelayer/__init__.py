"""cachelayer: the semantic cache that is safe to turn on.

Wrap any inference callable. Identical requests are answered in microseconds, requests with the same meaning where the
evidence suffices, and everything else by the backend:

    layer = CacheLayer(policy=Policy(ttl="1h", max_error_rate=0.01))

    @layer.cached
    async def ask(question: str) -> str: ...

    answer = await ask("How do I return a product?")
    outcome = await ask.outcome("How do I return it?")  # an Outcome: answer, source, reasons of the misses
    print(await ask.explain("How do I return it?"))  # why this would hit or miss

See `CacheLayer`, `CacheLayer.cached` and `Policy`; every name, field and reason is listed in docs/reference.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import CacheLayerError, ConfigurationError, LooseningError, MissingExtra
    from .layer import CacheLayer
    from .path.explain import Explanation
    from .policy import Budgets, Normalize, Policy, Trace
    from .protocols import Decider, Embedder, Store, VectorIndex, Verifier
    from .types import Outcome, Reason, Saved, Source
else:
    _HOMES = {
        "errors": ("CacheLayerError", "ConfigurationError", "LooseningError", "MissingExtra"),
        "layer": ("CacheLayer",),
        "path.explain": ("Explanation",),
        "policy": ("Budgets", "Normalize", "Policy", "Trace"),
        "protocols": ("Decider", "Embedder", "Store", "VectorIndex", "Verifier"),
        "types": ("Outcome", "Reason", "Saved", "Source"),
    }

    def __getattr__(name: str) -> object:
        """Found when it is first asked for: the command line is to come before what takes half a second to load."""
        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f".{home}", __name__), name)
                return found
        if name in _HOMES:
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = [
    "Budgets",
    "CacheLayer",
    "CacheLayerError",
    "ConfigurationError",
    "Decider",
    "Embedder",
    "Explanation",
    "LooseningError",
    "MissingExtra",
    "Normalize",
    "Outcome",
    "Policy",
    "Reason",
    "Saved",
    "Source",
    "Store",
    "Trace",
    "VectorIndex",
    "Verifier",
]
