"""Track the history of a study's checks in MLflow: one run, whose metrics have one step per check."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.drift.check_records import PastCheck
from kafka_pareto.tracking.connection import connected, log_values, run_of
from kafka_pareto.tracking.links import PART_TAG


def log_check(keys: CampaignKeys, found: Sequence[PastCheck], number: int) -> None:
    """Log the results of one check by case; repeatable. `number` counts the study's checks and is the step."""
    values: dict[str, float] = {}
    for each in found:
        case = each.case
        values |= {
            f"drifted_{case}": float(each.outcome == "drifted"),
            f"change_point_{case}": float(each.change_point),
        }
        values |= {f"{objective}_ratio_{case}": ratio.ratio for objective, ratio in each.ratios.items()}
        for change in each.changes:
            if change.change_fraction is not None:
                values[f"{change.objective}_change_{case}"] = change.change_fraction
    if not values:
        return
    with connected() as client:
        if client is None:
            return
        run, _ = run_of(client, keys, "checks", {PART_TAG: "checks"})
        log_values(client, run, values, number, datetime.fromisoformat(found[0].at).timestamp())
        client.set_terminated(run.info.run_id)
