"""Register the listener that removes a campaign's credentials at the end of its DAG run."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from kafka_pareto_airflow import campaign_end


class KafkaParetoCampaignEnd(AirflowPlugin):
    """Register the listener."""

    name = "kafka_pareto_campaign_end"
    listeners = [campaign_end]  # noqa: RUF012
