"""`CacheLayerCache`: LangChain's LLM cache, for `set_llm_cache` and for `cache=` of a model."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.language_models import BaseChatModel
from langchain_core.load.serializable import Serializable
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.runnables import Runnable, RunnableBinding

from cachelayer import CacheLayer, ConfigurationError, Explanation
from cachelayer.checks import unquoted
from cachelayer.exact.memory.slot import Slot
from cachelayer.flow.loops import running_loop
from cachelayer.partial.shelf import Absent, Shelf
from cachelayer.types import Undivided

from .configs import check_named
from .serial import LangChainCodec, messages_of, prompt_of

_TEMPERATURE = re.compile(r"""(["'])temperature\1[:,] (-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)""")
_TRACED = frozenset({"ls_structured_output_format", "structured_output_format"})
"""What LangChain tells callbacks alone of what is bound to a model."""
WAITING: Final = 4096
"""Lookups remembered at a time."""


class CacheLayerCache(Undivided, BaseCache):
    """Answers of LangChain's models, in the tiers of a layer.

    `name` sets several caches on one layer apart. `allowed`: more of LangChain's serializable classes that may come
    back from a shared tier. `options` are those of `layer.cached`: `ttl`, `max_error_rate`, `semantic`, `tags` ...
    The model's settings (`llm_string`) and all messages but the last user's are scope; that one is compared by meaning
    where the layer compares; such hits are not shadow-checked. Nothing is kept that was refused, filtered, cut short or
    empty.
    """

    def __init__(
        self,
        layer: CacheLayer,
        *,
        name: str = "langchain",
        allowed: Sequence[type[Serializable]] = (),
        **options: Any,
    ) -> None:
        if "shadow" in options:
            remedy = "LangChain calls its models itself, and nobody else can check a hit: leave it out"
            raise ConfigurationError("shadow", options["shadow"], remedy)
        check_named(layer, name)
        self._layer, self._name = layer, name
        self.codec = LangChainCodec(allowed)
        self._shelf = Shelf(layer.wrap(_generate, name=name, codec=self.codec, shadow=0, **options))
        self._handle = self._shelf.handle
        self._handle.function.keyed = True  # messages that cannot be go uncached, also if they are the first
        self._raw = self._handle.transport_forms()
        self._waiting = _Waiting()

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Generations for this prompt or one of the same meaning; None if there are none."""
        return self._waiting.noted(self.seek(prompt, llm_string))

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """`lookup` that waits for nothing but the tiers, within their budgets."""
        return self._waiting.noted(await self.aseek(prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store what the model answered."""
        asked = self._shelf.asked(messages_of(prompt), llm_string)
        self.keep(self._waiting.taken(asked), return_val)

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store what the model answered; tiers outside the process are written to in the background."""
        self.update(prompt, llm_string, return_val)

    def seek(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | Absent:
        """`lookup` for callers that pass on to `keep` what it returns for a miss."""
        raw = self._raw_of(prompt, llm_string)
        slot = None if raw is None else self._raw.find(raw)
        if slot is not None:
            return cast(RETURN_VAL_TYPE, slot.answer.answer())
        return self._found(self._shelf.look_now(messages_of(prompt), llm_string), raw)

    async def aseek(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | Absent:
        """`seek`, awaited."""
        raw = self._raw_of(prompt, llm_string)
        slot = None if raw is None else self._raw.find(raw)
        if slot is not None:
            return cast(RETURN_VAL_TYPE, slot.answer.answer())
        return self._found(await self._shelf.look(messages_of(prompt), llm_string), raw)

    def keep(self, absent: Absent, made: RETURN_VAL_TYPE) -> None:
        """Keep what the model answered to what was sought."""
        self._shelf.called()
        self._shelf.put([_nameless(one) for one in made], absent)

    def explain(self, model: Runnable[Any, Any], input: Any, **kwargs: Any) -> Explanation:
        """Why `model.invoke(input, **kwargs)` would hit or miss now; asks no model and changes nothing.

        `model`: a chat model, also with tools or settings bound to it. Raises ConfigurationError for anything else.
        """
        explanation: Explanation = self._handle.engine.portal.run(self.aexplain(model, input, **kwargs))
        return explanation

    async def aexplain(self, model: Runnable[Any, Any], input: Any, **kwargs: Any) -> Explanation:
        """`explain`, awaited."""
        return await self._handle.explain(*_asked(model, input, kwargs))

    async def aforget(self, model: Runnable[Any, Any], input: Any, **kwargs: Any) -> None:
        """Forget what `model.invoke(input, **kwargs)` was answered: the next one asks the model again."""
        await self._handle.invalidate(*_asked(model, input, kwargs))

    def forget(self, model: Runnable[Any, Any], input: Any, **kwargs: Any) -> None:
        """`aforget` for plain code."""
        self._handle.engine.portal.run(self.aforget(model, input, **kwargs))

    def clear(self, **kwargs: Any) -> None:
        """Forget everything that this cache holds, in every process."""
        self._handle.engine.portal.run(self.aclear())

    async def aclear(self, **kwargs: Any) -> None:
        """Forget everything that this cache holds, in every process."""
        await self._layer.invalidate(scope={"function": self._name})

    def _raw_of(self, prompt: str, llm_string: str) -> bytes | None:
        """What leads straight to an entry; None if more than tenant and arguments decides."""
        scope = self._handle.scope
        if not self._handle.function.linkable or (scope is not None and not scope.direct):
            return None
        tenant = None if scope is None else scope.tenant
        head = f"{len(llm_string)},{-1 if tenant is None else len(tenant)},{tenant}"
        return (head + llm_string + prompt).encode("utf-8", "surrogatepass")

    def _found(self, found: tuple[Any, Slot | None] | Absent, raw: bytes | None) -> RETURN_VAL_TYPE | Absent:
        if isinstance(found, Absent):
            return found
        answer, slot = found
        if raw is not None:
            self._raw.link(slot, raw)
        return cast(RETURN_VAL_TYPE, answer)


class _Waiting:
    """Lookups that missed, until their answers come; the oldest give way.

    LangChain passes nothing from a lookup to the update that follows, but makes both in one task or thread, which tells
    them from those of others who ask the same: an invalidation may lie between the two lookups. Of a list of prompts it
    looks up all before it asks, and one that stands there twice is looked up and updated twice.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, bytes], tuple[Absent, int]] = OrderedDict()
        """The latest lookup of a request, and for how many updates."""

    def noted(self, found: RETURN_VAL_TYPE | Absent) -> RETURN_VAL_TYPE | None:
        """The result of a lookup as LangChain takes it; a miss is remembered."""
        if not isinstance(found, Absent):
            return [_counted(one) for one in found]
        if found.call.reason is None:
            asking = _asking(found)
            _, before = self._held.pop(asking, (found, 0))
            while len(self._held) >= WAITING:
                self._held.popitem(last=False)
            self._held[asking] = found, before + 1
        return None

    def taken(self, asked: Absent) -> Absent:
        """The lookup of the same request by the current task or thread; `asked` itself if there was none."""
        asking = _asking(asked)
        found, times = self._held.pop(asking, (asked, 1))
        if times > 1:
            self._held[asking] = found, times - 1
        return found


def _asking(absent: Absent) -> tuple[int, bytes]:
    """The current task or thread, and the request without the variant of the answer that was looked for."""
    task, identity = None if running_loop() is None else asyncio.current_task(), absent.call.identity
    who = threading.get_ident() if task is None else id(task)
    return who, b"" if identity is None else identity.canonical


def _counted(served: Generation) -> Generation:
    """An answer with a usage: LangChain adds to it that one from a cache costs nothing, and a message of which that is
    all that is known can neither be read back from a history nor be streamed as events."""
    message = getattr(served, "message", None)
    if isinstance(message, AIMessage) and message.usage_metadata is None:
        message.usage_metadata = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
    return served


def _nameless(made: Generation) -> Generation:
    """An answer without the id of the run that made it, because each one served is another message: LangGraph takes a
    second message with the same id for a new version of the first."""
    if not isinstance(made, ChatGeneration) or made.message.id is None:
        return made
    return made.model_copy(update={"message": made.message.model_copy(update={"id": None})})


def _asked(model: Runnable[Any, Any], input: Any, kwargs: dict[str, Any]) -> tuple[Any, str]:
    """What LangChain looks up where a model is asked. Raises ConfigurationError for what is no chat model."""
    while isinstance(model, RunnableBinding):
        kwargs, model = {**model.kwargs, **kwargs}, model.bound
    if not isinstance(model, BaseChatModel):
        raise ConfigurationError("model", unquoted(model), "give the chat model that the chain asks")
    messages = model._convert_input(input).to_messages()
    asked = {name: value for name, value in kwargs.items() if name not in _TRACED}
    return messages_of(prompt_of(messages)), model._get_llm_string(**{"stop": None, **asked})


async def _generate(messages: Any, llm: str) -> Any:
    """Stands for the model, which LangChain calls itself."""
    raise NotImplementedError


def _sampled(asked: Mapping[str, Any]) -> bool:
    """Whether the model samples, by its settings as LangChain writes them: JSON, then pairs of what the call says."""
    said = _TEMPERATURE.findall(asked["llm"])
    return not said or any(float(number) > 0 for _, number in said)


_generate.cachelayer_sampled = _sampled  # type: ignore[attr-defined]
_generate.cachelayer_named_by_reply = True  # type: ignore[attr-defined]
