"""Grafana's dashboards by their queries: what each panel asks of Prometheus, and which of them it cannot answer."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

MONITORING = Path(__file__).parents[2] / "include" / "containers" / "monitoring"
_RATE_INTERVAL = "1m"  # what Grafana puts in for $__rate_interval is at least four scrapes
_STEP_S = 5


@dataclass(frozen=True)
class PanelQuery:
    """One query of one panel."""

    dashboard: str
    panel: str
    expression: str

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.panel}: {self.expression}"


def dashboards() -> dict[str, dict[str, Any]]:
    """All dashboards that Grafana is given, by file name."""
    files = sorted((MONITORING / "grafana" / "dashboards").glob("*.json"))
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


def panel_queries() -> list[PanelQuery]:
    """Every query of every panel, as Prometheus takes it."""
    return [
        PanelQuery(name, panel["title"], target["expr"].replace("$__rate_interval", _RATE_INTERVAL))
        for name, dashboard in dashboards().items()
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]


def unanswered(prometheus_url: str, begin_s: float, end_s: float) -> list[PanelQuery]:
    """The queries for which Prometheus has no single value between two times (seconds since 1970).

    Those for what Airflow sends are left out: Debian's Prometheus is built without a receiver for it.

    Raises:
        httpx.HTTPStatusError: If Prometheus refuses a query, as when it cannot be parsed.
    """
    with httpx.Client(base_url=prometheus_url, timeout=30) as client:
        queries = [query for query in panel_queries() if "airflow_" not in query.expression]
        return [query for query in queries if not _values(client, query.expression, begin_s, end_s)]


def _values(client: httpx.Client, expression: str, begin_s: float, end_s: float) -> list[float]:
    period = {"query": expression, "start": begin_s, "end": end_s, "step": _STEP_S}
    answer = client.post("/api/v1/query_range", data=period).raise_for_status().json()
    values = [float(value) for series in answer["data"]["result"] for _, value in series["values"]]
    return [value for value in values if not math.isnan(value)]  # Kafka's percentiles of nothing are NaN
