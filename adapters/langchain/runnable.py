"""`CachedRunnable`: any part of an LCEL chain as a step of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage, RemoveMessage, message_chunk_to_message
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from langchain_core.runnables.base import RunnableLike, coerce_to_runnable
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.utils import ConfigurableFieldSpec

from cachelayer import CacheLayer, ConfigurationError, Explanation
from cachelayer.checks import named
from cachelayer.exact.answers.kinds import Kinds
from cachelayer.exact.keys.held import held
from cachelayer.partial.twin import Twin
from cachelayer.policy import AS_IT_IS, strings
from cachelayer.wrap.options import refuse

from .configs import check_named, configurable, heard
from .serial import LangChainCodec

_REMEMBERS = (
    "it keeps a history or checkpoints, which are no part of the key, and to which a hit adds nothing: cache what it "
    "runs, as in RunnableWithMessageHistory(CachedRunnable(...), ...), or say by vary= what of them counts"
)


@dataclass
class _Made:
    """The input as it was given, and whether an answer was made for it."""

    input: Any
    done: bool = False

    def cachelayer_held(self) -> _Made:
        """For a call in the background: the input as it is now, and an answer that the caller does not get."""
        return _Made(held(self.input, Kinds()))


class CachedRunnable(Runnable[Any, Any]):
    """`runnable` with a layer before `invoke` and `ainvoke`; `stream` gives the whole answer at once.

    Whoever listens (callbacks, events, traces) is told of a run under `name`, hit or miss. The input and what the
    config makes configurable, its own or that of the chain around it, are the key; callbacks, tags and LangGraph's own
    values are not, and before a model neither are ids, usage and artifacts of messages. `options` are those of
    `layer.cached`; `text="topic"` names a field of a dict input that is compared by meaning. A function or a dict is
    made a runnable, as in a chain. Raises ConfigurationError for anything else, and for an input that cannot be
    compared.
    """

    def __init__(
        self,
        runnable: RunnableLike[Any, Any],
        layer: CacheLayer,
        *,
        name: str,
        text: str | None = None,
        **options: Any,
    ) -> None:
        check_named(layer, name)
        if text is not None:
            named("text", text)
        try:
            self.runnable: Runnable[Any, Any] = coerce_to_runnable(runnable)
        except TypeError:
            raise ConfigurationError(
                "runnable", runnable, "give a Runnable, a function or a dict of them"
            ) from None
        if not options.keys() & {"vary", "key"} and _remembers(self.runnable):
            raise ConfigurationError("runnable", type(self.runnable).__name__, _REMEMBERS)
        self.name = name
        ignored = ["config", "made", *strings("ignore", options.get("ignore", ()))]
        options = {"codec": LangChainCodec(), **options, "ignore": ignored}
        if text is None:
            refuse(options, {"semantic": "say by text= which field of the input is compared by meaning"})
            exactly = {} if _reads_messages(self.runnable) else {"normalize": AS_IT_IS}
            options = {**exactly, **options, "semantic": False}
        else:
            options["text"] = lambda input, configurable, config=None, made=None: _field(input, text)
        self._step = Twin(layer.wrap(self._invoke, name=name, share_self=True, **options), self._ainvoke)

    @property
    def InputType(self) -> Any:
        """What the runnable takes, as it says itself; the same of the others here."""
        return self.runnable.InputType

    @property
    def OutputType(self) -> Any:
        return self.runnable.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        return self.runnable.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        return self.runnable.get_output_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        return self.runnable.config_specs

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The answer to `input`."""
        config = ensure_config(config)
        if heard(config):
            return self._call_with_config(self._now, input, config, **kwargs)
        return self._now(input, None, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The answer to `input`."""
        config = ensure_config(config)
        if heard(config):
            return await self._acall_with_config(self._later, input, config, **kwargs)
        return await self._later(input, None, config, **kwargs)

    def _now(self, input: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        made = _Made(input)
        return _served(self._step.now(self._asked(input), _configurable(config, kwargs), config, made), made)

    async def _later(self, input: Any, run_manager: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        made = _Made(input)
        return _served(
            await self._step.later(self._asked(input), _configurable(config, kwargs), config, made), made
        )

    def explain(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Explanation:
        """Why `invoke` with these arguments would hit or miss now; nothing is run and nothing changes."""
        return self._step.explain_now(self._asked(input), _configurable(config, kwargs), config, None)

    async def aexplain(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Explanation:
        """`explain`, awaited."""
        return await self._step.explain(self._asked(input), _configurable(config, kwargs), config, None)

    def _asked(self, input: Any) -> Any:
        """What of the input a model reads: LangGraph gives every message an id of its own."""
        if not _reads_messages(self.runnable):
            return input
        if isinstance(input, ChatPromptValue):
            return ChatPromptValue(messages=[_unnamed(one) for one in input.messages])
        return [_unnamed(one) for one in input] if isinstance(input, list) else input

    def _invoke(
        self, input: Any, configurable: dict[str, Any], config: RunnableConfig | None, made: _Made
    ) -> Any:
        made.done = True
        return self.runnable.invoke(made.input, config, **configurable["kwargs"])

    async def _ainvoke(
        self, input: Any, configurable: dict[str, Any], config: RunnableConfig | None, made: _Made
    ) -> Any:
        made.done = True
        return await self.runnable.ainvoke(made.input, config, **configurable["kwargs"])


def _reads_messages(runnable: Runnable[Any, Any]) -> bool:
    """Whether it is a model, alone or with settings bound to it."""
    while isinstance(runnable, RunnableBinding):
        runnable = runnable.bound
    return isinstance(runnable, BaseLanguageModel)


def _remembers(runnable: Runnable[Any, Any]) -> bool:
    """Whether it goes by what was said before: by a history, or a graph's checkpoints; alone, bound or in a chain."""
    kept = any(kind.__name__ == "RunnableWithMessageHistory" for kind in type(runnable).__mro__)
    within = (getattr(runnable, "bound", None), *getattr(runnable, "steps", ()))
    kept = kept or bool(getattr(runnable, "checkpointer", None))
    return kept or any(_remembers(one) for one in within if isinstance(one, Runnable))


def _served(answer: Any, made: _Made) -> Any:
    """A message that was made for another call is another message: what knows messages by their ids must tell them
    apart. Those that came with the input are the caller's own."""
    return answer if made.done else _anew(answer, made.input)


def _anew(answer: Any, input: Any) -> Any:
    if isinstance(answer, BaseMessage):
        kept = answer.id is None or isinstance(answer, RemoveMessage) or answer.id in _ids(input)
        return answer if kept else answer.model_copy(update={"id": None})
    if type(answer) is dict:
        return {name: _anew(one, input) for name, one in answer.items()}
    if type(answer) is list and answer and isinstance(answer[0], BaseMessage):
        return [_anew(one, input) for one in answer]
    return answer


def _ids(input: Any) -> Iterator[str | None]:
    """Ids of the messages in an input: one, several, or those in the state of a graph."""
    if isinstance(input, BaseMessage):
        yield input.id
    elif isinstance(input, dict | list | tuple):
        for one in input.values() if isinstance(input, dict) else input:
            yield from _ids(one)


def _unnamed(message: Any) -> Any:
    """A message without what models are not shown."""
    if not isinstance(message, BaseMessage):
        return message
    message = message_chunk_to_message(message)
    unread: dict[str, Any] = {"id": None, "response_metadata": {}, "usage_metadata": None, "artifact": None}
    return message.model_copy(update={name: unread[name] for name in unread if hasattr(message, name)})


def _configurable(config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What of a config, given or of the chain around it, and of the call's own arguments changes the answer."""
    return {"config": configurable(ensure_config(config)), "kwargs": kwargs}


def _field(value: Any, name: str) -> str:
    return str(value[name]) if isinstance(value, dict) and name in value else ""
