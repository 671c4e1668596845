"""Track a campaign in MLflow: R² of each round, searches and report.

Each campaign has one run, found by its tags, with a child run per objective (`surrogate_runs`) and searched case of the
last round. `train` logs R²; the report logs the rest and anything missing in MLflow. Complete parts are kept and
unfinished ones rewritten, so a repeated step leaves no duplicates. Without a tracking URI, tracking is off.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Metric, Run

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import RoundsSoFar
from kafka_pareto.campaign.tables import HYPERVOLUME_COLUMNS, SCORE_COLUMNS
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.tracking.connection import (
    connected,
    log_values,
    run_of,
    runs_tagged,
)
from kafka_pareto.tracking.links import CAMPAIGN_TAG, PART_TAG, R2_VIEW

_CONTENT_TAG = "kafka_pareto.content_sha256"
R2_KINDS = ("r2_held_out", "r2_cross_validated", "r2_noise_ceiling")
"""The scores of each objective in each round, logged on the campaign's run."""
_VIEW_TAG = f"mlflow.sharedViewState.{R2_VIEW}"
_MOST_COLUMNS = 60
_COLUMN_WIDTH_PX = 240  # width of a metric's name


def log_r2(campaign: Campaign, round_number: int) -> None:
    """Log R² per objective and case up to a round, as metrics of the campaign's run, their step the round.

    Repeatable, and fills gaps left by an outage of MLflow.
    """
    with connected() as client:
        if client is None:
            return
        parent = campaign_run(client, campaign)
        for number in range(round_number + 1):
            _log_r2(client, campaign, parent, number)
        _save_r2_view(client, parent, campaign.tune)


def log_search(campaign: Campaign, round_number: int, rounds: Iterable[RoundsSoFar]) -> None:
    """Log the last round's searches and the measured hypervolume of each round, and end the campaign's run.

    Each case's search has a child run with the hypervolume after each generation.
    """
    with connected() as client:
        if client is None:
            return
        parent = campaign_run(client, campaign)
        for case in campaign.study.cases:
            _log_search(client, campaign, parent, case, round_number)
        for so_far in rounds:
            for step, volume in enumerate(so_far.measured_hypervolume):
                log_values(client, parent, {f"measured_hypervolume_{so_far.case}": volume}, step, _began_at_s(parent))
        client.set_terminated(parent.info.run_id)


def log_report(campaign: Campaign, html: bytes) -> None:
    """Attach the campaign's report to its run, replacing an earlier one."""
    with connected() as client:
        if client is not None:
            client.log_text(campaign_run(client, campaign).info.run_id, html.decode(), "report.html")


def _log_r2(client: MlflowClient, campaign: Campaign, parent: Run, round_number: int) -> None:
    key = campaign.keys.surrogates("scores.parquet", round_number)
    scores = campaign.read_table(key, SCORE_COLUMNS, factors=False)
    found: dict[str, float] = {}
    for row in scores.to_dict("records"):
        case = None if pd.isna(row["case"]) else row["case"]
        found |= {_r2_metric(kind, row["objective"], case): row[kind] for kind in R2_KINDS}
    log_values(client, parent, finite(found), round_number, _began_at_s(parent))


def _r2_metric(kind: str, objective: ObjectiveName, case: str | None) -> str:
    """Return the name of an R² on the campaign's run; without a case it is pooled over all."""
    name = f"{kind}_{objective}"
    return name if case is None else f"{name}/{case}"


def _save_r2_view(client: MlflowClient, parent: Run, study: Tune) -> None:
    """Save the columns of the study's run list, R² pooled and within each case, replacing an earlier campaign's.

    MLflow 3.17's page has fixed initial columns. A named view can be stored with an experiment, like the page's own
    *Save view*: it appears in the menu *Views*, and a link opens it.
    """
    scopes = [None, *study.cases]
    metrics = [_r2_metric(R2_KINDS[0], objective, case) for case in scopes for objective in study.objectives]
    columns = [f"metrics.`{name}`" for name in metrics[:_MOST_COLUMNS]]
    widths = dict.fromkeys(columns, _COLUMN_WIDTH_PX)
    state = {"selectedColumns": columns, "columnOrder": columns, "columnWidths": widths}
    saved = {"name": "R² of the surrogates", "createdAt": parent.info.start_time, "state": json.dumps(state)}
    client.set_experiment_tag(parent.info.experiment_id, _VIEW_TAG, json.dumps(saved))


def _began_at_s(run: Run) -> float:
    """Return the constant time of all points of the campaign's run, so that a repeated point adds no duplicate."""
    return float(run.info.start_time) / 1000


def _log_search(client: MlflowClient, campaign: Campaign, parent: Run, case: str, round_number: int) -> None:
    key = campaign.keys.hypervolume(case, round_number)
    hypervolume = campaign.read_table(key, HYPERVOLUME_COLUMNS, factors=False)
    content = hashlib.sha256(hypervolume.to_csv().encode() + campaign.tune.search.model_dump_json().encode())
    run_id = new_part(client, parent, f"optimize {case}", content.hexdigest())
    if run_id is None:
        return
    about = {"case": case, "round": round_number, "seed": campaign.tune.seed}
    for name, value in {**campaign.tune.search.model_dump(), **about}.items():
        client.log_param(run_id, name, value)
    now_ms = int(time.time() * 1000)
    steps = zip(hypervolume["generation"], hypervolume["hypervolume"], strict=True)
    client.log_batch(run_id, [Metric("hypervolume", value, now_ms, step) for step, value in steps])
    client.set_terminated(run_id)


def finite(metrics: Mapping[str, float | None]) -> dict[str, float]:
    """Return the metrics that have a value, as MLflow accepts no other."""
    return {name: float(value) for name, value in metrics.items() if value is not None and not pd.isna(value)}


def campaign_run(client: MlflowClient, campaign: Campaign) -> Run:
    """Return the campaign's run, creating it if missing."""
    tags = {CAMPAIGN_TAG: campaign.keys.campaign, PART_TAG: "campaign"}
    run, is_new = run_of(client, campaign.keys, campaign.keys.campaign, tags)
    if is_new:
        study = campaign.store.get(campaign.keys.frozen_study())
        client.log_param(run.info.run_id, "study_sha256", hashlib.sha256(study).hexdigest())
    return run


def new_part(client: MlflowClient, parent: Run, part: str, content_sha256: str) -> str | None:
    """Create a child run that replaces stale ones; None if a complete one has the same content."""
    tags = {CAMPAIGN_TAG: parent.data.tags[CAMPAIGN_TAG], PART_TAG: part}
    kept = False
    for run in runs_tagged(client, parent.info.experiment_id, tags):
        complete = run.info.status == "FINISHED" and run.data.tags.get(_CONTENT_TAG) == content_sha256
        if complete and not kept:
            kept = True
        else:
            client.delete_run(run.info.run_id)
    if kept:
        return None
    tags |= {_CONTENT_TAG: content_sha256, "mlflow.parentRunId": parent.info.run_id}
    run = client.create_run(parent.info.experiment_id, tags=tags, run_name=part)
    return str(run.info.run_id)
