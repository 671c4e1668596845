"""Notify the project when a run of a DAG has ended, so that nothing secret of a campaign outlives it."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from kafka_pareto_airflow import campaign_end


class KafkaParetoCampaignEnd(AirflowPlugin):
    """Register the listener."""

    name = "kafka_pareto_campaign_end"
    listeners = [campaign_end]  # noqa: RUF012
