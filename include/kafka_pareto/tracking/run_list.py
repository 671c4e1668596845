"""Saves the columns of an experiment's run list: R² of each objective, pooled and within each case.

Which columns MLflow 3.17's list begins with is fixed in its page: source, models, data set. What may be kept with an
experiment is a named view, as the page's own *Save view* stores it: it is in the menu *Views*, and a link opens it.
"""

from __future__ import annotations

import json

from mlflow import MlflowClient
from mlflow.entities import Run

from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.tracking.links import R2_VIEW

R2_KINDS = ("r2_held_out", "r2_cross_validated", "r2_noise_ceiling")
"""Names the scores that the campaign's run has of each objective in each round."""
_VIEW_TAG = f"mlflow.sharedViewState.{R2_VIEW}"
_MOST_COLUMNS = 60
_COLUMN_WIDTH_PX = 240  # as wide as a metric's name


def r2_metric(kind: str, objective: ObjectiveName, case: str | None) -> str:
    """Returns the name of an R² on the campaign's run; without a case it is pooled over all."""
    name = f"{kind}_{objective}"
    return name if case is None else f"{name}/{case}"


def save_r2_view(client: MlflowClient, parent: Run, study: Tune) -> None:
    """Saves the view of the study's experiment, in place of an earlier campaign's."""
    scopes = [None, *study.cases]
    metrics = [r2_metric(R2_KINDS[0], objective, case) for case in scopes for objective in study.objectives]
    columns = [f"metrics.`{name}`" for name in metrics[:_MOST_COLUMNS]]
    widths = dict.fromkeys(columns, _COLUMN_WIDTH_PX)
    state = {"selectedColumns": columns, "columnOrder": columns, "columnWidths": widths}
    saved = {"name": "R² of the surrogates", "createdAt": parent.info.start_time, "state": json.dumps(state)}
    client.set_experiment_tag(parent.info.experiment_id, _VIEW_TAG, json.dumps(saved))
