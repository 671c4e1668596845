"""Run the driver `naps`."""

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
    """The system; always available."""

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:  # noqa: ARG002
        """Describe the bed and this machine."""
        return Fingerprint(system={"bed": "north"}, load_and_brokers_share_a_machine=True, **client_machine())


class NapRunner(RepetitionRunner):
    """Run `sleep`."""

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Sleep once."""
        started_at, started = datetime.now(UTC).isoformat(), time.monotonic()
        seconds = float(planned.candidate.configuration["nap_ms"]) / 1000
        subprocess.run(["sleep", str(seconds)], check=True)
        asleep_s = time.monotonic() - started
        quantities = NapQuantities(asleep_s * 1000, 1 / asleep_s).values()
        return Attempt(outcome="valid", started_at=started_at, quantities=quantities, wall_s=asleep_s)


class NapsRuntime(DriverRuntime):
    """Run naps."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        """Compute the duration of these naps; each starts `sleep` once."""
        count, longest_ms = sum(repetitions.values()), float(study.baseline_configuration()["nap_ms"])
        return Plan(repetitions=count, duration_s=count * (longest_ms / 1000 + 0.05), sent_gib=0.0, peak_disk_gib=0.0)

    @contextmanager
    def system(self, study: Study, settings: Settings) -> Iterator[System]:  # noqa: ARG002
        """Open the bed."""
        yield Bed()

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[RepetitionRunner]:  # noqa: ARG002
        """Open the runner."""
        keep_fingerprint(campaign, case, Bed().fingerprint(campaign, case))
        yield NapRunner()


RUNTIME = NapsRuntime()
