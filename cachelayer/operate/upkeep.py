"""Operations for the owner: invalidate, erase, change the model, statistics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..checks import either
from ..errors import ConfigurationError
from ..flow.writeback import WriteBack
from ..keep.holdings import STEP
from ..keep.parts import ANYTHING, function_tag, tenant_tag
from ..path.engine import Engine
from ..policy import check_names, strings
from ..protocols import Decider, Embedder
from ..semantic.model_change import change_model
from ..semantic.types import State
from ..tiers.arrivals import owners_of
from ..tiers.implied import implied_by

EVERYBODY: Any = object()
"""In place of a tenant's name: all tenants, and callers without one."""


class Upkeep:
    """Acts on every memory of a layer and on its shared tier."""

    def __init__(self, engine: Engine, forget_texts: Callable[[], None]) -> None:
        """`forget_texts`: let go of the questions and answers that are held for a person."""
        self._forget_texts = forget_texts
        self._engine, self._keeper, self._shared = engine, engine.keeper, engine.tiers.shared

    async def invalidate(self, tags: Sequence[str], scope: Mapping[str, str] | None, dry_run: bool) -> int:
        """See `CacheLayer.invalidate`."""
        either("dry_run", dry_run)
        tags = strings("tags", tags)
        if not tags and scope is None:
            raise ConfigurationError(
                "tags", tags, "name tags=[...] or a scope={'tenant': ...}; erase() takes everything"
            )
        wanted = [] if scope is None else [_checked(scope)]
        tags = [*tags, *_built_on(scope), ANYTHING]
        what: Any = {"tags": frozenset(tags), "wanted": wanted}
        await self._engine.tiers.ready()
        if dry_run:
            return await self._matching(what)
        gone = await self._keeper.forget(**what)
        if self._shared is not None:
            await self._shared.invalidations.invalidate([*tags, *implied_by(scope)])
        return gone + await self._tell(what, physically=False)

    async def _matching(self, what: Any) -> int:
        """How many entries would go; counted in steps between which the loop runs."""
        declared, elsewhere = self._keeper.declared(**what), self._engine.tiers.elsewhere
        found = set(elsewhere.pending(declared))
        for number, slot in enumerate(self._keeper.matching(declared), 1):
            found.add(slot.id)
            if number % STEP == 0:
                await asyncio.sleep(0)
        return len(found)

    async def _tell(self, what: Any, *, physically: bool) -> int:
        """Carry out the rest of an invalidation that the store knows of; returns how many entries went.

        In memory, those that were read back before the store was told; and what was not in memory yet.
        """
        tiers = self._engine.tiers
        gone = 0 if self._shared is None else await self._keeper.forget(**what)
        if physically:
            self._forget_texts()
            for tier in tiers.every:
                await tier.forget_texts()
            if tiers.shortcuts is not None:
                tiers.shortcuts.clear()
        declared = self._keeper.declared(**what)  # with the scopes that exist by now
        if physically:
            tiers.reported.drop(owners_of(declared))
        return gone + await tiers.elsewhere.forgotten(declared, physically=physically)

    async def erase(self, tenant: str, dry_run: bool) -> int:
        """See `CacheLayer.erase`."""
        either("dry_run", dry_run)
        scope = {} if tenant is EVERYBODY else _checked({"tenant": tenant})
        tags = [*_built_on(scope), ANYTHING]
        what: Any = {"wanted": [scope] if scope else [], "everything": not scope, "tags": frozenset(tags)}
        await self._engine.tiers.ready(physically=True)
        if dry_run:
            return await self._matching(what)
        gone = await self._keeper.forget(**what)
        try:
            if self._shared is not None:
                await self._shared.invalidations.erase([*implied_by(scope), *tags])
        finally:
            gone += await self._tell(what, physically=True)
        return gone

    async def change_model(self, embedder: Embedder, decider: Decider) -> int:
        """See `CacheLayer.change_model`."""
        tiers = self._engine.tiers
        if tiers.similar is None:
            raise ConfigurationError(
                "embedder", embedder, "this layer is exact only, and has no model to change"
            )
        if tiers.similar.state is not State.READY:
            raise ConfigurationError(
                "embedder", embedder, "the similar tier does not serve: await layer.start() first"
            )
        if tiers.elsewhere.lasting:
            remedy = "with index=<directory> restart with the new embedder: entries are embedded anew in the background"
            raise ConfigurationError("embedder", embedder, remedy)
        return await change_model(tiers.similar, embedder, decider)

    def stats(self) -> dict[str, Any]:
        """What the tiers hold and how they fare."""
        keeper, tiers = self._keeper, self._engine.tiers
        return {
            "entries": sum(len(m) for m in keeper.memories),
            "bytes": sum(m.bytes for m in keeper.memories),
            "max_bytes": sum(m.max_bytes for m in keeper.memories),
            "flights": len(self._engine.flights),
            "write_back": _queue(tiers.writeback),
            "learning": _queue(tiers.learning.queue),
            "gone": dict(keeper.gone),
            "embedder": getattr(tiers.similar.embedder, "stats", dict)() if tiers.similar is not None else {},
            "vectors": {t.embedder.identity: t.stats() for t in tiers.every if t is not tiers.similar},
            "background": {"running": len(tiers.background), "refused": tiers.background.refused},
            "recorded": tiers.recorder.stats(),
            "shared": self._shared.stats() if self._shared else {"state": "off"},
            "elsewhere": tiers.elsewhere.stats() or {"state": "off"},
            "faults": {f"{stage}:{name}": n for (stage, name), n in self._engine.faults.counts.items()},
        }


def _queue(queue: WriteBack[Any]) -> dict[str, int]:
    return {"queued": len(queue), "dropped": queue.dropped, "done": queue.handled}


def _built_on(scope: Mapping[str, str] | None) -> list[str]:
    """The tags of what was built on answers of a scope, beside what lies in it."""
    if not scope:
        return []
    return [function_tag(scope["function"])] if "function" in scope else [tenant_tag(scope["tenant"])]


def _checked(scope: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(scope, Mapping) or not scope:
        raise ConfigurationError(
            "scope", scope, "give a mapping, such as {'tenant': 'acme'}; erase() takes everything"
        )
    check_names("scope field", dict(scope), ["tenant", "function"])
    for field, value in scope.items():
        if not isinstance(value, str) or not value:
            how = ", as ask.function.name is the name of ask" if field == "function" else ""
            raise ConfigurationError(
                field, value, f"name a {field}{how}; erase() without one removes everything"
            )
    return dict(scope)
