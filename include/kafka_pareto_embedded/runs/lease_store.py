"""Says where a command of the command line takes the lease of a cluster, beside the campaigns of this installation."""

from __future__ import annotations

import os

from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto_embedded.bootstrap.preflight import state_folder
from kafka_pareto_embedded.lifecycle import lifecycle

WAIT_S = 30.0
"""Is longer than a killed holder's term."""


def lease_store() -> Store:
    """Return the stack's store, as campaigns use it; while the stack is down none runs, and a folder serves."""
    stack, programs = lifecycle.status()
    if stack is not None and any(program.name == "minio" and program.is_running for program in programs):
        return open_store(stack.settings())
    return FolderStore(state_folder(os.environ) / "ingestions")
