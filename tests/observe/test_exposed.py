"""What metrics tell of a store that fails, and with which metrics of the owner's they are exposed."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from shelf import Shelf

from cachelayer import CacheLayer, Policy
from cachelayer.errors import StoreFault
from cachelayer.observe.prometheus import Metrics, together
from cachelayer.testing import Gate

OWN = "# TYPE fleet_shed_total counter\nfleet_shed_total 3\n"


class Broken(Shelf):
    """A store that answers nothing."""

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Any:
        raise StoreFault("gone")


def told(text: bytes) -> dict[tuple[str, ...], float]:
    """Samples by name and values of labels, in the order of their names."""
    families = text_string_to_metric_families(text.decode())
    return {
        (one.name, *(one.labels[label] for label in sorted(one.labels))): one.value
        for family in families
        for one in family.samples
    }


async def test_a_store_that_fails_is_seen_by_its_faults_and_its_breaker() -> None:
    layer = CacheLayer(semantic=False, store=Broken(), policy=Policy(max_bytes=0))
    ask = layer.wrap(Gate(opened=True), name="ask")
    before = told(layer.metrics().render()[1])
    for number in range(9):
        await ask(f"question {number}")
    after = told(layer.metrics().render()[1])
    for of, state in ((before, "closed"), (after, "open")):
        found = {
            name: of["cachelayer_breaker_state", name, "redis"] for name in ("closed", "open", "half_open")
        }
        assert found == {"closed": 0.0, "open": 0.0, "half_open": 0.0, state: 1.0}
    assert after["cachelayer_breaker_opened_total", "redis"] == 1.0
    assert after["cachelayer_faults_total", "StoreFault", "store"] == 5.0
    await layer.aclose()


async def exposed(metrics: Metrics, method: str = "GET", accept: bytes = b"") -> tuple[int, str, bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "headers": [(b"accept", accept)]}
    await metrics.asgi()(scope, None, send)  # type: ignore[arg-type]
    return sent[0]["status"], dict(sent[0]["headers"])[b"content-type"].decode(), sent[1]["body"]


OPEN = b"application/openmetrics-text; version=1.0.0"


@pytest.mark.parametrize("several", [False, True])
async def test_metrics_of_the_owners_stand_beside_the_layers_in_prometheus_own_form(several: bool) -> None:
    layer = CacheLayer(semantic=False)
    metrics = layer.metrics()
    assert (await exposed(metrics, accept=OPEN))[1].startswith("application/openmetrics-text")
    metrics.also(lambda: OWN)
    metrics = together({"one": metrics}) if several else metrics
    status, kind, text = await exposed(metrics, accept=OPEN)
    assert (status, kind.partition(";")[0]) == (200, "text/plain")
    assert told(text)["fleet_shed_total",] == 3.0 and ("cachelayer_entries", *["one"] * several) in told(text)
    await layer.aclose()


async def test_who_reads_metrics_reads_and_nothing_else() -> None:
    layer = CacheLayer(semantic=False)
    assert [(await exposed(layer.metrics(), method))[0] for method in ("GET", "HEAD", "POST")] == [
        200,
        200,
        405,
    ]
    assert (await exposed(layer.metrics(), "HEAD"))[2] == b""
    await layer.metrics().asgi()({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
