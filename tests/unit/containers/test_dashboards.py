"""Grafana's dashboards match their exporters, as files: every query has a metric, every metric a panel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compose.dashboards import MONITORING, dashboards, panel_queries

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[3]

_METRIC = re.compile(r"\b(?:kafka|minio|airflow|jvm|process)_\w+")
# The JMX exporter's placeholders for what a pattern has found, and what stands for them in a name.
_FOUND = re.compile(r"\$\d")


def _exporter() -> dict[str, Any]:
    settings: dict[str, Any] = yaml.safe_load((MONITORING / "jmx-exporter.yaml").read_text(encoding="utf-8"))
    return settings


def _asked_of_kafka() -> set[str]:
    metrics = {name for query in panel_queries() for name in _METRIC.findall(query.expression)}
    return {name for name in metrics if name.startswith("kafka_")}


def _said_by(rule: dict[str, Any]) -> re.Pattern[str]:
    return re.compile(_FOUND.sub(r"\\w+", rule["name"].lower()))


@pytest.mark.parametrize("metric", sorted(_asked_of_kafka()))
def test_every_broker_metric_of_a_panel_is_exported(metric: str) -> None:
    assert any(_said_by(rule).fullmatch(metric) for rule in _exporter()["rules"])


@pytest.mark.parametrize("rule", _exporter()["rules"], ids=lambda rule: str(rule["name"]))
def test_every_exported_metric_is_shown_by_a_panel(rule: dict[str, Any]) -> None:
    assert any(_said_by(rule).fullmatch(metric) for metric in _asked_of_kafka())


@pytest.mark.parametrize("bean", _exporter()["includeObjectNames"])
def test_a_bean_that_is_read_has_a_rule(bean: str) -> None:
    domain, properties = bean.removesuffix(",*").split(":")
    said = f"{domain}<{properties.replace(',', ', ')}><>"
    patterns = [rule["pattern"].split("><>")[0] + "><>" for rule in _exporter()["rules"]]
    assert any(re.fullmatch(pattern, said) for pattern in patterns)


def test_every_airflow_metric_of_a_panel_may_be_sent_by_the_scheduler() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
    allowed = compose["services"]["airflow-scheduler"]["environment"]["AIRFLOW__METRICS__METRICS_ALLOW_LIST"]
    sent = re.compile(allowed.replace("$$", "$").replace(r"\.", "_").replace(",", "|"))
    asked = {name for query in panel_queries() for name in _METRIC.findall(query.expression) if "airflow_" in name}
    assert asked
    assert [name for name in sorted(asked) if not sent.match(name.removeprefix("airflow_"))] == []


def test_every_panel_asks_the_provisioned_source() -> None:
    provisioned = yaml.safe_load((MONITORING / "grafana/provisioning/datasources/prometheus.yaml").read_text("utf-8"))
    uids = {source["uid"] for source in provisioned["datasources"]}
    panels = [panel for dashboard in dashboards().values() for panel in dashboard["panels"]]
    assert panels
    assert {panel["datasource"]["uid"] for panel in panels} == uids


def test_panels_of_a_dashboard_have_distinct_names_and_do_not_overlap() -> None:
    for dashboard in dashboards().values():
        panels = dashboard["panels"]
        assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
        cells = [
            (x, y)
            for place in (panel["gridPos"] for panel in panels)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        assert len(set(cells)) == len(cells)


def test_rates_use_grafanas_rate_interval() -> None:
    panels = [panel for dashboard in dashboards().values() for panel in dashboard["panels"]]
    rates = [target["expr"] for panel in panels for target in panel["targets"] if "rate(" in target["expr"]]
    assert rates
    assert all("[$__rate_interval]" in expression for expression in rates)


def test_prometheus_scrapes_services_of_the_stack() -> None:
    services = yaml.safe_load((MONITORING.parents[2] / "docker-compose.yaml").read_text("utf-8"))["services"]
    jobs = yaml.safe_load((MONITORING / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    targets = [target for job in jobs for group in job["static_configs"] for target in group["targets"]]
    assert targets
    assert {target.split(":")[0] for target in targets} - {"localhost"} <= services.keys()
