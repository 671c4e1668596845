"""Runs the driver `naps`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Plan
from kafka_pareto.drivers.naps.declaration import NapQuantities
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, DriverRuntime, RepetitionRunner, System
from kafka_pareto.measurement.fingerprint import client_machine, keep_fingerprint
from kafka_pareto.settings import Settings
from kafka_pareto.study.study import Study


class Bed(System):
    """Stands for the system; it is always there."""

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:  # noqa: ARG002
        """Describes the bed and this machine."""
        return Fingerprint(system={"bed": "north"}, load_and_brokers_share_a_machine=True, **client_machine())


class NapRunner(RepetitionRunner):
    """Runs `sleep`."""

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Sleeps once."""
        started_at, started = datetime.now(UTC).isoformat(), time.monotonic()
        seconds = float(planned.candidate.configuration["nap_ms"]) / 1000
        subprocess.run(["sleep", str(seconds)], check=True)
        asleep_s = time.monotonic() - started
        return Attempt(
            outcome="valid",
            started_at=started_at,
            quantities=NapQuantities(asleep_s * 1000, 1 / asleep_s).values(),
            wall_s=asleep_s,
        )


class NapsRuntime(DriverRuntime):
    """Runs naps."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        """Computes what these naps take, with a start of `sleep` each."""
        count, longest_ms = sum(repetitions.values()), float(study.baseline_configuration()["nap_ms"])
        return Plan(repetitions=count, duration_s=count * (longest_ms / 1000 + 0.05), sent_gib=0.0, peak_disk_gib=0.0)

    @contextmanager
    def system(self, study: Study, settings: Settings) -> Iterator[System]:  # noqa: ARG002
        """Opens the bed."""
        yield Bed()

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[RepetitionRunner]:  # noqa: ARG002
        """Opens what sleeps."""
        keep_fingerprint(campaign, case, Bed().fingerprint(campaign, case))
        yield NapRunner()


RUNTIME = NapsRuntime()
