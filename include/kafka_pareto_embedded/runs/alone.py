"""Takes a cluster for one command of the command line alone, beside the campaigns of this installation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_pareto.drivers.cluster_mark import sole_load
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.lease import Lease
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto_embedded.bootstrap.preflight import state_folder
from kafka_pareto_embedded.lifecycle import lifecycle

WAIT_S = 30.0
"""Is longer than a killed holder's term."""


@contextmanager
def alone_on(cluster: Cluster, wait_s: float) -> Iterator[Lease]:
    """Takes the lease of the cluster, however it was named, and its mark.

    Raises:
        LeaseHeldError: If a campaign or another command loads the cluster.
        ClusterError: If it cannot be reached.
    """
    with sole_load(_store(), cluster, cluster.describe(), wait_s) as lease:
        yield lease


def _store() -> Store:
    """Returns the stack's store, as campaigns use it; while the stack is down none runs, and a folder serves."""
    stack, programs = lifecycle.status()
    if stack is not None and any(program.name == "minio" and program.is_running for program in programs):
        return open_store(stack.settings())
    return FolderStore(state_folder(os.environ) / "ingestions")
