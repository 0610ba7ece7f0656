"""Watching a layer: metrics, cost, traces, quality, and the meters that need a running loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError
from ..flow.loops import left_behind
from ..keep.call import Function
from ..keep.keeper import Keeper
from ..observe.cost import Ledger, Listed, Prices
from ..observe.health import LoopMeter
from ..observe.otel import Tracer
from ..observe.otel_metrics import OtelMetrics
from ..observe.quality import Hit, Quality, verdicts
from ..observe.readings import Readings
from ..observe.stats import FunctionStats
from ..tiers.shadows import Shadows
from .comparing import Comparison
from .tracing import Tracing

if TYPE_CHECKING:
    from ..observe.prometheus import Metrics


class Watching:
    """One per layer. Nothing is watched, and nothing costs anything, until it is asked for."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        shadows: Shadows,
        states: Callable[[], dict[str, Any]],
        keeper: Keeper,
    ) -> None:
        self._functions, self._shadows, self.states = functions, shadows, states
        self._clock, self._deferred, self._faults = keeper.clock, keeper.deferred, keeper.faults
        self.readings = Readings(self, keeper.clock)
        self.ledger: Ledger | None = None
        self.quality: Quality | None = None
        self.tracer: Tracer | None = None
        self.otel: OtelMetrics | None = None
        self.watches = False
        self._metrics: Metrics | None = None
        self.reset()

    def reset(self) -> None:
        """After a fork, the meters are the parent's."""
        self._meters: dict[asyncio.AbstractEventLoop, LoopMeter] = {}

    @property
    def counters(self) -> Mapping[str, FunctionStats]:
        """The counters of every function, by name, with everyone counted who has an answer by now."""
        self._deferred.settle()
        return {name: function.stats for name, function in self._functions.items()}

    def forget_texts(self) -> None:
        """Somebody's answers were erased: let go of the doubtful hits that wait for a person."""
        self._shadows.forget_texts()
        compared = [function.comparison for function in self._functions.values()]
        for holder in (
            self.quality,
            *(comparison.quality for comparison in compared if comparison is not None),
        ):
            if holder is not None:
                holder.forget_texts()

    def metrics(self) -> Metrics:
        """See `CacheLayer.metrics`."""
        if self._metrics is None:
            from ..observe.prometheus import Metrics

            self._metrics = Metrics(self.readings)
        self.watch()
        return self._metrics

    def account(self, prices: Listed | None, *, tenants: int, tags: int) -> Ledger:
        """See `CacheLayer.account`."""
        for name, value in (("tenants", tenants), ("tags", tags)):
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 1000:
                raise ConfigurationError(name, value, "give how many to tell apart, from 0 to 1000")
        if prices is None:
            if self.ledger is not None and not tenants and not tags:
                return self.ledger
            prices = Prices.bundled()
        held = prices if isinstance(prices, Prices) else Prices.load(prices)
        self.ledger = self.readings.ledger = Ledger(held, tenants=tenants, tags=tags)
        for function in self._functions.values():
            self.attend(function)
        return self.ledger

    def trace(self, provider: Any, *, prompts: bool) -> None:
        """See `CacheLayer.trace`."""
        self.tracer = Tracer(self._faults, provider, prompts=prompts)
        for function in self._functions.values():
            self.attend(function)

    def otel_metrics(self, provider: Any) -> None:
        """See `CacheLayer.otel_metrics`."""
        self.otel = OtelMetrics(self.readings, provider)
        self.watch()

    def judge_hits(self, keep: int) -> Quality:
        """See `CacheLayer.quality`."""
        if self.quality is None:
            self.quality = Quality(keep=keep)
            for function in self._functions.values():
                self.attend(function)
        return self.quality

    def watch(self) -> None:
        """Time streams from now on, and meter the running loop, if there is one."""
        self.watches = True
        for function in self._functions.values():
            self.attend(function)
        self.start()

    def attend(self, function: Function) -> None:
        """Watch this function like all the others."""
        stats = function.stats
        stats.paced, stats.ledger, stats.quality = self.watches, self.ledger, self.quality
        if self.otel is not None:
            stats.listener = self.otel.listener(function.name)
        if self.tracer is not None:
            tracing = Tracing(self.tracer, function.name, _provider(function), self._faults)
            function.tracing = tracing
            stats.trace_hit, stats.look_at = tracing.hit, 0

    def judged(self, hit: Hit, right: bool) -> None:
        """Pass a person's verdict on a hit to the error budget."""
        found = self._functions.get(hit.function)
        if found is not None:
            self._shadows.verdict(found, hit, right)

    def compare(self, function: Any, reference: Callable[..., Any], **how: Any) -> Comparison:
        """See `CacheLayer.compare`."""
        name = (
            function
            if isinstance(function, str)
            else getattr(getattr(function, "function", None), "name", "")
        )
        found = self._functions.get(name)
        if found is None:
            raise ConfigurationError(
                "function", function, "give a function that this layer wraps, or its name"
            )
        made = found.comparison = Comparison(found, reference, judge=self._shadows.judge(found), **how)
        found.stats.model_bounds = made.bounds
        return made

    def start(self) -> None:
        """Meter the running loop, if anything is watched and there is one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self.watches and loop not in self._meters:
            readings = self.readings
            self._meters[loop] = LoopMeter(self._clock.monotonic, readings.tick, readings.stalls)
            left_behind(self._meters)
            readings.meters = list(self._meters.values())

    def stop(self) -> None:
        """Stop the running loop's meter."""
        meter = self._meters.pop(asyncio.get_running_loop(), None)
        if meter is not None:
            meter.stop()
            self.readings.meters = list(self._meters.values())


def _provider(function: Function) -> str:
    """The provider of the model, by the GenAI conventions: the package of what is called, such as 'openai'."""
    return str(getattr(function.fn, "__module__", None) or "unknown").partition(".")[0]


class Watched:
    """What `CacheLayer` offers to those who run it."""

    _watching: Watching

    def metrics(self) -> Metrics:
        """All counters and latencies, for Prometheus; see `docs/metrics.md`. Returns the same object each time.

        From the first call on, streams are timed as their readers see them, and stalls of the event loop are measured.
        Raises MissingExtra if prometheus-client is not installed.
        """
        return self._watching.metrics()

    def otel_metrics(self, provider: Any = None) -> None:
        """Report the same metrics through OpenTelemetry, to `provider` or the global meter provider.

        Raises MissingExtra if opentelemetry is not installed.
        """
        self._watching.otel_metrics(provider)

    def account(self, prices: Listed | None = None, *, tenants: int = 0, tags: int = 0) -> Ledger:
        """Count cost from now on, by `prices` (or a dict or file of them), also by the busiest `tenants` and `tags`.

        None means the bundled list prices (`Prices.bundled`), each with its date and source. Without arguments it
        returns what counts already, if anything does; with any, it counts anew. `Ledger.stats()` is the report.

        Raises ConfigurationError naming the file and the field.
        """
        return self._watching.account(prices, tenants=tenants, tags=tags)

    def trace(self, provider: Any = None, *, prompts: bool = False) -> None:
        """Make OpenTelemetry spans of requests from now on, through `provider` or the global tracer provider.

        Its sampler decides which requests. `prompts=True` puts the texts of requests and answers into spans.
        Raises MissingExtra if opentelemetry-sdk is not installed, ConfigurationError if no provider is set.
        """
        self._watching.trace(provider, prompts=prompts)

    def quality(self, *, keep: int = 200) -> Quality:
        """Watch how similar hits perform, by slice and over time. Returns the same object each time.

        The texts of the `keep` most doubtful hits are held in memory for `Quality.export`; 0 holds none.
        """
        return self._watching.judge_hits(keep)

    def compare(
        self, function: Any, reference: Callable[..., Any], *, share: float = 0.02, keep: int = 100
    ) -> Comparison:
        """Ask `reference`, too, for this share of what `function` answers, in the background, and compare the answers.

        For a cheap model beside a better one: `reference` takes the same arguments. Answers are compared by the
        function's `judge=`, otherwise by the error budget's own rules. At most `keep` answers that differ are held for
        `Comparison.quality.export`. Raises ConfigurationError.
        """
        return self._watching.compare(function, reference, share=share, keep=keep)

    async def judge(self, path: Path | str) -> tuple[int, int]:
        """Learn from the verdicts that a person put into a file of `Quality.export`; returns how many (right, wrong).

        Every verdict changes how much the error budget trusts hits that are as doubtful. Wrong answers are also
        removed and unlearned, as by `report_wrong`. A hit counts once, however often its file is read.
        Raises ConfigurationError naming file, line and field.
        """
        quality = self._watching.judge_hits(200)
        judged = [(hit, right) for hit, right in verdicts(path) if quality.judged(hit)]
        for hit, right in judged:
            self._watching.judged(hit, right)
            quality.checked(hit, right)
            if not right:
                await self.report_wrong(hit.id)
        wrong = sum(not right for _, right in judged)
        return len(judged) - wrong, wrong

    async def report_wrong(self, outcome: Any) -> bool:
        """See `CacheLayer.report_wrong`."""
        raise NotImplementedError
