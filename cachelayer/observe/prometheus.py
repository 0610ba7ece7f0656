"""Metrics for Prometheus: a collector that reads the layer's own counters when it is scraped, and not before."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import Any

from ..errors import MissingExtra, broken
from ..flow.background import offload
from .families import FAMILIES, Family
from .histogram import Shown
from .readings import Reading

Message = MutableMapping[str, Any]
AsgiApp = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
More = Callable[[], str]
"""Further metrics in Prometheus' text format, such as those of a `Fleet`."""


class Metrics:
    """A collector for any registry of prometheus_client: `REGISTRY.register(layer.metrics())`.

    `render` and `asgi` expose it alone. Raises MissingExtra if prometheus-client is not installed.
    """

    def __init__(self, readings: Iterable[Reading], labels: tuple[str, ...] = ()) -> None:
        try:
            from prometheus_client import exposition, metrics_core
        except ImportError as fault:
            why = broken("prometheus_client", fault)
            raise MissingExtra("metrics", "prometheus-client", "metrics", why) from fault
        self._readings, self._exposition, self._core = readings, exposition, metrics_core
        self._labels = labels
        self._more: list[More] = []

    def also(self, more: More) -> None:
        """Let `render` and `asgi` give these metrics too."""
        self._more.append(more)

    def describe(self) -> Iterator[Any]:
        """The metrics without samples: registering collects nothing."""
        for family in FAMILIES.values():
            yield self._family(family)

    def collect(self) -> Iterator[Any]:
        """The metrics as they are now."""
        yield from self._families(self._readings)

    def _families(self, readings: Iterable[Reading]) -> Iterator[Any]:
        families: dict[str, Any] = {}
        for reading in readings:
            family = families.get(reading.name)
            if family is None:
                family = families[reading.name] = self._family(FAMILIES[reading.name])
            if isinstance(reading.value, Shown):
                buckets = [(_edge(edge), float(n)) for edge, n in reading.value.below]
                family.add_metric(reading.labels, buckets, reading.value.total)
            else:
                family.add_metric(reading.labels, reading.value)
        yield from families.values()

    def _family(self, family: Family) -> Any:
        kinds = {
            "counter": self._core.CounterMetricFamily,
            "gauge": self._core.GaugeMetricFamily,
            "histogram": self._core.HistogramMetricFamily,
        }
        return kinds[family.kind](family.name, family.help, labels=(*family.labels, *self._labels))

    def render(self, accept: str = "") -> tuple[str, bytes]:
        """(content type, text) in the format that an Accept header asks for: Prometheus' own, or OpenMetrics."""
        return self._rendered(self._readings, accept)

    def _rendered(self, readings: Iterable[Reading], accept: str) -> tuple[str, bytes]:
        if self._more:  # their text is Prometheus' own
            accept = ""
        encode, kind = self._exposition.choose_encoder(accept)
        body: bytes = encode(_Once(self._families(readings)))
        return kind, body + "".join(more() for more in self._more).encode()

    def asgi(self) -> AsgiApp:
        """An ASGI application that answers GET with the metrics. Other methods get 405."""

        async def answer(
            scope: Message,
            receive: Callable[[], Awaitable[Message]],
            send: Callable[[Message], Awaitable[None]],
        ) -> None:
            if scope["type"] != "http":
                return
            status, kind, body = 405, "text/plain; charset=utf-8", b"GET only\n"
            if scope["method"] in ("GET", "HEAD"):
                accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
                status = 200
                now = list(self._readings)  # a consistent moment; the text is made beside the loop
                kind, body = await offload(partial(self._rendered, now, accept))
            headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})

        return answer


def together(layers: Mapping[str, Metrics]) -> Metrics:
    """One collector for the metrics of several layers, which no registry takes side by side.

    The label `layer` tells them apart.
    """
    made = Metrics(_Together(layers), ("layer",))
    for one in layers.values():
        made._more += one._more
    return made


class _Together:
    """The readings of several layers, each with its name as the last label."""

    def __init__(self, layers: Mapping[str, Metrics]) -> None:
        self._layers = dict(layers)

    def __iter__(self) -> Iterator[Reading]:
        for name, one in self._layers.items():
            for reading in one._readings:
                yield reading._replace(labels=(*reading.labels, name))


class _Once:
    """Families that were collected already, for an encoder."""

    def __init__(self, families: Iterable[Any]) -> None:
        self._families = families

    def collect(self) -> Iterable[Any]:
        return self._families


def _edge(edge: float) -> str:
    return "+Inf" if math.isinf(edge) else repr(edge)
