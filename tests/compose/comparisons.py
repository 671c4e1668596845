"""Comparisons in the stack in containers: each starts its brokers in the step's own container."""

from __future__ import annotations

from typing import Any

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import COMPARE_DAG_ID
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.phases import phase
from tests.compose.stack import ComposeStack
from tests.system.test_compare_consumers import STUDY as CONSUMERS
from tests.system.test_compare_ingestions import STUDY as INGESTIONS
from tests.system.test_compare_services import STUDY as SERVICES
from tests.system.test_log_pipeline import STUDY as LOG_PIPELINES

PRODUCERS: dict[str, Any] = {
    "schema_version": 1,
    "kind": "compare",
    "driver": "producer",
    "description": "Two codecs on one broker; the numbers mean nothing.",
    "testbed": {"brokers": 1, "heap_mib": 256},
    "workload": {"topic_partitions": 2, "replication_factor": 1, "min_insync_replicas": 1},
    "tables": [{"factor": "compression.type", "levels": ["none", "lz4"]}],
    "protocol": {"kind": "cold_burst", "records": 1000, "repetitions": 3, "order": "blocks"},
    "validation": {"tolerated_rejected_fraction": 0.4},
}
INGESTED = INGESTIONS | {"tables": [{"factor": "path", "levels": ["producer", "batches"]}]}
STUDIES = {
    f"tiny_{each['driver']}": each | {"name": f"tiny_{each['driver']}"}
    for each in (PRODUCERS, CONSUMERS, INGESTED, SERVICES, LOG_PIPELINES | {"database": "mariadb"})
}
_ENDS_WITHIN_S = 1200.0


def compared(stack: ComposeStack, study: str) -> tuple[str, Campaign]:
    """Runs the comparison; its run's state, and the campaign."""
    with phase(study), stack.login("operator") as airflow:
        wait_until(f"Airflow offers {study}", lambda: study in airflow.choices(COMPARE_DAG_ID, "study"), 120)
        run_id = airflow.trigger(COMPARE_DAG_ID, {"study": study, "campaign": study}).dag_run_id
        wait_until(f"{study} has ended", lambda: airflow.run(COMPARE_DAG_ID, run_id).has_ended, _ENDS_WITHIN_S)
        state = airflow.run(COMPARE_DAG_ID, run_id).state
    return state, Campaign.open(open_store(stack.settings()), study, study)
