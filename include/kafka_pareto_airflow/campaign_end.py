"""Remove a campaign's client configuration when its run has ended.

Airflow calls a listener however a run ends: in the scheduler, or in the API server if a user stops the run. A task
would be skipped in a stopped run, and a teardown task would mark such a run as successful.
"""

from __future__ import annotations

from typing import Any

from airflow.listeners import hookimpl

from kafka_pareto.study.identifiers import COMPARE_DAG_ID, TUNE_DAG_ID


@hookimpl
def on_dag_run_success(dag_run: Any) -> None:
    """Remove it after a successful campaign."""
    _forget(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: Any) -> None:
    """Remove it after a failed or stopped campaign."""
    _forget(dag_run)


def _forget(dag_run: Any) -> None:
    campaign = (dag_run.conf or {}).get("campaign")
    if not dag_run.dag_id.startswith((TUNE_DAG_ID, COMPARE_DAG_ID)) or not isinstance(campaign, str):
        return
    # Imported here, because every Airflow process loads the plugins.
    from kafka_pareto.campaign.client_config import forget_client_config  # noqa: PLC0415
    from kafka_pareto.settings import load_settings  # noqa: PLC0415

    forget_client_config(load_settings().client_configs, campaign, dag_run.run_id)
