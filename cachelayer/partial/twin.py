"""One step offered twice: called from plain code in its own thread, and awaited; the same answers behind both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..flow.waiting import limited
from ..path.engine import Engine
from ..path.explain import Explanation
from ..types import Undivided
from ..wrap.handles import Handle, PlainHandle


class Twin(Undivided):
    """`now(...)` calls the plain function, `later(...)` awaits the asynchronous one; both take the same arguments.

    `cached`: the plain function as `layer.cached` returned it. `work`: an asynchronous function that does the same.
    Calls of both kinds have one identity, one policy and one entry; each runs where its caller is.
    """

    def __init__(self, cached: Any, work: Callable[..., Awaitable[Any]]) -> None:
        plain: PlainHandle = cached.handle
        self.now: Callable[..., Any] = cached
        self.name = plain.function.name
        self._engine: Engine = plain.engine
        self._handle = Handle(
            plain.function,
            plain.engine,
            lambda: plain.scope,
            tenancy_required=plain.tenancy_required,
            invoke=limited(work, plain.function.backend_budget),
        )

    async def later(self, /, *args: Any, **kwargs: Any) -> Any:
        """The answer, awaited."""
        return await self._engine.answer(self._handle.now(args, kwargs))

    async def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """See `Handle.explain`."""
        return await self._handle.explain(*args, **kwargs)

    def explain_now(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """See `Handle.explain`."""
        explanation: Explanation = self._engine.portal.run(self.explain(*args, **kwargs))
        return explanation
