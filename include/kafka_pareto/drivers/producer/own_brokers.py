"""Checks, before a campaign, that this machine has room for the brokers that its study starts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import psutil

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Plan
from kafka_pareto.drivers.producer.cost import require_in_time
from kafka_pareto.errors import PlanError
from kafka_pareto.measurement.fingerprint import client_machine
from kafka_pareto.study.sections import OwnBrokers

_GIB = 1 << 30
_MIB = 1 << 20
# What a broker takes beside its heap, seen on three of them with 100 partitions: code, threads, network buffers.
_BESIDE_HEAP_MIB = 350
_LOAD_TOOL_MIB = 1024
_FREE_DISK_MARGIN = 1.2


class OwnBrokersSystem:
    """Stands for brokers that do not run yet: the `System` of a study that starts its own."""

    def __init__(self, asked: OwnBrokers, folder: Path | None = None) -> None:
        self._asked = asked
        self._folder = folder or Path(tempfile.gettempdir())

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:  # noqa: ARG002
        """Describes this machine; the brokers are described once they run."""
        return Fingerprint(
            system={"cluster_id": "own brokers"}, **client_machine(), load_and_brokers_share_a_machine=True
        )

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:  # noqa: ARG002
        """Refuses a plan that this machine has no memory or disk for, or whose loads do not end before their timeout.

        Raises:
            PlanError: With both numbers and the remedy.
        """
        require_in_time(campaign.producer)
        needed_mib = self._asked.brokers * (self._asked.heap_mib + _BESIDE_HEAP_MIB) + _LOAD_TOOL_MIB
        free_mib = psutil.virtual_memory().available // _MIB
        if free_mib < needed_mib:
            raise PlanError(
                f"{self._asked.brokers} brokers with {self._asked.heap_mib} MiB of heap each, and the load tool, need "
                f"about {needed_mib:,} MiB of memory, and {free_mib:,} MiB are free; ask for fewer brokers or less "
                "heap (testbed), or free some"
            )
        needed_bytes, free_bytes = plan.peak_disk_gib * _GIB * _FREE_DISK_MARGIN, shutil.disk_usage(self._folder).free
        if free_bytes < needed_bytes:
            raise PlanError(
                f"the brokers may write {needed_bytes / _GIB:.1f} GiB at once below {self._folder}, and "
                f"{free_bytes / _GIB:.1f} GiB are free there; free some, or name another folder with TMPDIR"
            )
