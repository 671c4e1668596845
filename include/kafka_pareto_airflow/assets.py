"""Define the assets whose events report recommendations, activations and drift, for scheduling other DAGs."""

from __future__ import annotations

from airflow.sdk import Asset

RECOMMENDATION = Asset("kafka_producer_recommendation")
ACTIVE_SETTINGS = Asset("kafka_producer_settings_in_force")
DRIFT = Asset("kafka_producer_drift")
CHECK_WANTED = Asset("kafka_producer_check_wanted")
