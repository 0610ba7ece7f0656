"""However many functions a layer wraps, its metrics stay readable, and everything is counted."""

from __future__ import annotations

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families

from cachelayer import CacheLayer
from cachelayer.observe.readings import APART


async def answer(question: str) -> str:
    return question.upper()


def counted(layer: CacheLayer) -> dict[tuple[str, str], float]:
    """Every sample of `calls_total`, of hits and of how many requests were timed, by name and function."""
    page = layer.metrics().render()[1].decode()
    wanted = ("cachelayer_calls_total", "cachelayer_requests_total", "cachelayer_request_seconds_count")
    sums: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name in wanted:
                at = sample.name.removeprefix("cachelayer_"), sample.labels["function"]
                sums[at] = sums.get(at, 0.0) + sample.value
    return sums


async def test_functions_beyond_the_first_are_counted_together() -> None:
    layer = CacheLayer(semantic=False)
    names = ["other", *(f"ask:{number}" for number in range(APART + 9))]
    for name in names:
        ask = layer.wrap(answer, name=name)
        assert await ask("a") == await ask("a") == "A"
    told = counted(layer)
    assert {function for _, function in told} == {*names[:APART], "other"}
    rest = len(names) - APART + 1  # the function of that name among them
    assert told["calls_total", "ask:0"] == 1 and told["calls_total", "other"] == rest
    assert told["requests_total", "ask:0"] == 2 and told["requests_total", "other"] == 2 * rest
    assert told["request_seconds_count", "other"] == 2 * rest
    assert sum(n for (name, _), n in told.items() if name == "calls_total") == len(names)
    assert len(layer.stats()["functions"]) == len(names)


async def test_latencies_told_to_opentelemetry_have_the_functions_that_its_counters_have() -> None:
    reader = InMemoryMetricReader()
    layer = CacheLayer(semantic=False)
    layer.otel_metrics(MeterProvider([reader]))
    names = [f"ask:{number}" for number in range(APART + 9)]
    for name in names:
        await layer.wrap(answer, name=name)("a")
    layer.stats()  # folds what waits to be counted
    data = reader.get_metrics_data()
    assert data is not None
    metrics = {m.name: m.data for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    for metric in ("cachelayer.calls", "cachelayer.request"):
        told = {point.attributes["function"] for point in metrics[metric].data_points}
        assert told == {*names[:APART], "other"}
    await layer.aclose()
