"""Remove the client configuration of a campaign when the run that it was written for has ended.

Airflow calls a listener however a run ends: in the scheduler by itself, in the API server when somebody stops it. A
task would not do: it is skipped with the others when a run is stopped, and a teardown would turn such a run green.
"""

from __future__ import annotations

from typing import Any

from airflow.listeners import hookimpl

from kafka_pareto.study.identifiers import COMPARE_DAG_ID, TUNE_DAG_ID


@hookimpl
def on_dag_run_success(dag_run: Any) -> None:
    """Remove it after a campaign that has ended well."""
    _forget(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: Any) -> None:
    """Remove it after a campaign that has failed or was stopped."""
    _forget(dag_run)


def _forget(dag_run: Any) -> None:
    campaign = (dag_run.conf or {}).get("campaign")
    if not dag_run.dag_id.startswith((TUNE_DAG_ID, COMPARE_DAG_ID)) or not isinstance(campaign, str):
        return
    # Imported here: every process of Airflow loads its plugins.
    from kafka_pareto.campaign.client_config import forget_client_config  # noqa: PLC0415
    from kafka_pareto.settings import load_settings  # noqa: PLC0415

    forget_client_config(load_settings().client_configs, campaign, dag_run.run_id)
