"""Runs the driver `calls`: a seeded system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from zlib import crc32

import numpy as np

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Plan, Repetition
from kafka_pareto.drivers.calls.declaration import CallQuantities
from kafka_pareto.drivers.calls.studies import BASELINE, CALLERS
from kafka_pareto.errors import ClusterError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, DriverRuntime, RepetitionRunner, System
from kafka_pareto.measurement.fingerprint import client_machine, keep_fingerprint
from kafka_pareto.settings import Settings
from kafka_pareto.study.study import Study


class CallRunner(RepetitionRunner):
    """Answers by a smooth formula with seeded noise, so that the same repetition has the same values."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._begun = False
        self.attempts: list[str] = []
        self.in_trouble: list[str] = []

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:
        assert planned

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> Repetition | None:  # noqa: ARG002
        assert last is None or last.outcome == "valid"
        self._begun = True
        return None

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        if not self._begun:
            raise RuntimeError("begin() comes before attempt()")
        self._begun = False
        self.attempts.append(planned.repetition_id)
        trouble = ClusterError("the lines are down") if planned.repetition_id in self.in_trouble else None
        if trouble:
            self.in_trouble.remove(planned.repetition_id)
        return Attempt(
            outcome="failed" if trouble else "valid",
            reason=str(trouble or ""),
            trouble=trouble,
            started_at=datetime.now(UTC).isoformat(),
            quantities=asdict(CallQuantities(CALLERS[planned.case]) if trouble else self._measured(planned)),
            wall_s=0.01,
        )

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:
        assert block

    def amended(self, last: Repetition) -> Repetition | None:
        assert last.outcome == "valid"
        return None

    def _measured(self, planned: PlannedRepetition) -> CallQuantities:
        rng = np.random.default_rng([self._study.seed, crc32(planned.repetition_id.encode())])
        known = {**BASELINE, **planned.candidate.configuration}
        callers, agents = CALLERS[planned.case], int(known["agents"])
        queueing = {"first": 1.0, "shortest": 0.7, "random": 1.3}[str(known["queue"])]
        crowding = 1 + (agents / 7) ** 3
        wait_s = callers * queueing * crowding / agents * (1 + int(known["break_s"]) / 60) * rng.lognormal(0, 0.04)
        served = callers**0.5 / (1 + int(known["break_s"]) / 120) * rng.lognormal(0, 0.03)
        return CallQuantities(callers, float(wait_s), None, float(served))


class CallCentre(System):
    """The system of this driver; it is always there."""

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:
        assert case in campaign.study.cases
        return Fingerprint(system={"building": "north"}, load_and_brokers_share_a_machine=False, **client_machine())

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:
        assert plan.repetitions
        assert case in campaign.study.cases


class CallsRuntime(DriverRuntime):
    """Runs the driver `calls`."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        count = sum(repetitions.values())
        return Plan(repetitions=count, duration_s=0.01 * count, sent_gib=0.0, peak_disk_gib=0.0)

    @contextmanager
    def system(self, study: Study, settings: Settings) -> Iterator[CallCentre]:  # noqa: ARG002
        yield CallCentre()

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[CallRunner]:  # noqa: ARG002
        keep_fingerprint(campaign, case, CallCentre().fingerprint(campaign, case))
        yield CallRunner(campaign.study)


RUNTIME = CallsRuntime()
