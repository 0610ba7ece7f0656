"""OpenTelemetry's instruments say what Prometheus' metrics say."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.observe.families import FAMILIES
from cachelayer.observe.otel_metrics import named


def collected(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    """Data points by metric."""
    data = reader.get_metrics_data()
    assert data is not None
    metrics = [m for r in data.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
    return {metric.name: list(metric.data.data_points) for metric in metrics}


async def test_a_reader_collects_counters_gauges_and_exponential_histograms() -> None:
    view = View(instrument_type=Histogram, aggregation=ExponentialBucketHistogramAggregation())
    reader = InMemoryMetricReader()
    layer = CacheLayer(semantic=False)
    layer.otel_metrics(MeterProvider([reader], views=[view]))

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return question

    for question in ("a", "a", "a", "b"):
        await ask(question)
    layer.stats()  # folds what waits to be counted
    told = collected(reader)
    by_source = {p.attributes["source"]: p.value for p in told["cachelayer.requests"]}
    assert by_source == {"backend": 2, "memory": 2}
    assert [p.value for p in told["cachelayer.entries"]] == [2]
    latencies = {p.attributes["result"]: p for p in told["cachelayer.request"]}
    assert latencies["miss"].count == 2 and latencies["exact"].count == 2
    assert hasattr(latencies["miss"], "scale")
    await layer.aclose()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_names_are_instruments_that_opentelemetry_takes_and_no_two_are_alike(family: Any) -> None:
    name, unit = named(family.name)
    assert name.replace(".", "").replace("_", "").isalnum() and unit in ("1", "s", "By")
    kinds = [(named(other.name), other.kind) for other in FAMILIES.values()]
    assert kinds.count(((name, unit), family.kind)) == 1


def test_a_provider_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"^provider=<str>: give an opentelemetry\.sdk\.metrics"):
        CacheLayer(semantic=False).otel_metrics("http://collector:4318")
