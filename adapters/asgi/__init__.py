"""In front of an API: the middleware, who its callers are, and what it caches."""

from .embeddings import EMBEDDINGS, EmbeddingsRoute
from .middleware import AZURE, ROUTES, CacheLayerMiddleware
from .principals import Header, JwtClaim, Resolver
from .routes import CHAT, COMPLETIONS, JsonRoute, Route, Unreadable, Wanted
from .scope import ScopeMiddleware

__all__ = [
    "AZURE",
    "CHAT",
    "COMPLETIONS",
    "EMBEDDINGS",
    "ROUTES",
    "CacheLayerMiddleware",
    "EmbeddingsRoute",
    "Header",
    "JsonRoute",
    "JwtClaim",
    "Resolver",
    "Route",
    "ScopeMiddleware",
    "Unreadable",
    "Wanted",
]
