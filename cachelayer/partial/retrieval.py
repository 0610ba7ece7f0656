"""`layer.retrieval`: results of a retriever, exact and by meaning, with what they and their users were built from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import index
from typing import Any, SupportsIndex

from ..checks import named
from ..durations import seconds
from ..errors import ConfigurationError
from ..flow.background import offload
from ..keep.call import Call
from ..keep.part_names import check_corpus
from ..keep.parts import corpus_tag, document_tag
from ..keep.terms import vetoed
from ..operate.upkeep import Upkeep
from ..path.engine import Engine
from ..policy import Policy, strings
from ..signatures import signature_of, stand_for
from ..types import Outcome, Reason, Undivided
from ..wrap.handles import Handle
from ..wrap.naming import is_method, name_of
from ..wrap.options import refuse
from ..wrap.redefinition import Origin
from ..wrap.registry import Registry
from .additions import Additions
from .documents import Getter, Reading
from .graph import Versions
from .sameness import listed
from .wide import Wide

K = "k"
"""The parameter that says how many are wanted, where it is not named."""


class Retrieval(Undivided):
    """A retriever with a layer before it; called as the retriever was, with the same result as a list.

    `k` names the parameter that says how many documents are wanted: a cached result of more serves fewer. All other
    arguments are filters and scope. One that is written in a class binds like any method.
    """

    _of: tuple[Any, ...] = ()
    """The object whose method it is, once bound."""
    wide: Wide

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        registry: Registry,
        engine: Engine,
        upkeep: Upkeep,
        versions: Versions,
        corpus: str,
        k: str,
        fields: tuple[Getter, Getter, Getter],
        negative_ttl: Any,
        wide: int,
        options: dict[str, Any],
    ) -> None:
        check_corpus(corpus)
        refuse(
            options,
            {"view": "what is read of a result are its documents: say by content= where their text is"},
        )
        stand_for(fn, self)
        named("k", k)
        self.corpus, self._fn, self._k = corpus, fn, k
        self._engine, self._upkeep, self._versions = engine, upkeep, versions
        own = options.pop("name", None)
        name = own or f"retrieval:{corpus}:{name_of(fn)}"
        self._reading = Reading(name, *fields)
        self._signature = signature_of(fn)
        self._limited = k in self._signature.parameters
        if not self._limited and k != K:
            _named_in_vain(k, name, self._signature)
        self._keeps = Policy(cache_if=options.get("cache_if")).cache_if
        options = {
            "max_error_rate": 0.02,
            **options,
            "cache_if": None,  # it is asked about the documents, when they come
            "name": name,
            "ttl": _lifetime(options["ttl"], seconds("negative_ttl", negative_ttl)),
            "ignore": [*strings("ignore", options.get("ignore", ())), *([k] if self._limited else [])],
            "view": self._view,
        }
        self.cached = registry.wrap(
            self._fetching(), options=options, wire=False, origin=Origin(fn, bool(own))
        )
        self.handle: Handle = self.cached.handle
        on = self._limited and self.handle.function.similar and self.handle.function.own is None
        self.wide = Wide(wide, on=on, reading=self._reading, engine=engine, tags=self._tags)
        self.additions = Additions(self.handle, self._reading, corpus, engine, self.wide)

    def __get__(self, instance: object, owner: type | None = None) -> Retrieval:
        if instance is None or not is_method(self._fn):
            return self
        bound = copy(self)
        bound._of = (instance,)
        return bound

    async def __call__(self, /, *args: Any, **kwargs: Any) -> list[Any]:
        """The documents, best first: cached, or from the retriever.

        Raises ConfigurationError if the retriever returns documents without ids or two with the same, and whatever
        it raises.
        """
        return (await self.outcome(*args, **kwargs)).answer  # type: ignore[no-any-return]

    async def outcome(self, /, *args: Any, **kwargs: Any) -> Outcome:
        """The documents and how they came to be."""
        args = (*self._of, *args)
        calls = self._calls(args, kwargs)
        return self._documents_of(*await self._found(*calls))

    def now(self, /, *args: Any, **kwargs: Any) -> list[Any]:
        """The documents, for plain code: this thread waits while the layer's own loop gets them."""
        args = (*self._of, *args)
        calls = self._calls(args, kwargs)
        return self._documents_of(*self._engine.portal.run(self._found(*calls))).answer  # type: ignore[no-any-return]

    def _calls(self, args: Any, kwargs: Any) -> tuple[Call, Call]:
        """Of these arguments, to be made and to be made anew; past the cache where `k` is no count: -1 for all, say."""
        calls = self.handle.now(args, kwargs), self.handle.now(args, kwargs)
        for call in calls:
            call.parent = self._engine.noting.aside()
        k = self._k_of(args, kwargs)
        if k is not None and _count(k) is None:
            for call in calls:
                call.reason = call.reason or Reason.BYPASS
        return calls

    async def _found(self, call: Call, again: Call) -> tuple[Outcome, Call]:
        """What is known, or made anew by the second call where it holds too few or not what a similar one wants; and
        the call that it answers."""
        try:
            return await self._known(call, again)
        except Exception:  # what is made of that is not made of documents, which it would be made of
            self._pass_on(call, [corpus_tag(self.corpus)])
            self._pass_on(again, [])
            raise

    async def _known(self, call: Call, again: Call) -> tuple[Outcome, Call]:
        outcome, slot = await self._engine.landed(call)
        enough = serves(outcome.answer, self._wanted(call.args, call.kwargs))
        if enough and outcome.match == "similar":
            best = self.wide.best(outcome.answer, call)
            if best is not None:
                outcome.answer = {**outcome.answer, "best": best}
                if slot is not None:
                    self.additions.lent(slot.digest)
            enough = best is not None
        if enough:
            return outcome, call
        again.tightening = again.tightening.and_(no_cache=True)
        outcome = await self._engine.serve(again)
        if not serves(outcome.answer, self._wanted(again.args, again.kwargs)):
            again.reason = Reason.BYPASS  # it was made for another, who wanted fewer, and was under way
            outcome = await self._engine.serve(again)
        return outcome, again

    def _documents_of(self, outcome: Outcome, call: Call) -> Outcome:
        """The documents that are wanted, which alone are passed on as parts."""
        found = outcome.answer["documents"]
        outcome.answer = outcome.answer.get("best", found)[: self._wanted(call.args, call.kwargs)]
        wanted = self._tags(outcome.answer)
        rest = {*self._tags(found)}.difference(wanted)
        self._pass_on(call, [*wanted, corpus_tag(self.corpus)], besides=rest)
        return outcome

    def _pass_on(self, call: Call, tags: list[str], *, besides: Collection[str] = ()) -> None:
        used = call.parent
        assert used is not None
        used.parts.update(dict.fromkeys(tags, call.since))
        self._engine.noting.pass_on(used, call.since, besides=besides)

    async def added(self, documents: Sequence[Any]) -> int:
        """New documents came in (texts, or documents as the retriever returns them): forget the results they change.

        A result goes where a new document lies nearer to its query than the farthest it holds, or where it had room for
        more, and what was built on results that are not in memory. Where the layer is exact only, or a text is not
        known, all results of the corpus go; in other processes too. Returns how many entries went here, dependants
        included. Raises ConfigurationError for a lone document.
        """
        if isinstance(documents, str | Mapping) or not isinstance(documents, Iterable):
            raise ConfigurationError(
                "documents", type(documents).__name__, "give a list of strings or documents, even for one"
            )
        documents = list(documents)
        if not documents:
            return 0
        return await self.additions.take(documents, self._upkeep)

    def in_order(self, documents: Sequence[Any]) -> list[Any]:
        """The documents in canonical order, by id: prompts that share documents share a prefix, and its KV blocks."""
        ids = self._reading.ids(documents)
        return [documents[place] for place in sorted(range(len(ids)), key=ids.__getitem__)]

    def _fetching(self) -> Callable[..., Any]:
        fn = self._fn
        awaited = inspect.iscoroutinefunction(inspect.unwrap(fn)) or inspect.iscoroutinefunction(
            getattr(fn, "__call__", None)  # noqa: B004 - the method itself
        )

        def run(args: Any, kwargs: Any) -> Any:
            result = fn(*args, **kwargs)
            return list(result) if isinstance(result, Iterator) else result  # it works where it is read

        async def ask(args: Any, kwargs: Any) -> list[Any]:
            result = fn(*args, **kwargs) if awaited else await offload(functools.partial(run, args, kwargs))
            result = await result if inspect.isawaitable(result) else result
            if isinstance(result, AsyncIterable):
                return [document async for document in result]
            return self._reading.listed(result)

        @functools.wraps(fn)
        async def fetch(*args: Any, **kwargs: Any) -> dict[str, Any]:
            since, asked = self.wide.now(), self._wanted(args, kwargs)
            query, more = self._query(args, kwargs), self._widened(args, kwargs, asked)
            if more is not None:  # a retriever may change its filters, and fail
                args, kwargs = self.handle.function.identifier.held(args, kwargs)
            documents = await self.wide.told(
                None if more is None else ask(*more), functools.partial(ask, args, kwargs)
            )
            tags, tenant = self._tags(documents), self._engine.noting.tenant
            pairs = zip(tags, map(self._version, documents), strict=True)
            if changed := [tag for tag, version in pairs if self._versions.see(tag, version, tenant)]:
                await self._upkeep.invalidate(changed, None, False)
            self._engine.noting.note([*tags[:asked], corpus_tag(self.corpus)])
            self.wide.found(documents)
            found = {"query": query, "asked": asked, "documents": documents, "since": since}
            why = vetoed(self.handle.function, self._keeps, documents, self._engine.faults)
            return found if why is None else {**found, "vetoed": why}

        return fetch

    def _version(self, document: Any) -> Any:
        read = self._engine.faults.attempt_now("version", self._reading.version, document)
        return None if isinstance(read, Reason) else read

    def _view(self, found: dict[str, Any]) -> str | Reason:
        return found.get("vetoed") or listed(found["asked"], self.wide.names(found["documents"]))

    def _tags(self, documents: Sequence[Any]) -> list[str]:
        return [document_tag(self.corpus, id) for id in self._reading.ids(documents)]

    def _wanted(self, args: Any, kwargs: Any) -> int | None:
        """How many documents a call asks for, of whatever class the number is; None if the retriever decides."""
        return _count(self._k_of(args, kwargs))

    def _k_of(self, args: Any, kwargs: Any) -> Any:
        if not self._limited:
            return None
        return (self.handle.function.identifier.arguments(args, kwargs) or {}).get(self._k)

    def _widened(self, args: Any, kwargs: Any, k: int | None) -> tuple[Any, Any] | None:
        """The arguments that ask for more than the `k` documents that are wanted; None if none are."""
        many = self.wide.fetched(k)
        if many == k:
            return None
        bound = self._signature.bind(*args, **kwargs)
        bound.arguments[self._k] = many
        return bound.args, bound.kwargs

    def _query(self, args: Any, kwargs: Any) -> str | None:
        identifier = self.handle.function.identifier
        bound = identifier.arguments(args, kwargs) or {}
        query = bound.get(identifier.text) if isinstance(identifier.text, str) else None
        return query if isinstance(query, str) else None


def _lifetime(ttl: Any, short: float) -> Callable[[dict[str, Any]], Any]:
    """How long a result is kept: `ttl`, if that is a function what it says of the documents; `short` without any."""
    if callable(ttl):
        return lambda found: ttl(found["documents"]) if found["documents"] else short
    lasts = seconds("ttl", ttl)
    return lambda found: lasts if found["documents"] else short


def _named_in_vain(k: Any, name: str, signature: inspect.Signature) -> None:
    if not any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()):
        has = ", ".join(signature.parameters)
        raise ConfigurationError("k", k, f"{name} has no such parameter; it has {has}")


def _count(k: Any) -> int | None:
    return index(k) if isinstance(k, SupportsIndex) and index(k) >= 0 else None


def serves(found: dict[str, Any], k: int | None) -> bool:
    """Whether the best `k` are all in a result: as many were asked for, or there are no more."""
    asked = found["asked"]
    if asked == k:
        return True
    return k is not None and asked is not None and (k <= asked or len(found["documents"]) < asked)
