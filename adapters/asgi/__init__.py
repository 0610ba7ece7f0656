"""In front of an API: the middleware, who its callers are, and what it caches.

middleware      `CacheLayerMiddleware`: start here
hot             the shortest way to the commonest hit
responder       one request, from headers to last byte
  principals      whose it is
  accepted        whether the app lets them in
  directives      what it asks of the cache
  routes          how it is read, and what of it is compared
answering       the engine's outcome as bytes
  exchange        the app behind, and its response
  ahead           the first caller's answer before it is stored
  storable        which responses may be kept
  delivery, replay   kept answers for another caller
embeddings, items   requests for embeddings, item by item
status          Cache-Status and Age
pages           CORS
settings        what the owner chose
scope           `ScopeMiddleware`
lifespan        start and end with the server
"""

from .embeddings import EMBEDDINGS, EmbeddingsRoute
from .middleware import AZURE, ROUTES, CacheLayerMiddleware
from .principals import Header, JwtClaim, Resolver
from .routes import CHAT, COMPLETIONS, JsonRoute, Route, Unreadable, Wanted
from .scope import ScopeMiddleware
from .settings import VARY

__all__ = [
    "AZURE",
    "CHAT",
    "COMPLETIONS",
    "EMBEDDINGS",
    "ROUTES",
    "VARY",
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
