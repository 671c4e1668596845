"""Choose the store in which a command takes the lease of a cluster, shared with this installation's campaigns."""

from __future__ import annotations

import os

from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto_embedded.bootstrap.preflight import state_folder
from kafka_pareto_embedded.lifecycle import lifecycle

WAIT_S = 30.0
"""Longer than the lease term of a killed holder."""


def lease_store() -> Store:
    """Return the stack's store, which campaigns use too; a folder while the stack is down, when no campaign runs."""
    stack, programs = lifecycle.status()
    if stack is not None and any(program.name == "minio" and program.is_running for program in programs):
        return open_store(stack.settings())
    return FolderStore(state_folder(os.environ) / "ingestions")
