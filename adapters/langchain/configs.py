"""What of a run's config changes an answer, whether anybody listens to the run, and what each part here is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from langchain_core.globals import get_debug
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tracers.context import _tracing_v2_is_enabled, run_collector_var

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.checks import named, unquoted

_PLACE = frozenset({"checkpoint_id", "checkpoint_map", "checkpoint_ns", "langgraph_request_id"})
"""By these LangGraph and its server tell one run of a node from another."""
_RUNTIME = "__pregel_runtime"
_USER = "langgraph_auth_user"


def check_named(layer: object, name: str, field: str = "name") -> None:
    """Raise ConfigurationError for what is no layer, or no name: what two of None share is of no one."""
    if not isinstance(layer, CacheLayer):
        remedy = "give the layer that keeps the answers: CacheLayer(store='redis://...')"
        raise ConfigurationError("layer", unquoted(layer), remedy)
    named(field, name)


def configurable(config: RunnableConfig | None) -> dict[str, Any]:
    """The configurable values of `config` and the context of a graph's run (`context=...`), but for what LangGraph runs
    its own machinery with."""
    values = (config or {}).get("configurable") or {}
    given = {k: v for k, v in values.items() if not k.startswith("__") and k not in _PLACE}
    if hasattr(given.get(_USER), "model_dump"):  # the server's own class around whatever the owner's has
        given[_USER] = given[_USER].model_dump()
    context = getattr(values.get(_RUNTIME), "context", None)
    return given if context is None else {**given, _RUNTIME: context}


def heard(config: RunnableConfig) -> bool:
    """Whether anybody is to be told of a run: callbacks, those that stream events among them, a trace, a debugger."""
    callbacks = config.get("callbacks")
    return bool(
        getattr(callbacks, "handlers", callbacks)
        or run_collector_var.get()
        or get_debug()
        or _tracing_v2_is_enabled()
    )


def configurable_here() -> dict[str, Any]:
    """The same of the run that is under way."""
    return configurable(ensure_config())


def reads_config(fn: Callable[..., Any] | None) -> bool:
    """Whether `fn` asks LangChain for the config, as LangChain finds out: by an annotation."""
    try:
        return RunnableConfig in get_type_hints(fn).values()
    except (NameError, TypeError):  # what has no readable annotations is handed none by LangChain either
        return False
