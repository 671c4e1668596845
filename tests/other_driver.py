"""A driver beside the producer, for tests alone: a seeded system with other quantities, cases and factors.

Agents serve callers at a time of day. It stands behind the doors of any driver: what it declares, the keys that it
adds to a study, what runs its repetitions, and what they cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from zlib import crc32

import numpy as np
import pytest
from pydantic import Field

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Plan, Repetition
from kafka_pareto.drivers.table import DRIVERS as RUNTIMES
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.producer_config import Durability
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.fingerprint import client_machine, keep_fingerprint
from kafka_pareto.measurement.repetition_runner import Attempt
from kafka_pareto.settings import Settings
from kafka_pareto.study.declaration import Driver, Objective
from kafka_pareto.study.driver import DRIVERS
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.quantity import Shown, Values, quantities_of
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_classes import STUDY_CLASSES
from kafka_pareto.study.tune import Tune

HOURS = ("morning", "evening")
_CALLERS = {"morning": 120, "evening": 300}
_BASELINE: Configuration = {"agents": 2, "queue": "first", "break_s": 30}


@dataclass(frozen=True)
class CallQuantities:
    """Holds what one repetition measured."""

    callers: int
    wait_s: Annotated[float | None, Shown("wait", maximised=False)] = None
    wait_cv_in_run: Annotated[float | None, Shown("wait CV", maximised=False)] = None
    calls_per_agent: Annotated[float | None, Shown("calls per agent", maximised=True)] = None


_QUANTITIES = {each.name: each for each in quantities_of(CallQuantities)}
CALLS = Driver(
    name="calls",
    quantities=tuple(_QUANTITIES.values()),
    objectives=(
        Objective("wait_s", _QUANTITIES["wait_s"]),
        Objective("calls_per_agent", _QUANTITIES["calls_per_agent"]),
        Objective("wait_cv", _QUANTITIES["wait_cv_in_run"], spread_of="wait_s"),
    ),
    suite_file=str(Path(__file__).parent / "fixtures" / "expectations" / "calls.yaml"),
    identity=("building",),
    case_words=("time of day", "times of day"),
    settings_word="rota",
    settings_file="rota.properties",
)


class TuneCalls(Tune):
    """Adds the times of day; a study may name agents, queues and breaks as factors."""

    declaration: ClassVar[Driver] = CALLS

    kind: Literal["tune"] = "tune"
    driver: Literal["calls"] = "calls"

    hours: list[Literal["morning", "evening"]] = Field(default_factory=lambda: list(HOURS), min_length=1)
    objectives: list[ObjectiveName] = Field(default_factory=lambda: list(CALLS.objective_names))

    @property
    def cases(self) -> list[str]:
        return list(self.hours)

    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, Any]:
        return {"hours": list(cases)}

    def case_overrides(self, cases: Sequence[str]) -> dict[str, Any]:
        return {"hours": list(cases)}

    def variables(self, case: str) -> dict[str, int]:
        return {"callers": _CALLERS[case]}

    def baseline_configuration(self, case: str = "") -> Configuration:  # noqa: ARG002
        return {name: value for name, value in {**_BASELINE, **self.baseline}.items() if name in self.factors}

    def conditions(self) -> dict[str, Any]:
        return {"baseline": {**_BASELINE, **self.baseline}}

    def durability_of(self, _configuration: Configuration) -> Durability:
        return Durability.acks_all

    def rule_parameters(self) -> dict[str, object]:
        return {"most_callers": max(_CALLERS.values())}

    def derived_values(self, values: Values) -> dict[str, float]:
        waited = values["wait_s"]
        return {"waited_at_all": float(waited > 0) if isinstance(waited, float) else float("nan")}


class CallRunner:
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
            is_excused=False,
            trouble=trouble,
            started_at=datetime.now(UTC).isoformat(),
            quantities=asdict(CallQuantities(_CALLERS[planned.case]) if trouble else self._measured(planned)),
            wall_s=0.01,
            client_cpu_s=0.0,
            cpu_steal_fraction=0.0,
            other_cpu_fraction=0.0,
        )

    def wait_until_undisturbed(self) -> None:
        raise AssertionError("no outlier rule was broken")

    def require_unharmed(self) -> None:
        return None

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:
        assert block

    def end(self, last: Repetition | None) -> Repetition | None:
        assert last is None or last.outcome == "valid"
        return None

    def _measured(self, planned: PlannedRepetition) -> CallQuantities:
        rng = np.random.default_rng([self._study.seed, crc32(planned.repetition_id.encode())])
        known = {**_BASELINE, **planned.candidate.configuration}
        callers, agents = _CALLERS[planned.case], int(known["agents"])
        queueing = {"first": 1.0, "shortest": 0.7, "random": 1.3}[str(known["queue"])]
        crowding = 1 + (agents / 7) ** 3
        wait_s = callers * queueing * crowding / agents * (1 + int(known["break_s"]) / 60) * rng.lognormal(0, 0.04)
        served = callers**0.5 / (1 + int(known["break_s"]) / 120) * rng.lognormal(0, 0.03)
        return CallQuantities(callers, float(wait_s), None, float(served))


class CallCentre:
    """The system of this driver; it is always there."""

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:
        assert case in campaign.study.cases
        return Fingerprint(system={"building": "north"}, load_and_brokers_share_a_machine=False, **client_machine())

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:
        assert plan.repetitions
        assert case in campaign.study.cases


class CallDriver:
    """Runs the driver `calls`."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        count = sum(repetitions.values())
        return Plan(repetitions=count, duration_s=0.01 * count, sent_gib=0.0, peak_disk_gib=0.0)

    @contextmanager
    def system(self, study: Study, settings: Settings) -> Iterator[CallCentre]:  # noqa: ARG002
        yield CallCentre()

    def load_setting(self, campaign: Campaign, case: str, configuration: Configuration) -> None:  # noqa: ARG002
        return None

    def fault_here(self, study: Study, settings: Settings, configuration: Configuration) -> str:  # noqa: ARG002
        return ""

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[CallRunner]:  # noqa: ARG002
        keep_fingerprint(campaign, case, CallCentre().fingerprint(campaign, case))
        yield CallRunner(campaign.study)


@contextmanager
def known_driver() -> Iterator[None]:
    """Within, the driver stands in every table, as one of the library's own does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DRIVERS, CALLS.name, CALLS)
        patch.setitem(STUDY_CLASSES, ("tune", CALLS.name), TuneCalls)
        patch.setitem(RUNTIMES, CALLS.name, CallDriver())
        yield
