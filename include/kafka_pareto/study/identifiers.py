"""Holds ids, the patterns they match, and the bounds that the pipeline and its DAGs share.

This module imports nothing: a DAG file is parsed every few seconds, and the schema of a study takes too long to load.
"""

from __future__ import annotations

STUDY_NAME = "[a-z0-9][a-z0-9_-]{0,62}"
"""Pattern of a study's name. It becomes part of keys and topic names, and obeys the rules of both."""

CAMPAIGN_ID = "[A-Za-z0-9][A-Za-z0-9_-]{0,62}"
"""Pattern of a campaign's id. It becomes part of keys and topic names, and obeys the rules of both."""

CAMPAIGN_IDS = f"{CAMPAIGN_ID}(,{CAMPAIGN_ID})*"
"""Pattern of several campaign ids in one option."""

CONFIGURATION_ID = "c[0-9a-f]{10}"
"""Pattern of a configuration's id, which `study.factors.configuration_id` computes."""

CHANGES_NAME = "[0-9a-f]{10}"
"""Pattern of the name under which changes of a system were shown, which `rollout.approvals` computes."""

FACTOR_NAME = "[a-z][a-z0-9._]{0,99}"
"""Pattern of the name of what a study can set: a property of Kafka, or a driver's own as `bulk_max_size`."""

_LEVEL = "[A-Za-z0-9_.-]+(%|/s)?( [a-z]+)?"

LEVELS = f"{_LEVEL}(,{_LEVEL})*"
"""Pattern of several levels in one option: numbers and words, and a driver's loads as `500/s`, `60%` or `60% own`."""

CLUSTER_NAME = "[a-z0-9][a-z0-9_-]{0,30}"
"""Pattern of the name of a cluster. It becomes part of the ids of a DAG, a pool and a queue."""

SENSITIVE_NAMES = r"sasl|ssl|passw|secret|credential|token|jaas|user\.info"
"""Pattern of what is in the names of properties whose values may be secrets."""

MOST_RECORD_SIZE_BYTES = 1_000_000
"""The largest record size of a study."""

MOST_ROUNDS = 4
"""The most rounds after the design's. The DAG has a task group for each."""

TUNE_DAG_ID = "tune_producer"
COMPARE_DAG_ID = "compare_configurations"
RETUNE_DAG_ID = "retune_producer"
SETTINGS_IN_FORCE_DAG_ID = "settings_in_force"

_POOL = "kafka_cluster"
_QUEUE = "kafka"
_ROUND_GROUP = "round"


def tune_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that tunes the cluster; an empty name stands for the installation's own cluster."""
    return f"{TUNE_DAG_ID}_{cluster_name}" if cluster_name else TUNE_DAG_ID


def compare_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that compares configurations on the cluster; an empty name as above."""
    return f"{COMPARE_DAG_ID}_{cluster_name}" if cluster_name else COMPARE_DAG_ID


def retune_dag_of(study: str) -> str:
    """Return the id of the DAG that checks this study alone; an empty name stands for the DAG of all other studies."""
    return f"{RETUNE_DAG_ID}_{study}" if study else RETUNE_DAG_ID


def settings_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that moves the settings in force on the cluster; an empty name as above."""
    return f"{SETTINGS_IN_FORCE_DAG_ID}_{cluster_name}" if cluster_name else SETTINGS_IN_FORCE_DAG_ID


def pool_of(cluster_name: str) -> str:
    """Return the name of the cluster's pool, whose one slot allows one load at a time; empty as above."""
    return f"{_POOL}_{cluster_name}" if cluster_name else _POOL


def queue_of(cluster_name: str) -> str:
    """Return the name of the queue that workers near this named cluster listen to."""
    return f"{_QUEUE}_{cluster_name}"


def round_group(number: int) -> str:
    """Return the id of the task group of a round after the design's."""
    return f"{_ROUND_GROUP}_{number}"


def step_and_round(task_id: str) -> tuple[str, int]:
    """Split the id of a task of `tune_producer` into its step and its round; 0 for a task outside of all rounds."""
    group, _, step = task_id.rpartition(".")
    return step, int(group.removeprefix(f"{_ROUND_GROUP}_")) if group else 0
