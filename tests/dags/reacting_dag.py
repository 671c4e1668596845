"""Somebody else's DAG: runs at each event of the project's assets, and notes what it carries."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, task

ASSETS = ("kafka_producer_recommendation", "kafka_producer_settings_in_force")

with DAG(
    "somebody_reacts",
    schedule=Asset(ASSETS[0]) | Asset(ASSETS[1]),
    is_paused_upon_creation=False,
):

    @task
    def note(triggering_asset_events: Any = None) -> None:
        events = [(asset.name, event.extra) for asset, found in triggering_asset_events.items() for event in found]
        with (Path(os.environ["KAFKA_PARETO_STORE_FOLDER"]) / "reactions.jsonl").open("a") as notes:
            notes.writelines(json.dumps(event) + "\n" for event in events)

    note()
