"""The deployment examples keep to the schemas of Kubernetes and KEDA, and to what they say about
themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from cachelayer.adapters.tensorrt_llm.fleet import Fleet
from cachelayer.adapters.tensorrt_llm.serve import ServeTransport
from cachelayer.adapters.tensorrt_llm.signals import prometheus

FOLDER = Path(__file__).parents[2] / "examples/deploy"
DOCUMENTS = [
    (path.name, document)
    for path in sorted(FOLDER.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]

INTEGER = {"type": "integer", "minimum": 0}
TEXT = {"type": "string", "minLength": 1}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


RULES = closed(
    [],
    stabilizationWindowSeconds={"type": "integer", "minimum": 0, "maximum": 3600},
    selectPolicy={"enum": ["Max", "Min", "Disabled"]},
    policies={
        "type": "array",
        "items": closed(
            ["type", "value", "periodSeconds"],
            type={"enum": ["Pods", "Percent"]},
            value={"type": "integer", "minimum": 1},
            periodSeconds={"type": "integer", "minimum": 1, "maximum": 1800},
        ),
    },
)
# keda.sh/v1alpha1 ScaledObject, the fields of its custom resource definition that are used here, closed
SCALED_OBJECT = closed(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "keda.sh/v1alpha1"},
    kind={"const": "ScaledObject"},
    metadata={"type": "object"},
    spec=closed(
        ["scaleTargetRef", "triggers"],
        scaleTargetRef=closed(["name"], apiVersion=TEXT, kind=TEXT, name=TEXT),
        minReplicaCount=INTEGER,
        maxReplicaCount=INTEGER,
        pollingInterval=INTEGER,
        cooldownPeriod=INTEGER,
        fallback=closed(["failureThreshold", "replicas"], failureThreshold=INTEGER, replicas=INTEGER),
        advanced=closed(
            [],
            horizontalPodAutoscalerConfig=closed([], behavior=closed([], scaleUp=RULES, scaleDown=RULES)),
        ),
        triggers={
            "type": "array",
            "minItems": 1,
            "items": closed(
                ["type", "metadata"],
                type=TEXT,
                name=TEXT,
                metricType={"enum": ["AverageValue", "Value", "Utilization"]},
                metadata={"type": "object", "additionalProperties": {"type": "string"}},
            ),
        },
    ),
)


@pytest.mark.parametrize(("name", "document"), DOCUMENTS)
def test_every_document_is_valid(name: str, document: dict[str, Any]) -> None:
    if document["kind"] == "ScaledObject":
        jsonschema.validate(document, SCALED_OBJECT)
    else:
        kubernetes_validate.validate(document, "1.34", strict=True)


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [document for _, document in DOCUMENTS if document["kind"] == kind]


def test_the_tiers_have_their_own_workloads_autoscalers_and_disruption_budgets() -> None:
    (api,), (gpu,) = of_kind("Deployment"), of_kind("StatefulSet")
    targets = {
        d["spec"]["scaleTargetRef"]["name"]
        for d in of_kind("HorizontalPodAutoscaler") + of_kind("ScaledObject")
    }
    names = {api["metadata"]["name"], gpu["metadata"]["name"]}
    assert targets == names == {d["metadata"]["name"] for d in of_kind("PodDisruptionBudget")}
    pods = api["spec"]["template"]["spec"], gpu["spec"]["template"]["spec"]
    assert "nodeSelector" not in pods[0] and pods[1]["nodeSelector"] == {"node-pool": "gpu"}
    assert "nvidia.com/gpu" not in str(pods[0]) and "nvidia.com/gpu" in str(pods[1])


def test_there_is_warm_capacity_and_the_fallback_lies_within_the_bounds() -> None:
    (scaled,) = of_kind("ScaledObject")
    spec = scaled["spec"]
    assert 2 <= spec["minReplicaCount"] <= spec["fallback"]["replicas"] <= spec["maxReplicaCount"]


async def test_every_metric_that_is_scaled_on_is_one_the_adapter_gives() -> None:
    """With or without traffic: an autoscaler that asks for a name nobody exports stands still."""
    fleet = Fleet([ServeTransport("http://127.0.0.1:1")])
    text = prometheus(fleet.signals())
    (scaled,) = of_kind("ScaledObject")
    for trigger in scaled["spec"]["triggers"]:
        for metric in re.findall(r"cachelayer_\w+", trigger["metadata"]["query"]):
            assert re.search(rf"^{metric}{{", text, re.MULTILINE), metric
