"""The same metrics through OpenTelemetry: counters and gauges are read at a collection, latencies recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..checks import unquoted
from ..errors import ConfigurationError, MissingExtra, broken
from .families import FAMILIES
from .histogram import Shown
from .readings import APART, RESULTS, Reading
from .topn import OTHER

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation

_FRESH = 0.1
"""Seconds for which one look at the layer answers for all instruments: a collection asks each of them."""


class OtelMetrics:
    """Instruments of one meter provider. Names are those of Prometheus with dots, without `_total` and units.

    Latencies are histograms of the kind that the provider's views choose (exponential ones too). They are recorded when
    some requests have come together, off the path; of hits in memory the samples are, one for each look. Raises
    MissingExtra where opentelemetry is not installed.
    """

    def __init__(self, readings: Iterable[Reading], provider: Any = None) -> None:
        try:
            from opentelemetry import metrics
        except ImportError as fault:
            why = broken("opentelemetry", fault)
            raise MissingExtra("otel_metrics", "opentelemetry-sdk", "otel", why) from fault
        self._readings, self._observation = readings, metrics.Observation
        self._now: dict[str, list[Observation]] = {}
        self._read_at = 0.0
        provider = provider or metrics.get_meter_provider()
        if not hasattr(provider, "get_meter"):
            remedy = "give an opentelemetry.sdk.metrics.MeterProvider, or None for the one that is set"
            raise ConfigurationError("provider", unquoted(provider), remedy)
        meter = provider.get_meter("cachelayer", version("cachelayer"))
        self._histograms: dict[str, Any] = {}
        self._apart: set[str] = set()
        for name, family in FAMILIES.items():
            metric, unit = named(family.name)
            look = [partial(self._observe, name)]
            if family.kind == "counter":
                meter.create_observable_counter(metric, look, unit, family.help)
            elif family.kind == "gauge":
                meter.create_observable_gauge(metric, look, unit, family.help)
            elif name in RESULTS.values():
                self._histograms[name] = meter.create_histogram(metric, unit, family.help)

    def _observe(self, name: str, options: CallbackOptions) -> list[Observation]:
        if time.monotonic() - self._read_at > _FRESH:
            self._now, self._read_at = {}, time.monotonic()
            for reading in self._readings:
                if not isinstance(reading.value, Shown):
                    labels = dict(zip(FAMILIES[reading.name].labels, reading.labels, strict=True))
                    self._now.setdefault(reading.name, []).append(self._observation(reading.value, labels))
        return self._now.get(name, [])

    def listener(self, function: str) -> Callable[[str, str, Sequence[float]], None]:
        """What to tell of a function's latencies; asked for in the order in which functions were wrapped."""
        if len(self._apart) < APART:
            self._apart.add(function)
        label = function if function in self._apart else OTHER

        def tell(of: str, which: str, seconds: Sequence[float]) -> None:
            name = RESULTS[of]
            labels = dict(zip(FAMILIES[name].labels, (label, which), strict=True))
            for value in seconds:
                self._histograms[name].record(value, labels)

        return tell


def named(name: str) -> tuple[str, str]:
    """('cachelayer.saved', 's') for cachelayer_saved_seconds_total."""
    name = name.removeprefix("cachelayer_").removesuffix("_total")
    for suffix, unit in (("_seconds", "s"), ("_bytes", "By")):
        if name.endswith(suffix):
            return f"cachelayer.{name.removesuffix(suffix)}", unit
    return f"cachelayer.{name}", "1"
