"""The values for Airflow's official Helm chart, checked by its schema and the project's rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

pytestmark = pytest.mark.fast

PROJECT = Path(__file__).parents[3]
SCHEMA = PROJECT / "tests" / "fixtures" / "helm" / "airflow-1.22.0.values.schema.json"
COMPONENTS = ("scheduler", "apiServer", "dagProcessor", "triggerer", "migrateDatabaseJob")


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PROJECT / "include" / "helm" / "values.yaml").read_text(encoding="utf-8"))
    return loaded


def variables(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every environment variable of every component."""
    yield from values["env"]
    for component in COMPONENTS:
        yield from values[component].get("env", [])


def test_the_charts_own_schema_accepts_them(values: dict[str, Any]) -> None:
    jsonschema.validate(values, json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_the_schema_refuses_keys_unknown_to_the_chart(values: dict[str, Any]) -> None:
    for unknown in ({"schduler": {}}, {"uid": "nobody"}, {"data": {"metadataSecret": "x"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**values, **unknown}, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_secrets_are_named_and_never_said(values: dict[str, Any]) -> None:
    for variable in variables(values):
        if any(word in variable["name"] for word in ("PASSWORD", "SECRET_KEY", "ACCESS_KEY")):
            assert set(variable["valueFrom"]) == {"secretKeyRef"}, variable["name"]
    said_aloud = {"fernetKey", "apiSecretKey", "jwtSecret", "webserverSecretKey", "metadataConnection"}
    assert not said_aloud & {*values, *values["data"]}
    assert all(values[name] for name in ("fernetKeySecretName", "apiSecretKeySecretName", "jwtSecretName"))
    # Both would come with a password that everybody knows.
    assert not values["createUserJob"]["enabled"]
    assert not values["postgresql"]["enabled"]


def test_airflow_is_set_up_as_everywhere_else_but_for_more_tasks_at_a_time(values: dict[str, Any]) -> None:
    lines = (PROJECT / "include" / "airflow.env").read_text(encoding="utf-8").splitlines()
    elsewhere = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    settings = {
        f"AIRFLOW__{part}__{key}".upper(): value
        for part in values["config"]
        for key, value in values["config"][part].items()
    }
    here = {name: str(value) for name, value in settings.items()}
    here |= {variable["name"]: variable["value"] for variable in values["env"]}
    name = "AIRFLOW__CORE__PARALLELISM"
    assert int(here[name]) > int(elsewhere[name])
    assert elsewhere.items() - here.items() == {(name, elsewhere[name])}


def test_steps_run_as_pods_by_the_scheduler(values: dict[str, Any]) -> None:
    assert {"name": "KAFKA_PARETO_RUNNER", "value": "kubernetes"} in values["env"]
    assert values["executor"] == "LocalExecutor"
    given = {variable["name"]: variable.get("value") for variable in values["scheduler"]["env"]}
    assert {name for name in given if name.startswith("KAFKA_PARETO_STEP_")} == {
        f"KAFKA_PARETO_STEP_{name}" for name in ("IMAGE", "SECRET", "MEMORY", "CPUS")
    }
    sidecar = json.loads(given["AIRFLOW_CONN_KUBERNETES_DEFAULT"])["extra"]["xcom_sidecar_container_image"]
    assert sidecar == given["KAFKA_PARETO_STEP_IMAGE"]


def test_every_component_has_its_share_and_none_a_power(values: dict[str, Any]) -> None:
    for component in COMPONENTS:
        resources = values[component]["resources"]
        assert {"requests", "limits"} <= set(resources), component
    assert values["securityContexts"]["pod"]["runAsNonRoot"] is True
    assert values["securityContexts"]["containers"]["capabilities"] == {"drop": ["ALL"]}


def test_nothing_runs_the_official_images_scripts(values: dict[str, Any]) -> None:
    """The chart's own probes and its cleaning of logs do; our image has none of them."""
    probes = {"scheduler": ["livenessProbe", "startupProbe"], "dagProcessor": ["livenessProbe"]}
    for component, names in {**probes, "triggerer": ["livenessProbe"]}.items():
        for name in names:
            assert values[component][name]["command"][:3] == ["airflow", "jobs", "check"], f"{component}.{name}"
        assert not values[component]["logGroomerSidecar"]["enabled"], component
