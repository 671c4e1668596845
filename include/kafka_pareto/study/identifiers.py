"""Ids, patterns and bounds shared with the DAGs. Imports nothing: DAG files are parsed every few seconds."""

from __future__ import annotations

DEFAULT_DRIVER = "producer"
"""The driver of a study that names none."""

# Patterns; names and ids of studies and campaigns are part of keys and topic names.
STUDY_NAME = "[a-z0-9][a-z0-9_-]{0,62}"
CAMPAIGN_ID = "[A-Za-z0-9][A-Za-z0-9_-]{0,62}"
CAMPAIGN_IDS = f"{CAMPAIGN_ID}(,{CAMPAIGN_ID})*"
CONFIGURATION_ID = "c[0-9a-f]{10}"  # computed by `study.factors.configuration_id`
CHANGES_NAME = "[0-9a-f]{10}"  # of shown system changes, computed by `rollout.approvals`
FACTOR_NAME = "[a-z][a-z0-9._]{0,99}"  # a Kafka property, or a driver's own setting like `bulk_max_size`
_LEVEL = "[A-Za-z0-9_.-]+(%|/s)?( [a-z]+)?"  # a number, a word, or a load like `500/s`, `60%` or `60% own`
LEVELS = f"{_LEVEL}(,{_LEVEL})*"
CLUSTER_NAME = "[a-z0-9][a-z0-9_-]{0,30}"  # part of the ids of a DAG, a pool and a queue
SENSITIVE_NAMES = (  # in names of properties that may be secrets
    r"sasl|ssl|passw|pwd|secret|credential|token|jaas|user\.info|(api|access|private)[._-]?key"
)

MOST_RECORD_SIZE_BYTES = 1_000_000
MOST_PRODUCERS = 64  # and load machines
MOST_ROUNDS = 4  # after the design; the DAG has a task group for each

TUNE_DAG_ID = "tune_producer"
COMPARE_DAG_ID = "compare_configurations"
RETUNE_DAG_ID = "retune_producer"
ACTIVE_SETTINGS_DAG_ID = "settings_in_force"
LOAD_MACHINES_DAG_ID = "load_machines"

_POOL = "kafka_cluster"
_QUEUE = "kafka"
_ROUND_GROUP = "round"


def tune_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that tunes the cluster; empty for the installation's own."""
    return f"{TUNE_DAG_ID}_{cluster_name}" if cluster_name else TUNE_DAG_ID


def compare_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that compares configurations on the cluster; empty as above."""
    return f"{COMPARE_DAG_ID}_{cluster_name}" if cluster_name else COMPARE_DAG_ID


def retune_dag_of(study: str) -> str:
    """Return the id of the DAG that checks this study alone; empty for the DAG of all other studies."""
    return f"{RETUNE_DAG_ID}_{study}" if study else RETUNE_DAG_ID


def settings_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that moves the active settings on the cluster; empty as above."""
    return f"{ACTIVE_SETTINGS_DAG_ID}_{cluster_name}" if cluster_name else ACTIVE_SETTINGS_DAG_ID


def load_machines_dag_of(cluster_name: str) -> str:
    """Return the id of the DAG that runs load machines for the cluster; empty as above."""
    return f"{LOAD_MACHINES_DAG_ID}_{cluster_name}" if cluster_name else LOAD_MACHINES_DAG_ID


def load_machines_queue_of(cluster_name: str) -> str:
    """Return the queue of the workers that are the cluster's load machines; empty as above."""
    return f"{queue_of(cluster_name) if cluster_name else _QUEUE}_load"


def pool_of(cluster_name: str) -> str:
    """Return the cluster's pool, whose one slot allows one load at a time; empty as above."""
    return f"{_POOL}_{cluster_name}" if cluster_name else _POOL


def queue_of(cluster_name: str) -> str:
    """Return the queue of the workers near this named cluster."""
    return f"{_QUEUE}_{cluster_name}"


def round_group(number: int) -> str:
    """Return the task group's id of a round after the design's."""
    return f"{_ROUND_GROUP}_{number}"


def step_and_round(task_id: str) -> tuple[str, int]:
    """Split a task id of `tune_producer` into step and round; 0 outside of all rounds."""
    group, _, step = task_id.rpartition(".")
    return step, int(group.removeprefix(f"{_ROUND_GROUP}_")) if group else 0
