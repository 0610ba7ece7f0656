"""What watches is made of files that agree: rules, dashboard, compose, Kubernetes, with each other and the metrics."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from cachelayer.cli import main
from cachelayer.observe.families import FAMILIES

MONITORING = Path(__file__).resolve().parents[2] / "examples/deploy/monitoring"
DASHBOARD = json.loads((MONITORING / "grafana/dashboard.json").read_text())


@pytest.mark.parametrize(
    "words",
    ["check rules alerts.yml", "test rules alerts-test.yml", "check config prometheus.yml"],
)
def test_rules_and_their_tests_pass_promtool(words: str) -> None:
    command = ["promtool", *words.split()]
    done = subprocess.run(command, cwd=MONITORING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def expressions() -> list[str]:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_expression_of_the_dashboard_is_promql(tmp_path: Path) -> None:
    filled = [e.replace("$job", ".*").replace("$__rate_interval", "1m") for e in expressions()]
    rules = [{"record": f"panel:{i}", "expr": expr} for i, expr in enumerate(filled)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    command = ["promtool", "check", "rules", tmp_path / "rules.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dashboard_alerts_and_pages_name_metrics_and_labels_that_exist() -> None:
    known = {family.name: set(family.labels) for family in FAMILIES.values()}
    texts = [*expressions(), (MONITORING / "alerts.yml").read_text()]
    texts.append((MONITORING.parents[2] / "docs/metrics.md").read_text())
    for text in texts:
        for name, matchers in re.findall(r"\b(cachelayer_\w+)(?:\{([^}]*)\})?", text):
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            family = name if name in known else base
            if name.startswith("cachelayer_backend_") or name.endswith("_"):
                continue
            assert family in known, name
            for label in re.findall(r"(\w+)(?:=|!=|=~)", matchers):
                assert label in known[family] | {"job", "instance", "le"}, (name, label)


def test_panels_neither_overlap_nor_repeat_an_id() -> None:
    places = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & places, panel["title"]
        places |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


def test_compose_mounts_files_that_are_there_and_calls_options_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    services = yaml.safe_load((MONITORING / "compose.yaml").read_text())["services"]
    for service in services.values():
        for volume in service.get("volumes", []):
            assert (MONITORING / volume.split(":")[0]).exists(), volume
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    known = capsys.readouterr().out
    for option in re.findall(r"--[a-z]+", services["gateway"]["command"].split("cachelayer serve")[1]):
        assert option in known, option


def test_the_gateway_of_compose_is_installed_from_the_sources_and_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = yaml.safe_load((MONITORING / "compose.yaml").read_text())["services"]["gateway"]
    sources = [volume.split(":")[0] for volume in gateway["volumes"] if ":/sources" in volume]
    assert [(MONITORING / path / "pyproject.toml").is_file() for path in sources] == [True]
    assert "'/tmp/cachelayer[serve,metrics,redis,cpu,local]'" in gateway["command"]
    assert '"mkdir -p /tmp/cachelayer' in gateway["command"], "a container that starts again still has it"
    served = re.sub(
        r"\$\{\w+:\?[^}]*\}", "http://127.0.0.1:1", gateway["command"].split("cachelayer serve")[1]
    )
    for name in gateway["environment"]:
        monkeypatch.setenv(name, "a secret of sixteen characters or more")
    assert main(["serve", "--check", *served.rstrip('"').split()]) == 0, capsys.readouterr().err


KUBERNETES = list(yaml.safe_load_all((MONITORING / "kubernetes.yaml").read_text()))
KUSTOMIZATION = yaml.safe_load((MONITORING / "kustomization.yaml").read_text())


@pytest.mark.parametrize("document", KUBERNETES, ids=lambda d: f"{d['kind']} {d['metadata']['name']}")
def test_what_watches_on_kubernetes_keeps_to_its_schemas(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, "1.34", strict=True)


def test_rules_for_pods_pass_promtool(tmp_path: Path) -> None:
    config = yaml.safe_load((MONITORING / "prometheus-kubernetes.yml").read_text())
    (pods,) = config["scrape_configs"]
    assert pods.pop("kubernetes_sd_configs") == [{"role": "pod"}]  # Debian's promtool was built without it
    (tmp_path / "config.yml").write_text(yaml.safe_dump({**config, "rule_files": []}))
    command = ["promtool", "check", "config", tmp_path / "config.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_volumes_on_kubernetes_are_made_of_files_that_are_there() -> None:
    made = {
        one["name"]: [f.rpartition("=") for f in one["files"]] for one in KUSTOMIZATION["configMapGenerator"]
    }
    for files in made.values():
        assert all((MONITORING / path).is_file() for _, _, path in files)
    pods = [d["spec"]["template"]["spec"] for d in KUBERNETES if d["kind"] == "Deployment"]
    claims = {d["metadata"]["name"] for d in KUBERNETES if d["kind"] == "PersistentVolumeClaim"}
    for pod in pods:
        keys = {}
        for volume in pod["volumes"]:
            held = volume.get("configMap")
            assert held is not None or volume["persistentVolumeClaim"]["claimName"] in claims
            if held is not None:
                keys[volume["name"]] = {key or Path(path).name for key, _, path in made[held["name"]]}
        (container,) = pod["containers"]
        for mount in container["volumeMounts"]:
            assert "subPath" not in mount or mount["subPath"] in keys[mount["name"]]


def test_the_pods_are_found_by_the_annotations_that_they_carry() -> None:
    api = next(yaml.safe_load_all((MONITORING.parent / "api.yaml").read_text()))
    known = {f"prometheus.io/{part}" for part in ("scrape", "port", "path")}
    carried = set(api["spec"]["template"]["metadata"]["annotations"])
    assert {"prometheus.io/scrape", "prometheus.io/port"} <= carried <= known
    text = (MONITORING / "prometheus-kubernetes.yml").read_text()
    assert set(re.findall(r"pod_annotation_prometheus_io_(\w+)", text)) == {"scrape", "port", "path"}
    scaled = (MONITORING.parent / "gpu-autoscale.yaml").read_text()
    services = {
        d["metadata"]["name"]: d["spec"]["ports"][0]["port"] for d in KUBERNETES if d["kind"] == "Service"
    }
    assert f"http://prometheus.{KUSTOMIZATION['namespace']}:{services['prometheus']}" in scaled


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--prometheus http://127.0.0.1:9", "--prometheus http://127.0.0.1:9: no answer of a Prometheus"),
        ("--prometheus nowhere", "--prometheus nowhere: no answer of a Prometheus"),
        ("--last 0", "--last 0: give seconds above 0"),
        ("--dashboard nowhere", "'nowhere'"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_a_line(words: str, told: str, tmp_path: Path) -> None:
    command = [sys.executable, MONITORING / "draw.py", *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and told in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_values_are_drawn_with_three_digits_and_without_exponents() -> None:
    draw = runpy.run_path(str(MONITORING / "draw.py"))["shown"]
    values = ((0.99996, "s"), (1234, "s"), (999.9, "reqps"), (0.4567, "percentunit"), (0, "s"))
    assert [draw(*value) for value in values] == ["1000 ms", "1230 s", "1000 /s", "45.7 %", "0"]
