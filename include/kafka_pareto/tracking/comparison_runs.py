"""Track a comparison in MLflow: one run per campaign, with a child run per part."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.comparison.records import Estimate, PartComparison
from kafka_pareto.tracking.campaign_runs import campaign_run, new_part
from kafka_pareto.tracking.connection import connected, log_metrics

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


def log_comparison(campaign: Campaign, parts: Sequence[PartComparison], html: bytes) -> None:
    """Log each part below the campaign's run, unless complete, and attach the report to that run.

    A level's metric for the mean is `<quantity>/<level>`. The suffixes `_sd`, `_low` and `_high` after the quantity
    mean standard deviation and interval, `_ratio` the ratio to the reference.
    """
    with connected() as client:
        if client is None:
            return
        parent = campaign_run(client, campaign)
        for part in parts:
            _log_part(client, parent, part)
        client.log_text(parent.info.run_id, html.decode(), "report.html")
        client.set_terminated(parent.info.run_id)


def _log_part(client: MlflowClient, parent: Run, part: PartComparison) -> None:
    content = hashlib.sha256(part.model_dump_json().encode()).hexdigest()
    run_id = new_part(client, parent, f"compare {part.part}", content)
    if run_id is None:
        return
    about = {"part": part.part, "factors": ", ".join(part.factors), "blocks": str(part.blocks)}
    about |= {f"reference {name}": str(value) for name, value in part.reference.items()}
    client.log_batch(run_id, params=[Param(name, value) for name, value in about.items()])
    metrics = [Metric(name, value, parent.info.start_time, 0) for name, value in _metrics(part)]
    log_metrics(client, run_id, metrics)
    client.set_terminated(run_id)


def _metrics(part: PartComparison) -> Iterator[tuple[str, float]]:
    for level in part.levels:
        place = _NOT_IN_NAMES.sub("_", "_".join(str(value) for value in level.values.values()))
        for quantity, estimate in level.estimates.items():
            for ending, value in _numbers(estimate):
                if value is not None:
                    yield f"{quantity}{ending}/{place}", value


def _numbers(estimate: Estimate) -> Iterator[tuple[str, float | None]]:
    if estimate.mean is not None:
        yield "", estimate.mean.value
        yield "_low", estimate.mean.low
        yield "_high", estimate.mean.high
    yield "_sd", estimate.sd
    if estimate.ratio is not None:
        yield "_ratio", estimate.ratio.value
