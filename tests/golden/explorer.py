"""Asks the explorer's app for every kind of page and file: `python -m tests.golden.explorer <folder for the answers>`.

A process of its own, since the app keeps its store and Airflow reads its home when it is imported. Who may ask is
tested elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient

from kafka_pareto_airflow.explorer.access import reads_of
from kafka_pareto_airflow.explorer.explorer_app import create_app
from tests.golden.normal import as_text

CASES = ("1024", "8192")
FORMS = ("producer.properties", "application.yaml", "librdkafka.properties")
CHOICES = {
    "free": "",
    "limits": "?p95_latency_ms=60&throughput_mib_s=5&prefer=throughput",
    "impossible": "?p95_latency_ms=1",
    "weaker": "?durability=acks_0&prefer=latency",
}


def main(folder: Path) -> None:
    """Writes one file for each answer, named by its address."""
    app = create_app()
    for each in app.router.dependencies:
        app.dependency_overrides[each.dependency] = lambda: None
    app.dependency_overrides[reads_of] = lambda: lambda _: True
    with TestClient(app) as client:

        def asked(address: str, name: str = "") -> str:
            answer = client.get(f"/api/{address}")
            kind = ".json" if "json" in answer.headers["content-type"] else ""
            text = as_text(f"x{kind}" if kind else address, answer.content)
            download = answer.headers.get("content-disposition", "inline")
            path = folder / f"{name or address}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{answer.status_code} {download}\n{text}", encoding="utf-8")
            return answer.text

        for address in ("campaigns", "campaigns/golden/absent", "campaigns/golden/c2"):
            asked(address, f"{address}.json")
        asked("campaigns/golden/c1", "campaign.json")
        asked("campaigns/golden/c1/progress", "progress.json")
        asked("campaigns/golden/c1/artifacts/07_report/cards.txt", "artifact")
        for case in CASES:
            _ask_size(asked, client, case)


def _ask_size(asked: Callable[..., str], client: TestClient, case: str) -> None:
    base = f"campaigns/golden/c1/{case}"
    asked(base, f"{case}/view.json")
    asked(f"{base}/intervals", f"{case}/intervals.json")
    asked(f"{base}/trials.csv", f"{case}/trials.csv")
    for name, query in CHOICES.items():
        asked(f"{base}/choice{query}", f"{case}/choice {name}.json")
    view = client.get(f"/api/{base}").json()
    for role in ("baseline_id", "recommended_id"):
        configuration = view[role]
        asked(f"{base}/{configuration}/move", f"{case}/{role}/move.json")
        for form in FORMS:
            asked(f"{base}/{configuration}/{form}", f"{case}/{role}/{form}")
    asked(f"in-force/golden/{case}", f"{case}/in force.json")
    asked(f"checks/golden/{case}", f"{case}/checks.json")
    for form in FORMS:
        asked(f"in-force/golden/{case}/{form}", f"{case}/in force {form}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
