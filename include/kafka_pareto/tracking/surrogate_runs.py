"""Track the surrogates of a campaign's last round in MLflow: a run and a model version per objective.

Separate from `campaign_runs`, because learning curves and figures take seconds, and only the report waits for them.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import mlflow
import pandas as pd
import xgboost
from mlflow import MlflowClient
from mlflow.entities import Run

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.settings import load_settings
from kafka_pareto.surrogates.scores import JudgedSurrogate
from kafka_pareto.tracking.campaign_runs import R2_KINDS, campaign_run, finite, new_part
from kafka_pareto.tracking.connection import MODEL_TAG, champion_of, connected, registered_model_name, version_of
from kafka_pareto.tracking.learning import describe_learning, stored_surrogates
from kafka_pareto.tracking.links import CAMPAIGN_TAG

_SCORES = (*R2_KINDS, "r2_train", "mae_held_out", "rmse_held_out")


def log_surrogates(campaign: Campaign, round_number: int) -> None:
    """Log each objective's surrogate of this round; repeatable."""
    with connected() as client:
        if client is None:
            return
        parent = campaign_run(client, campaign)
        for judged in stored_surrogates(campaign, round_number):
            _log_surrogate(client, campaign, parent, judged, round_number)


def _log_surrogate(
    client: MlflowClient, campaign: Campaign, parent: Run, judged: JudgedSurrogate, round_number: int
) -> None:
    keys = campaign.keys
    surrogate = judged.surrogate
    name = registered_model_name(keys, surrogate.objective)
    content = hashlib.sha256(surrogate.to_bytes() + judged.scores.to_csv().encode()).hexdigest()
    run_id = new_part(client, parent, f"train {surrogate.objective}", content)
    if run_id is None:
        return
    learning = describe_learning(campaign.tune, judged)
    stale, champion = version_of(client, keys, surrogate.objective), champion_of(client, name)
    # Only `judge_champions` may replace a champion.
    if stale is not None and (champion is None or stale.version != champion.version):
        client.delete_model_version(name, stale.version)
    trials_sha256 = hashlib.sha256(campaign.store.get(keys.trials(round_number))).hexdigest()
    with mlflow.start_run(run_id=run_id):
        about = {"seed": campaign.tune.seed, "round": round_number, "trials_sha256": trials_sha256}
        mlflow.log_params({**campaign.tune.surrogate.model_dump(), **about, "log_target_used": surrogate.log_target})
        mlflow.log_metrics(_score_metrics(judged.scores))
        for point in learning.curve.to_dict("records"):
            values = {f"learning_curve_{side}": point[side] for side in ("r2_train", "r2_held_out")}
            mlflow.log_metrics(finite(values), step=int(point["configurations"]))
        table = judged.rows[[*surrogate.encoding.inputs(), "configuration_id", surrogate.objective]]
        table = table.astype(dict.fromkeys(table.select_dtypes("integer").columns, float))
        dataset = mlflow.data.from_pandas(
            table,
            source=_source(campaign, round_number),
            name="03_trials",
            targets=surrogate.objective,
            digest=trials_sha256[:36],
        )
        mlflow.log_input(dataset, context="training")
        with tempfile.TemporaryDirectory() as folder:
            for file, picture in learning.pictures.items():
                (Path(folder) / file).write_bytes(picture)
            mlflow.log_artifacts(folder, "figures")
        example = surrogate.encoding.encode(judged.rows.head(3))
        model = mlflow.xgboost.log_model(
            surrogate.regressor,
            name=surrogate.objective,
            model_format="ubj",
            input_example=example,
            signature=mlflow.models.infer_signature(example, surrogate.regressor.predict(example)),
            metadata={"encoding": surrogate.encoding.model_dump(mode="json"), "log_target": surrogate.log_target},
            # Stated explicitly, because MLflow would start a second Python to detect them.
            pip_requirements=[f"xgboost=={xgboost.__version__}", "scikit-learn", "pandas"],
        )
        tags = {CAMPAIGN_TAG: keys.campaign, MODEL_TAG: surrogate.file().sha256}
        mlflow.register_model(model.model_uri, name, await_registration_for=0, tags=tags)


def _score_metrics(scores: pd.DataFrame) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for row in scores.to_dict("records"):
        suffix = "" if pd.isna(row["case"]) else f"_{row['case']}"
        metrics |= {f"{name}{suffix}": row[name] for name in _SCORES}
    return finite(metrics)


def _source(campaign: Campaign, round_number: int) -> str:
    settings = load_settings()
    place = settings.store_folder or f"s3://{settings.s3_bucket}"
    return f"{place}/{campaign.keys.trials(round_number)}"
