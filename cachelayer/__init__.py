"""cachelayer: the semantic cache that is safe to turn on.

Wrap any inference callable; identical requests are answered in microseconds, requests of the same meaning where the
evidence suffices, and everything else by the backend. See `CacheLayer`.
"""

from .errors import CacheLayerError, ConfigurationError, LooseningError, MissingExtra
from .explain import Explanation
from .layer import CacheLayer
from .policy import Budgets, Normalize, Policy, Trace
from .protocols import Decider, Embedder, Store, VectorIndex, Verifier
from .types import Outcome, Reason, Saved, Source

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
